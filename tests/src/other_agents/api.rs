//! The scripted API of a model.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode, header};
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::format::Streamed;
use super::{ApiFormat, Reply};
use crate::real_agent::Gate;

/// The title that the model gives a conversation.
const TITLE: Reply = Reply::Text("Scripted");

/// A scripted API of a model. It ends with the runtime that it was started in.
#[derive(Debug)]
pub struct ModelApi {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    format: ApiFormat,
    script: Mutex<Script>,
    requests: watch::Sender<Vec<Value>>,
}

#[derive(Debug)]
struct Script {
    main: VecDeque<Reply>,
    child: VecDeque<Reply>,
    /// The prompt of the sub-agent.
    child_prompt: Option<&'static str>,
    gate: Gate,
    /// Number of requests of the main thread.
    main_requests: usize,
}

impl ModelApi {
    /// Serves on a free port of 127.0.0.1, with an empty script.
    ///
    /// # Errors
    ///
    /// No port is available.
    pub async fn start(format: ApiFormat) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            format,
            script: Mutex::new(Script {
                main: VecDeque::new(),
                child: VecDeque::new(),
                child_prompt: None,
                gate: Gate::closed(),
                main_requests: 0,
            }),
            requests: watch::Sender::default(),
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, shared })
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds replies to the script. A request after its end is answered with 410.
    pub fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.script.lock().main.extend(replies);
    }

    /// Replaces the replies to the sub-agent with this prompt.
    pub fn script_child(&self, prompt: &'static str, replies: impl IntoIterator<Item = Reply>) {
        let mut script = self.shared.script.lock();
        script.child_prompt = Some(prompt);
        script.child = replies.into_iter().collect();
    }

    /// Returns a gate for the held messages of requests from now on.
    #[must_use]
    pub fn hold(&self) -> Gate {
        let gate = Gate::closed();
        self.shared.script.lock().gate = gate.clone();
        gate
    }

    /// Returns the number of replies that no request has had.
    #[must_use]
    pub fn left(&self) -> usize {
        let script = self.shared.script.lock();
        script.main.len() + script.child.len()
    }

    /// Waits until all replies were asked for.
    ///
    /// # Panics
    ///
    /// Never: the API is not dropped meanwhile.
    pub async fn used_up(&self) {
        let mut requests = self.shared.requests.subscribe();
        let used = requests.wait_for(|_| self.left() == 0).await;
        used.expect("the sender is a field of the API");
    }

    /// Returns the bodies of the conversation's requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.shared.requests.borrow().clone()
    }

    /// Whether the last request has this text in a message of the user or of the model.
    #[must_use]
    pub fn last_has(&self, text: &str) -> bool {
        let requests = self.shared.requests.borrow();
        requests
            .last()
            .is_some_and(|it| it.to_string().contains(text))
    }
}

impl Shared {
    /// Returns the name of the message, the next reply, and the gate of a held one.
    fn reply(&self, request: Value) -> Option<(String, Reply, Gate)> {
        let mut script = self.script.lock();
        let gate = script.gate.clone();
        let has_tools = request["tools"].as_array().is_some_and(|it| !it.is_empty());
        if !has_tools {
            return Some(("title".to_owned(), TITLE, gate));
        }
        let is_child = |prompt| self.format.was_prompted(&request, prompt);
        let is_child = script.child_prompt.is_some_and(is_child);
        let lane = if is_child {
            &mut script.child
        } else {
            &mut script.main
        };
        let reply = lane.pop_front().map(|it| it.resolved(&request));
        // Independent of the order in which a sub-agent and the main thread ask.
        script.main_requests += usize::from(!is_child);
        let number = script.main_requests;
        let name = if is_child {
            format!("child-{}", script.child.len())
        } else {
            number.to_string()
        };
        drop(script);
        self.requests.send_modify(|it| it.push(request));
        Some((name, reply?, gate))
    }
}

async fn answer(State(shared): State<Arc<Shared>>, http: axum::extract::Request) -> Response<Body> {
    if !shared.format.is_message(http.uri().path()) {
        return status(StatusCode::NOT_FOUND);
    }
    let body = to_bytes(http.into_body(), usize::MAX).await;
    let body = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or(Value::Null);
    let Some((name, reply, gate)) = shared.reply(body) else {
        return status(StatusCode::GONE);
    };
    let gate = matches!(reply, Reply::Held(_)).then_some(gate);
    match (&reply, reply.content()) {
        (_, Some(content)) => streamed(shared.format.encode(&name, content), gate),
        (Reply::Error(code), _) => {
            status(StatusCode::from_u16(*code).expect("the script has a status"))
        }
        (_, None) => status(StatusCode::GONE),
    }
}

fn status(code: StatusCode) -> Response<Body> {
    let error = json!({"code": code.as_u16(), "message": format!("scripted: {code}")});
    let response = Response::builder().status(code);
    let response = response.header(header::CONTENT_TYPE, "application/json");
    let body = json!({"error": error}).to_string();
    response.body(body.into()).expect("a valid response")
}

/// Streams a message; with a gate, what comes after the first text waits there.
fn streamed(message: Streamed, gate: Option<Gate>) -> Response<Body> {
    let rest = async move {
        if let Some(gate) = gate {
            gate.pass().await;
        }
        message.rest
    };
    let first = stream::once(async move { message.first });
    let parts = first.chain(stream::once(rest)).map(Ok::<_, Infallible>);
    let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    let body = Body::from_stream(parts);
    response.body(body).expect("a valid response")
}
