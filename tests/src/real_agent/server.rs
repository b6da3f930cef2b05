//! The scripted Messages API.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, header};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::gate::Gates;
use super::response::{error_body, json_body, response_to};
use super::{Answer, ApiError, Gate, Kind, Reply, Request, Script};

/// A scripted Messages API on loopback.
///
/// It runs on its own thread and runtime, so it is independent of the test's runtime and of paused
/// time. Dropping it closes all connections and joins the thread.
#[derive(Debug)]
pub struct MessagesApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl MessagesApi {
    /// Starts serving on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// No port, thread or runtime is available.
    pub fn start(script: impl Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let shared = Arc::new(Shared::new(script));
        let (stop, stopped) = oneshot::channel();
        let serving = serve(listener, Arc::clone(&shared), stopped);
        let thread = std::thread::Builder::new()
            .name("messages-api".to_owned())
            .spawn(move || runtime.block_on(serving))?;
        Ok(Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the gate of this name, at which replies and tools wait.
    #[must_use]
    pub fn gate(&self, name: &str) -> Gate {
        self.shared.gates.named(name)
    }

    /// Returns all requests so far, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log().clone()
    }

    /// Returns the requests that the script answered.
    #[must_use]
    pub fn scripted(&self) -> Vec<Request> {
        self.of_kind(Kind::Scripted)
    }

    /// Returns the requests that no part of the API answers.
    #[must_use]
    pub fn unknown(&self) -> Vec<Request> {
        self.of_kind(Kind::Unknown)
    }

    fn of_kind(&self, kind: Kind) -> Vec<Request> {
        self.shared
            .log()
            .iter()
            .filter(|request| request.kind == kind)
            .cloned()
            .collect()
    }
}

impl Drop for MessagesApi {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server has failed the test by its broken connections.
            drop(thread.join());
        }
    }
}

struct Shared {
    script: Mutex<Box<dyn Script>>,
    log: Mutex<Vec<Request>>,
    gates: Gates,
    messages: AtomicU64,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("requests", &self.log().len())
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn new(script: impl Script) -> Self {
        Self {
            script: Mutex::new(Box::new(script)),
            log: Mutex::default(),
            gates: Gates::default(),
            messages: AtomicU64::new(1),
        }
    }

    fn log(&self) -> MutexGuard<'_, Vec<Request>> {
        self.log.lock()
    }

    /// Records the request and returns its number, from 1.
    fn record(&self, request: &Request) -> usize {
        let mut log = self.log();
        log.push(request.clone());
        log.len()
    }

    fn answer(&self, request: &Request) -> Answer {
        self.script.lock().answer(request)
    }

    fn message_id(&self) -> String {
        format!(
            "msg_scripted{:06}",
            self.messages.fetch_add(1, Ordering::Relaxed)
        )
    }
}

/// Serves until `stopped` ends. Connections end with the runtime.
async fn serve(listener: TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<Infallible>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listening socket");
    let router = Router::new().fallback(handle).with_state(shared);
    tokio::select! {
        served = axum::serve(listener, router) => served.expect("axum serves without end"),
        _ = stopped => {}
    }
}

async fn handle(State(shared): State<Arc<Shared>>, http: axum::extract::Request) -> Response<Body> {
    let (method, path) = (http.method().to_string(), http.uri().path().to_owned());
    if let Some(gate) = path.strip_prefix("/gate/") {
        return pass_gate(&shared, gate).await;
    }
    let body = to_bytes(http.into_body(), usize::MAX)
        .await
        .unwrap_or_default();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = Request::new(&method, &path, body);
    let number = shared.record(&request);
    let mut response = dispatch(&shared, &request).await;
    let request_id = HeaderValue::try_from(format!("req_scripted{number:06}"));
    response
        .headers_mut()
        .insert("request-id", request_id.expect("letters and digits"));
    response
}

async fn dispatch(shared: &Shared, request: &Request) -> Response<Body> {
    let answer = match request.kind {
        Kind::Scripted => shared.answer(request),
        Kind::Side => side_reply(request).into(),
        Kind::CountTokens => return json_body(StatusCode::OK, &json!({"input_tokens": 1000})),
        Kind::Unknown => return error_body(&ApiError::new(404, "not_found_error", "no such path")),
    };
    response_to(answer, request, &shared.message_id(), &shared.gates).await
}

/// Holds a scripted tool until the test opens the gate; see [`super::scenario`].
async fn pass_gate(shared: &Shared, gate: &str) -> Response<Body> {
    shared.gates.named(gate).pass().await;
    let closing = Response::builder().header(header::CONNECTION, "close");
    closing
        .body(Body::from("opened\n"))
        .expect("a constant response")
}

/// Returns a reply for a title or a probe; JSON if the request has a schema.
fn side_reply(request: &Request) -> Reply {
    let wants_json = request.body["output_config"]["format"].is_object();
    Reply::text(if wants_json {
        r#"{"title":"Scripted"}"#
    } else {
        "ok"
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use super::super::Lanes;
    use super::*;

    const STEP: &str = r#"{"stream":true,"tools":[{"name":"Bash"}],"messages":[]}"#;

    fn post(api: &MessagesApi, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(api.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /v1/messages?beta=true HTTP/1.1\r\nhost: rig\r\n"
        )
        .unwrap();
        write!(
            stream,
            "content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    fn read_all(mut stream: TcpStream) -> String {
        let mut received = Vec::new();
        drop(stream.read_to_end(&mut received));
        String::from_utf8(received).unwrap()
    }

    #[test]
    fn cut_sends_exactly_the_events_before_it() {
        for events in 1..=6 {
            let answer = Answer::CutAfter(events, Reply::text("x".repeat(100)));
            let api = MessagesApi::start(Lanes::main([answer])).unwrap();
            let received = read_all(post(&api, STEP));
            assert_eq!(received.matches("event: ").count(), events, "{received}");
            assert!(
                !received.ends_with("0\r\n\r\n"),
                "the body must not end well"
            );
        }
    }

    #[test]
    fn dropping_server_ends_pending_request() {
        let (asked, hanging) = std::sync::mpsc::channel();
        let script = move |_: &Request| {
            asked.send(()).unwrap();
            Answer::Hang
        };
        let api = MessagesApi::start(script).unwrap();
        let stream = post(&api, STEP);
        hanging.recv_timeout(Duration::from_secs(10)).unwrap();
        drop(api);
        assert_eq!(read_all(stream), "");
    }

    #[test]
    fn internal_requests_do_not_consume_script() {
        let api = MessagesApi::start(Lanes::main([Reply::text("scripted")])).unwrap();
        assert!(read_all(post(&api, r#"{"max_tokens":1}"#)).contains("ok"));
        assert!(read_all(post(&api, STEP)).contains("scripted"));
        assert!(read_all(post(&api, STEP)).contains("no answer left"));
        assert_eq!((api.requests().len(), api.scripted().len()), (3, 2));
    }
}
