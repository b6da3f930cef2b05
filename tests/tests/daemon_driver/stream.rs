//! A client of an event stream, which can lose its connection anywhere.

use std::path::PathBuf;

use bowline_tests::session::within;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// An event as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) data: Option<Value>,
}

/// A client of server-sent events.
pub(crate) struct EventStream {
    socket: PathBuf,
    path: String,
    connection: Option<UnixStream>,
    text: Vec<u8>,
    pub(crate) last_id: Option<String>,
}

impl EventStream {
    pub(crate) fn new(socket: PathBuf, path: &str) -> Self {
        Self {
            socket,
            path: path.to_owned(),
            connection: None,
            text: Vec::new(),
            last_id: None,
        }
    }

    /// Loses the connection.
    pub(crate) fn cut(&mut self) {
        self.connection = None;
        self.text.clear();
    }

    /// Connects again at the last event. Returns the status.
    pub(crate) async fn connect(&mut self) -> u16 {
        self.cut();
        let last = self.last_id.iter();
        let last: String = last.map(|it| format!("Last-Event-ID: {it}\r\n")).collect();
        // HTTP/1.0: the body is not in chunks, and ends with the connection.
        let request = format!(
            "GET {} HTTP/1.0\r\nHost: localhost\r\n{last}\r\n",
            self.path
        );
        let mut connection = within("a connection", UnixStream::connect(&self.socket))
            .await
            .expect("it listens");
        connection
            .write_all(request.as_bytes())
            .await
            .expect("it is sent");
        self.connection = Some(connection);
        let head = self.until(b"\r\n\r\n").await.expect("a head");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        status.expect("a status")
    }

    /// Waits for text up to an end.
    async fn until(&mut self, end: &[u8]) -> Option<String> {
        loop {
            let found = self.text.windows(end.len()).position(|it| it == end);
            if let Some(at) = found {
                let text: Vec<u8> = self.text.drain(..at + end.len()).collect();
                return Some(String::from_utf8(text).expect("UTF-8"));
            }
            let connection = self.connection.as_mut()?;
            let read = within("events", connection.read_buf(&mut self.text)).await;
            if read.ok()? == 0 {
                return None;
            }
        }
    }

    /// Waits for the next event; `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Received> {
        loop {
            let block = self.until(b"\n\n").await?;
            let field = |name: &str| {
                let mut lines = block.lines();
                lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
            };
            let Some(id) = field("id: ") else {
                continue;
            };
            self.last_id = Some(id);
            let data = field("data: ").map(|it| serde_json::from_str(&it).expect("JSON"));
            return Some(Received { data });
        }
    }

    /// Waits for the next event with data, and connects again whenever the connection ends. Comments, which keep a
    /// connection without events alive, do not extend the time limit.
    pub(crate) async fn data(&mut self) -> Value {
        within("an event with data", async {
            loop {
                if self.connection.is_none() {
                    assert_eq!(self.connect().await, 200);
                }
                match self.next().await {
                    Some(Received { data: Some(data) }) => return data,
                    Some(_) => {}
                    None => self.cut(),
                }
            }
        })
        .await
    }
}
