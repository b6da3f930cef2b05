//! The HTTP/1.1 client: one POST over a connection of its own.

#[cfg(feature = "https")]
mod tls;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

#[cfg(feature = "https")]
pub(crate) use tls::Tls;

/// Without TLS there is no value of this type.
#[cfg(not(feature = "https"))]
#[derive(Clone, Debug)]
pub(crate) enum Tls {}

/// Where a POST goes, and its headers.
#[derive(Clone, Debug)]
pub(crate) struct PostTarget {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `None` for clear text.
    pub(crate) tls: Option<Tls>,
    /// The `Host` header.
    pub(crate) authority: HeaderValue,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
}

/// A response, and the task that reads its connection.
#[derive(Debug)]
pub(crate) struct PostResponse {
    pub(crate) response: Response<Incoming>,
    /// Aborted on drop: the connection ends with the response.
    _connection: JoinSet<()>,
}

/// The connection failed before there was a response.
#[derive(Debug)]
pub(crate) struct ConnectionFailed(pub(crate) String);

impl PostTarget {
    /// Sends the body and returns the response as soon as its head has arrived.
    pub(crate) async fn post(&self, body: Bytes) -> Result<PostResponse, ConnectionFailed> {
        let stream = TcpStream::connect((self.host.as_str(), self.port));
        let stream = stream.await.map_err(failed)?;
        match &self.tls {
            None => self.exchange(stream, body).await,
            #[cfg(feature = "https")]
            Some(tls) => {
                let stream = tls.connect(stream).await.map_err(failed)?;
                self.exchange(stream, body).await
            }
            #[cfg(not(feature = "https"))]
            Some(never) => match *never {},
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        body: Bytes,
    ) -> Result<PostResponse, ConnectionFailed> {
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(failed)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // Its error is the request's error, too.
            let _ = connection.await;
        });
        let mut request = Request::post(&self.path)
            .header(HOST, self.authority.clone())
            .body(Full::new(body))
            .map_err(failed)?;
        request.headers_mut().extend(self.headers.clone());
        let response = sender.send_request(request).await.map_err(failed)?;
        Ok(PostResponse {
            response,
            _connection: driver,
        })
    }
}

fn failed(error: impl std::error::Error) -> ConnectionFailed {
    // hyper keeps the system's error one level down.
    let cause = error.source().map(|cause| format!(": {cause}"));
    ConnectionFailed(format!("{error}{}", cause.unwrap_or_default()))
}
