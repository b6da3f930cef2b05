//! Drives the real Codex without a network: its Responses API is a script on loopback.
//!
//! [`ResponsesApi`] answers each request with the next [`Reply`], and [`CodexHome`] gives a run a fresh home
//! and a clean environment. `.ci/other-agents` installs Codex, and names it in [`PROGRAM_VARIABLE`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fs, io};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode, header};
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::real_agent::Gate;

/// Names the installed program.
pub const PROGRAM_VARIABLE: &str = "BOWLINE_REAL_CODEX";

/// Returns the program.
///
/// # Panics
///
/// It is not installed.
#[must_use]
pub fn program() -> OsString {
    let program = env::var_os(PROGRAM_VARIABLE);
    program.unwrap_or_else(|| panic!("{PROGRAM_VARIABLE} is not set; run .ci/other-agents"))
}

/// The reply to one request of the model.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A message.
    Text(&'static str),
    /// A message whose end waits at [`ResponsesApi::gate`].
    Held(&'static str),
    /// The call of a shell command.
    Command {
        /// The id of the call.
        id: &'static str,
        /// The command line.
        line: &'static str,
    },
    /// An error with this status.
    Error(u16),
}

/// A scripted Responses API. It ends with the runtime that it was started in.
#[derive(Debug)]
pub struct ResponsesApi {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    script: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Value>>,
    gate: Gate,
}

impl ResponsesApi {
    /// Serves the script on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// No port is available.
    pub async fn start(script: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(script.into_iter().collect()),
            requests: Mutex::default(),
            gate: Gate::closed(),
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, shared })
    }

    /// Returns the gate at which held messages wait.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    /// Returns the bodies of the model's requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, http: axum::extract::Request) -> Response<Body> {
    if !http.uri().path().ends_with("/responses") {
        return status(StatusCode::NOT_FOUND);
    }
    let body = to_bytes(http.into_body(), usize::MAX).await;
    let body = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or(Value::Null);
    shared.requests.lock().push(body);
    let reply = shared.script.lock().pop_front();
    let number = shared.requests.lock().len();
    match reply {
        Some(Reply::Text(text)) => streamed(message(number, text), None),
        Some(Reply::Held(text)) => streamed(message(number, text), Some(shared.gate.clone())),
        Some(Reply::Command { id, line }) => streamed(command(number, id, line), None),
        Some(Reply::Error(code)) => {
            status(StatusCode::from_u16(code).expect("the script has a status"))
        }
        None => status(StatusCode::GONE),
    }
}

fn status(code: StatusCode) -> Response<Body> {
    let body = json!({"error": {"message": format!("scripted: {code}")}}).to_string();
    let response = Response::builder().status(code);
    response.body(body.into()).expect("a valid response")
}

/// Streams the events; with a gate, what comes after the first text waits there.
fn streamed(events: Vec<Value>, gate: Option<Gate>) -> Response<Body> {
    let is_text = |event: &Value| event["type"] == "response.output_text.delta";
    let first = events.iter().position(is_text).map_or(0, |it| it + 1);
    let (before, after) = events.split_at(first);
    let (before, after) = (encoded(before), encoded(after));
    let after = async move {
        if let Some(gate) = gate {
            gate.pass().await;
        }
        after
    };
    let parts = stream::unfold((Some(before), Some(after)), |(before, after)| async {
        match (before, after) {
            (Some(before), after) => Some((before, (None, after))),
            (None, Some(after)) => Some((after.await, (None, None))),
            (None, None) => None,
        }
    });
    let parts = futures_util::StreamExt::map(parts, Ok::<_, Infallible>);
    let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    let body = Body::from_stream(Box::pin(parts));
    response.body(body).expect("a valid response")
}

fn encoded(events: &[Value]) -> String {
    let lines = events.iter().map(|event| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    lines.collect()
}

fn message(number: usize, text: &str) -> Vec<Value> {
    let id = format!("message-{number}");
    let item = |content: Value| json!({"type": "message", "id": id, "role": "assistant", "content": content});
    let content = json!([{"type": "output_text", "text": text}]);
    response(
        number,
        [
            json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!([]))}),
            json!({"type": "response.output_text.delta", "item_id": id, "output_index": 0,
                "content_index": 0, "delta": text}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item(content)}),
        ],
    )
}

fn command(number: usize, id: &str, line: &str) -> Vec<Value> {
    let arguments = json!({"cmd": line}).to_string();
    let item = json!({"type": "function_call", "id": format!("item-{number}"), "call_id": id,
        "name": "exec_command", "arguments": arguments});
    response(
        number,
        [
            json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        ],
    )
}

fn response(number: usize, items: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let id = format!("response-{number}");
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "total_tokens": 110});
    let created = json!({"type": "response.created", "response": {"id": id}});
    let completed = json!({"type": "response.completed", "response": {"id": id, "usage": usage}});
    let events = std::iter::once(created).chain(items);
    events.chain([completed]).collect()
}

/// A temporary home with a configuration and a project folder, removed on drop.
#[derive(Debug)]
pub struct CodexHome {
    root: TempDir,
}

impl CodexHome {
    /// Creates the folders, and a configuration whose model is the scripted API.
    ///
    /// Commands run without a sandbox, which would depend on the machine.
    ///
    /// # Errors
    ///
    /// The temporary folder cannot be written.
    pub fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new()
            .prefix("bowline-codex-")
            .tempdir()?;
        let home = Self { root };
        fs::create_dir_all(home.config())?;
        fs::create_dir_all(home.project())?;
        Ok(home)
    }

    /// Returns the agent's working directory.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn config(&self) -> PathBuf {
        self.root.path().join("codex")
    }

    /// Points the configuration to `api`, and returns the complete environment.
    ///
    /// # Errors
    ///
    /// The configuration cannot be written.
    pub fn environment(&self, api: &ResponsesApi) -> io::Result<Vec<(OsString, OsString)>> {
        let url = format!("http://{}/v1", api.address);
        let configuration = format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\nsandbox_mode = \"danger-full-access\"\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}\"\nwire_api = \"responses\"\n\
             env_key = \"SCRIPTED_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
        );
        fs::write(self.config().join("config.toml"), configuration)?;
        let texts = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("SHELL", "/bin/sh"),
            ("LANG", "C.UTF-8"),
            ("SCRIPTED_KEY", "none"),
        ];
        let paths = [
            ("HOME", self.root.path().into()),
            ("CODEX_HOME", self.config()),
        ];
        let paths = paths.map(|(name, path)| (name.into(), path.into_os_string()));
        let texts = texts.map(|(name, text)| (name.into(), text.into()));
        Ok(texts.into_iter().chain(paths).collect())
    }
}
