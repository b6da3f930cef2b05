//! Requests to a runner over a connection of their own each.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A runner and its token.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) address: SocketAddr,
    pub(super) token: String,
}

impl Client {
    /// Sends a request.
    pub(super) async fn open(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let (address, token, length) = (self.address, &self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(stream)
    }

    /// Returns the body of a response.
    pub(super) async fn get(&self, path: &str) -> Result<String> {
        let mut stream = self.open("GET", path, None).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        let (head, body) = response.split_once("\r\n\r\n").context("a response")?;
        ensure!(head.contains(" 200 "), "{path}: {head} {body}");
        Ok(body.to_owned())
    }

    /// Returns the JSON of a response.
    pub(super) async fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        let mut stream = self.open(method, path, body).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        let (head, body) = response.split_once("\r\n\r\n").context("a response")?;
        if !head.split(' ').nth(1).is_some_and(|it| it.starts_with('2')) {
            bail!("{method} {path}: {body}");
        }
        Ok(serde_json::from_str(body)?)
    }

    /// Returns the value of a metric.
    pub(super) async fn metric(&self, name: &str) -> Result<u64> {
        let page = self.get("/metrics").await?;
        let value = page.lines().find_map(|it| it.strip_prefix(name));
        Ok(value.context("a metric")?.trim().parse()?)
    }
}
