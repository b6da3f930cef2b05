//! One client: one request, one answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::super::desk::Desk;
use super::super::token::Token;
use super::super::{HookEvent, HookLimits};

/// The header by which a helper names one event, however often it brings it.
const DELIVERY: &str = "bowline-delivery";

/// The longest name of a delivery: a UUID has 36 characters.
const LONGEST_DELIVERY: usize = 64;

/// Most headers of a request; the agent sends about ten.
const MOST_HEADERS: usize = 64;

/// A clock overflows when far more is added to it: hyper counts the deadline itself.
const LONGEST_HEADER_TIME: Duration = Duration::from_secs(60 * 60);

/// The least buffer that hyper accepts.
const LEAST_BUFFER: usize = 8192;

/// What every client meets.
#[derive(Debug)]
pub(super) struct Reception {
    pub(super) address: SocketAddr,
    pub(super) token: Token,
    pub(super) limits: HookLimits,
    /// How long a decision may take.
    pub(super) patience: Option<Duration>,
    pub(super) desk: Arc<Desk>,
}

/// Serves a client to its end, which comes within a bounded time.
pub(super) async fn serve<I>(io: I, reception: Arc<Reception>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = reception.limits;
    let most = limits
        .header_time
        .saturating_add(limits.body_time)
        .saturating_add(reception.patience.unwrap_or_default())
        .saturating_add(limits.answer_time);
    let service = service_fn(|request| {
        let reception = Arc::clone(&reception);
        async move { Ok::<_, Infallible>(reception.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_headers(MOST_HEADERS)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(LEAST_BUFFER))
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time.min(LONGEST_HEADER_TIME))
        .serve_connection(TokioIo::new(io), service);
    match timeout(most, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "a client of the hooks went away"),
        Err(_) => warn!("a client of the hooks was too slow"),
    }
}

impl Reception {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match self.taken(request).await {
            Ok(response) => response,
            Err(status) => {
                self.desk.counts().refused.fetch_add(1, Ordering::Relaxed);
                warn!(status = status.as_u16(), "a hook was turned away");
                respond(status, Bytes::new())
            }
        }
    }

    async fn taken(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, StatusCode> {
        let interaction = self.admit(&request)?;
        let delivery = header(request.headers(), DELIVERY);
        let delivery = delivery.and_then(|it| std::str::from_utf8(it).ok());
        let delivery = delivery.filter(|it| it.len() <= LONGEST_DELIVERY);
        let delivery = delivery.map(str::to_owned);
        let body = self.body(request.into_body()).await?;
        let event = HookEvent::parse(interaction, &body).ok_or(StatusCode::BAD_REQUEST)?;
        drop(body);
        let kind = event.kind.clone();
        let reply = self.desk.take(event, delivery).await;
        // An answer that does not fit was refused where it was given.
        let output = reply.output(&kind).ok().flatten();
        let output = output.map(|it| it.to_string()).unwrap_or_default();
        Ok(respond(StatusCode::OK, output.into()))
    }

    /// Who is asked for, by whom, and whether they may: all that is known before a byte of the
    /// event is read. Gives the interaction.
    fn admit(&self, request: &Request<Incoming>) -> Result<Arc<str>, StatusCode> {
        let headers = request.headers();
        // A page of another site that was made to resolve to this machine names itself here.
        let host = header(headers, HOST.as_str()).unwrap_or_default();
        let port = self.address.port();
        let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        if !ours.iter().any(|it| it.as_bytes() == host) || headers.contains_key(ORIGIN) {
            return Err(StatusCode::FORBIDDEN);
        }
        let shown = header(headers, AUTHORIZATION.as_str()).unwrap_or_default();
        if !self.token.is_shown_by(shown) {
            return Err(StatusCode::UNAUTHORIZED);
        }
        let interaction = request.uri().path().strip_prefix("/hooks/");
        let interaction = interaction.filter(|it| super::settings::url(self.address, it).is_ok());
        let interaction = interaction.ok_or(StatusCode::NOT_FOUND)?;
        if request.method() != Method::POST {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let length = header(headers, CONTENT_LENGTH.as_str()).unwrap_or_default();
        let length = std::str::from_utf8(length)
            .ok()
            .and_then(|it| it.parse().ok());
        if length.is_some_and(|it: usize| it > self.limits.body_bytes) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(interaction.into())
    }

    async fn body(&self, body: Incoming) -> Result<Bytes, StatusCode> {
        let whole = Limited::new(body, self.limits.body_bytes).collect();
        match timeout(self.limits.body_time, whole).await {
            Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                Err(StatusCode::PAYLOAD_TOO_LARGE)
            }
            Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    headers.get(name).map(hyper::header::HeaderValue::as_bytes)
}

fn respond(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let is_json = !body.is_empty();
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    if is_json {
        let json = hyper::header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
    }
    response
}

#[cfg(test)]
mod tests;
