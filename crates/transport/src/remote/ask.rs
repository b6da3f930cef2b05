//! REST requests to a runner, each on its own HTTP/1.1 connection.

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
use super::machine::LinkError;
use super::network::ByteStream;
use super::open::{connect, token};
use super::refusal::{Problem, authorization, failure, refused, unanswered};
use super::target::Remote;
use super::url::{Carrier, RemoteUrl};
use crate::connection::ReconnectFailure;

/// Time limit of a request. Creating a session may run a login shell first.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Size limit of a response body, in bytes.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

impl Remote {
    /// Sends a request to the runner's REST API and returns the status and the body of the
    /// response, including those of error responses. `body` is JSON or empty. If the token is
    /// refused, the request is repeated once with a new one.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Link`] if the runner cannot be reached, does not answer within 60 s, or refuses
    /// the host name of the URL, and if something else answers in its place.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Bytes,
    ) -> Result<(u16, Bytes), RemoteError> {
        let answer = self.request(method, path, body).await?;
        Ok((answer.status().as_u16(), answer.into_body()))
    }

    /// Sends a request as [`ask`](Self::ask) does, and returns the response with its headers.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Bytes>, RemoteError> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|error| LinkError::lost(error.to_string()))?;
        let answer = ask(self, method, path, body).await;
        let answer = answer.map_err(|unanswered| unanswered.why)?;
        if !answer.status().is_success() {
            let problem = Problem::parse(answer.body());
            let is_redirect = answer.status().is_redirection();
            if is_redirect || problem.is_empty() || problem.not_of_token(&self.url).is_some() {
                return Err(refused(&self.url, &answer).into());
            }
        }
        Ok(answer)
    }
}

/// A request without a response.
#[derive(Debug)]
pub(super) struct RequestError {
    pub(super) why: LinkError,
    /// Whether the runner may have received and executed the request.
    pub(super) may_be_done: bool,
}

impl From<LinkError> for RequestError {
    /// Converts an error that occurred before the request was sent.
    fn from(why: LinkError) -> Self {
        Self {
            why,
            may_be_done: false,
        }
    }
}

/// Sends a request, and repeats it once with another token if the first is refused.
pub(super) async fn ask(
    remote: &Remote,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<Response<Bytes>, RequestError> {
    let shown = token(remote, None).await?;
    let request = |token: Option<Token>| {
        let (method, body) = (method.clone(), body.clone());
        async move {
            let asked = timeout(
                REQUEST_TIMEOUT,
                exchange(remote, token.as_ref(), method, path, body),
            );
            let late = || unsure(LinkError::lost("the runner did not answer within 60 s"));
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

const fn unsure(why: LinkError) -> RequestError {
    RequestError {
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
) -> Result<Response<Bytes>, RequestError> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, remote.url.authority())
        .header(CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, authorization(token)?);
    }
    let request = request.body(Full::new(body));
    let request = request.map_err(|error| LinkError::lost(error.to_string()))?;
    let stream = connect(remote, Carrier::WebSocket).await?;
    let sent = send_request_over(&remote.url, stream, request).await;
    sent.map_err(unsure)
}

async fn send_request_over(
    url: &RemoteUrl,
    stream: Box<dyn ByteStream>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, LinkError> {
    let lost = |error: hyper::Error| unanswered(url, &error);
    let stream = TokioIo::new(stream);
    let (mut sender, connection) = http1::handshake(stream).await.map_err(lost)?;
    let exchange = async {
        let (head, body) = sender
            .send_request(request)
            .await
            .map_err(lost)?
            .into_parts();
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
        let body = body.map_err(|error| LinkError::lost(error.to_string()))?;
        Ok(Response::from_parts(head, body.to_bytes()))
    };
    tokio::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // The response may have arrived before the connection ended. If not, only one of the two
        // errors may contain the reason, such as a TLS alert.
        ended = connection => match (exchange.await, ended) {
            (Err(why), Err(error)) if why.failure == ReconnectFailure::Lost => {
                Err(lost(error))
            }
            (answer, _) => answer,
        },
    }
}
