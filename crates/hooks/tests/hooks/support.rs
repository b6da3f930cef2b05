//! A hook client and a backend.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bowline_hooks::{HookEvent, HookEventItem, HookServer, HookSubscription};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Limit for each step; only a hang takes as long.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(DEADLINE, work).await;
    done.unwrap_or_else(|_| panic!("no {what} in time"))
}

/// A client for one interaction of a server.
#[derive(Clone)]
pub(crate) struct Hook {
    address: SocketAddr,
    token: String,
    /// The path after `/hooks/`.
    interaction: String,
    delivery: Option<&'static str>,
}

impl Hook {
    pub(crate) fn of(server: &HookServer, interaction: &str) -> Self {
        Self {
            address: server.address(),
            token: server.token().expose_secret().to_owned(),
            interaction: interaction.to_owned(),
            delivery: None,
        }
    }

    pub(crate) fn with_delivery(mut self, delivery: &'static str) -> Self {
        self.delivery = Some(delivery);
        self
    }

    pub(crate) fn with_token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    /// Sends an event without reading the response.
    pub(crate) fn send(&self, body: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let (address, token, interaction) = (self.address, &self.token, &self.interaction);
        let delivery = self
            .delivery
            .map(|it| format!("Bowline-Delivery: {it}\r\n"));
        let head = format!(
            "POST /hooks/{interaction} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             {}Content-Length: {}\r\n\r\n",
            delivery.unwrap_or_default(),
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        Ok(stream)
    }

    /// Posts an event and returns the status and body of the response.
    pub(crate) async fn post(&self, body: &str) -> (u16, Value) {
        let (hook, body) = (self.clone(), body.to_owned());
        let posted = tokio::task::spawn_blocking(move || {
            let mut answer = String::new();
            hook.send(&body)?.read_to_string(&mut answer)?;
            Ok::<_, std::io::Error>(answer)
        });
        let answer = within("an answer", posted).await.expect("no panic");
        let answer = answer.expect("a connection");
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |it| it.1);
        (
            status.expect("a status"),
            serde_json::from_str(body).unwrap_or_default(),
        )
    }
}

pub(crate) async fn next(events: &mut HookSubscription) -> HookEvent {
    match within("an event", events.next()).await {
        Some(HookEventItem::Event(event)) => *event,
        other => panic!("no event but {other:?}"),
    }
}

/// A request that a backend received.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) authorization: String,
    pub(crate) body: Value,
}

/// A backend that answers with these statuses in turn, and then is gone.
pub(crate) fn backend(statuses: &'static [u16]) -> (String, mpsc::Receiver<Received>) {
    let (address, received) = serve(statuses, Some);
    (format!("http://{address}"), received)
}

/// As [`backend`], over TLS. Also returns its certificate for `localhost` as PEM.
pub(crate) fn secure_backend(
    statuses: &'static [u16],
) -> (String, String, mpsc::Receiver<Received>) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let own = own.expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows them")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .expect("they belong together");
    let configuration = Arc::new(configuration);
    let (address, received) = serve(statuses, move |stream| {
        let connection = ServerConnection::new(Arc::clone(&configuration)).ok()?;
        Some(StreamOwned::new(connection, stream))
    });
    let url = format!("https://localhost:{}", address.port());
    (url, own.cert.pem(), received)
}

fn serve<S: Read + Write>(
    statuses: &'static [u16],
    wrap: impl Fn(TcpStream) -> Option<S> + Send + 'static,
) -> (SocketAddr, mpsc::Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (requests, received) = mpsc::channel();
    std::thread::spawn(move || {
        for status in statuses {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            if let Some(request) = wrap(stream).and_then(|it| answered(it, *status)) {
                let _ = requests.send(request);
            }
        }
    });
    (address, received)
}

fn answered(stream: impl Read + Write, status: u16) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        match name {
            "content-length" => length = value.parse().ok()?,
            "authorization" => value.clone_into(&mut authorization),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
    reader.get_mut().write_all(answer.as_bytes()).ok()?;
    reader.get_mut().flush().ok()?;
    Some(Received {
        line: line.trim().to_owned(),
        authorization,
        body: serde_json::from_slice(&body).ok()?,
    })
}
