//! Asks a runner over HTTP: one request on a connection of its own.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::credentials::Token;
use super::error::RemoteError;
use super::machine::Breakage;
use super::network::ByteStream;
use super::open::{authorization, connect, failure, token};
use super::target::Remote;
use super::tls;
use super::url::Carrier;
use crate::connection::ReconnectFailure;

/// How long a runner may take over a request: a child may be started for it, and a login shell
/// asked before.
const ANSWER: Duration = Duration::from_secs(60);

/// The longest answer that is read, in bytes.
const ANSWER_BYTES: usize = 16 << 20;

impl Remote {
    /// Asks the runner something of its REST door; the status and the body of its answer, whatever
    /// they are. `body` is JSON, or empty.
    ///
    /// # Errors
    ///
    /// [`RemoteError::Link`] if the runner cannot be reached or does not answer within 60 s.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Bytes,
    ) -> Result<(u16, Bytes), RemoteError> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|error| Breakage::lost(error.to_string()))?;
        let answer = ask(self, method, path, body).await;
        let answer = answer.map_err(|unanswered| unanswered.why)?;
        Ok((answer.status().as_u16(), answer.into_body()))
    }
}

/// A request that nobody has answered.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) why: Breakage,
    /// Whether the runner may have heard it, and done what it asks.
    pub(super) may_be_done: bool,
}

impl From<Breakage> for Unanswered {
    /// Nobody has heard it.
    fn from(why: Breakage) -> Self {
        Self {
            why,
            may_be_done: false,
        }
    }
}

/// Asks, and once more with another token if the first is refused.
pub(super) async fn ask(
    remote: &Remote,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Response<Bytes>, Unanswered> {
    let shown = token(remote, None).await?;
    let request = |token: Option<Token>| {
        let (method, body) = (method.clone(), body.clone());
        async move {
            let asked = timeout(ANSWER, exchange(remote, token.as_ref(), method, path, body));
            let late = || unsure(Breakage::lost("the runner did not answer within 60 s"));
            asked.await.unwrap_or_else(|_| Err(late()))
        }
    };
    let answer = request(shown.clone()).await?;
    if shown.is_none() || failure(answer.status()) != ReconnectFailure::Auth {
        return Ok(answer);
    }
    let fresh = token(remote, shown.as_ref()).await?;
    request(fresh).await
}

const fn unsure(why: Breakage) -> Unanswered {
    Unanswered {
        why,
        may_be_done: true,
    }
}

async fn exchange(
    remote: &Remote,
    token: Option<&Token>,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Response<Bytes>, Unanswered> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, remote.url.authority())
        .header(CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, authorization(token)?);
    }
    let request = request.body(Full::new(body));
    let request = request.map_err(|error| Breakage::lost(error.to_string()))?;
    let stream = connect(remote, Carrier::WebSocket).await?;
    speak(stream, request).await.map_err(unsure)
}

async fn speak(
    stream: Box<dyn ByteStream>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, Breakage> {
    let lost = |error: hyper::Error| tls::broken("the runner does not answer", &error);
    let stream = TokioIo::new(stream);
    let (mut sender, connection) = http1::handshake(stream).await.map_err(lost)?;
    let exchange = async {
        let (head, body) = sender
            .send_request(request)
            .await
            .map_err(lost)?
            .into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| Breakage::lost(error.to_string()))?;
        Ok(Response::from_parts(head, body.to_bytes()))
    };
    tokio::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // A connection that has ended may have brought the answer before; if not, one of the two
        // knows why, and who was refused is to hear that.
        ended = connection => match (exchange.await, ended) {
            (Err(why), Err(error)) if why.failure == ReconnectFailure::Lost => {
                Err(lost(error))
            }
            (answer, _) => answer,
        },
    }
}
