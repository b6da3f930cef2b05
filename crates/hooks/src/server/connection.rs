//! One connection: one request, one response.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::fallback::{Fallback, FallbackStream};
use crate::dispatcher::HookDispatcher;
use crate::settings;
use crate::token::HookToken;
use crate::{HookEvent, HookKind, HookLimits, HookReply};

/// The header in which a helper names an event, the same in all of its attempts.
const DELIVERY: &str = "bowline-delivery";

/// Longest delivery id, in bytes; a UUID has 36.
const MAX_DELIVERY: usize = 64;

/// Limit for the number of headers; the agent sends about ten.
const MAX_HEADERS: usize = 64;

/// Upper limit of the time for the headers: hyper adds it to an instant, which must not overflow.
const MAX_HEADER_TIME: Duration = Duration::from_secs(60 * 60);

/// The smallest buffer that hyper accepts, in bytes.
const MIN_BUFFER: usize = 8192;

/// What all connections of a server share.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    pub(super) token: HookToken,
    /// The last part of the path of requests without a token.
    pub(super) secret_path: Option<HookToken>,
    pub(super) limits: HookLimits,
    /// How long a reply of the host may take; `None` without a gate.
    pub(super) reply_time: Option<Duration>,
    pub(super) dispatcher: Arc<HookDispatcher>,
}

/// A place among the server's connections.
pub(super) type Slot = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// Serves a connection to its end, which comes within a bounded time. The slot is released when the
/// connection waits for the host, so that unanswered questions do not keep others out.
pub(super) async fn serve<I>(io: I, endpoint: Arc<Endpoint>, slot: Slot)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = endpoint.limits;
    let total_time = limits
        .header_time
        .saturating_add(limits.body_time)
        .saturating_add(endpoint.reply_time.unwrap_or_default())
        .saturating_add(limits.answer_time);
    let fallback = Fallback::default();
    let stream = FallbackStream::new(io, fallback.clone(), Arc::clone(&endpoint.dispatcher));
    let service = service_fn(|request| {
        let exchange = Exchange {
            endpoint: Arc::clone(&endpoint),
            slot: Arc::clone(&slot),
            fallback: fallback.clone(),
        };
        async move { Ok::<_, Infallible>(exchange.respond(request).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_headers(MAX_HEADERS)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(MIN_BUFFER))
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time.min(MAX_HEADER_TIME))
        .serve_connection(TokioIo::new(stream), service);
    match timeout(total_time, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "hook connection failed"),
        Err(_) => warn!("hook connection timed out"),
    }
}

/// The request of a connection.
struct Exchange {
    endpoint: Arc<Endpoint>,
    slot: Slot,
    fallback: Fallback,
}

impl Exchange {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match self.handle(request).await {
            Ok(response) => response,
            Err(status) => {
                let counts = self.endpoint.dispatcher.counts();
                counts.refused.fetch_add(1, Ordering::Relaxed);
                warn!(status = status.as_u16(), "hook request rejected");
                response(status, Bytes::new())
            }
        }
    }

    async fn handle(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, StatusCode> {
        let interaction = self.endpoint.authorize(&request)?;
        let delivery = header(request.headers(), DELIVERY);
        let delivery = delivery.and_then(|it| std::str::from_utf8(it).ok());
        let delivery = delivery.filter(|it| it.len() <= MAX_DELIVERY);
        let delivery = delivery.map(str::to_owned);
        let body = self.endpoint.read(request.into_body()).await?;
        let event = HookEvent::parse(interaction, &body).ok_or(StatusCode::BAD_REQUEST)?;
        drop(body);
        let reply = self.dispatch(event, delivery).await;
        Ok(response(StatusCode::OK, reply.into()))
    }

    /// Dispatches an event and returns the reply in the agent's schema.
    async fn dispatch(&self, event: HookEvent, delivery: Option<String>) -> String {
        let kind = event.kind.clone();
        let dispatcher = &self.endpoint.dispatcher;
        let Some(gate) = dispatcher.gate_of(&event) else {
            return body(&dispatcher.dispatch(event, delivery).await, &kind);
        };
        let default = body(&gate.default, &kind);
        let Some(_question) = dispatcher.open_question() else {
            return default;
        };
        self.fallback.set(&default);
        self.slot.lock().take();
        body(&dispatcher.dispatch(event, delivery).await, &kind)
    }
}

impl Endpoint {
    /// Checks the head of a request, before its body is read, and returns the interaction.
    fn authorize(&self, request: &Request<Incoming>) -> Result<Arc<str>, StatusCode> {
        let headers = request.headers();
        // DNS rebinding: a page whose host name resolves to 127.0.0.1 sends that name here.
        let host = header(headers, HOST.as_str()).unwrap_or_default();
        let port = self.address.port();
        let own = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        if !own.iter().any(|it| it.as_bytes() == host) || headers.contains_key(ORIGIN) {
            return Err(StatusCode::FORBIDDEN);
        }
        let path = request.uri().path().strip_prefix("/hooks/");
        let parts = path.and_then(|it| it.rsplit_once('/'));
        let authorization = header(headers, AUTHORIZATION.as_str()).unwrap_or_default();
        let (interaction, is_authorized) = match (parts, &self.secret_path) {
            (Some((interaction, secret)), Some(own)) => {
                (Some(interaction), own.is(secret.as_bytes()))
            }
            _ => (path, self.token.matches(authorization)),
        };
        if !is_authorized {
            return Err(StatusCode::UNAUTHORIZED);
        }
        let interaction = interaction.filter(|it| settings::url(self.address, it).is_ok());
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

    async fn read(&self, body: Incoming) -> Result<Bytes, StatusCode> {
        let whole = Limited::new(body, self.limits.body_bytes).collect();
        match timeout(self.limits.body_time, whole).await {
            Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
            Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        }
    }
}

/// Returns a reply in the agent's schema. One that does not fit was refused in
/// `HookQuestion::answer`.
fn body(reply: &HookReply, kind: &HookKind) -> String {
    let output = reply.output(kind).ok().flatten();
    output.map(|it| it.to_string()).unwrap_or_default()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    headers.get(name).map(HeaderValue::as_bytes)
}

fn response(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let is_json = !body.is_empty();
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    if is_json {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
    }
    response
}

#[cfg(test)]
mod tests;
