//! HTTP/1.1 requests, each on its own connection.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::within_limit;

/// A response.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl TestResponse {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    /// The error code of a problem.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Sends a request and reads the response.
pub(crate) async fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> TestResponse {
    let body = body.map(Value::to_string);
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        head.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = &body {
        let length = body.len();
        head.push_str(&format!(
            "Content-Type: application/json\r\nContent-Length: {length}\r\n"
        ));
    }
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("connection"))
    {
        head.push_str("Connection: close\r\n");
    }
    let bytes = [head.as_str(), "\r\n", body.as_deref().unwrap_or_default()].concat();
    within_limit("a response", raw(address, bytes.as_bytes())).await
}

async fn raw(address: SocketAddr, bytes: &[u8]) -> TestResponse {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses a request may reset the connection without reading all of it.
    let _ = stream.write_all(bytes).await;
    let mut response = Vec::new();
    while !is_whole(&response) {
        match stream.read_buf(&mut response).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    parse(&response)
}

/// Returns whether a response with a content length is complete; others end with the connection.
fn is_whole(response: &[u8]) -> bool {
    let Some(end) = response.windows(4).position(|it| it == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&response[..end]).to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|it| it.split("\r\n").next()?.parse::<usize>().ok());
    length.is_some_and(|length| response.len() >= end + 4 + length)
}

fn parse(response: &[u8]) -> TestResponse {
    let end = response.windows(4).position(|it| it == b"\r\n\r\n");
    let end =
        end.unwrap_or_else(|| panic!("no response head: {:?}", String::from_utf8_lossy(response)));
    let head = String::from_utf8_lossy(&response[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers: Vec<_> = headers.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    let body = response[end + 4..].to_vec();
    let is_chunked = headers.iter().any(|(_, value)| value == "chunked");
    TestResponse {
        status: status.unwrap().parse().unwrap(),
        body: if is_chunked { dechunk(&body) } else { body },
        headers,
    }
}

fn dechunk(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = chunks.windows(2).position(|it| it == b"\r\n").unwrap();
        let length = std::str::from_utf8(&chunks[..line]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&chunks[line + 2..line + 2 + length]);
        chunks = &chunks[line + 4 + length..];
    }
}
