//! Web terminals without a session id: their session starts and ends with them.

use std::sync::Arc;

use axum::extract::ws::{Message as WsMessage, WebSocket};
use bowline_transport::wire::{Attached, DEAD_AFTER, Lease, SessionKind};
use bowline_transport::{TerminationPolicy, WindowSize};
use bytes::Bytes;
use tokio::time::timeout;

use super::detach::{self, NOT_ATTACHED};
use super::driver::{Driver, open_link, refuse};
use super::machine::{WebTerminal, close, is_short};
use super::messages::{ClientMessage, ServerMessage, StartRequest};
use crate::app_state::AppState;
use crate::sessions::{CreateError, ShimLink};
use crate::shim::{SessionDir, SessionSpec, SpawnFault, SpecStdio, TerminalMode};

/// The program that is started by default.
const DEFAULT_PROGRAM: &str = "claude";

/// Starts a session when the web terminal sends `start` or its first byte, and serves it until
/// either ends.
pub(in crate::api) async fn start(
    mut socket: WebSocket,
    spec: Option<SessionSpec>,
    app: Arc<AppState>,
) {
    let _connection = app.metrics.web_terminal.connections.increment();
    let Some((request, input)) = receive_start(&mut socket, &app).await else {
        return;
    };
    let spec = with_request(spec, request);
    let (program, id) = (spec.program.clone(), spec.id);
    match app.sessions.create(spec).await {
        Ok(_) => app.metrics.created_by_agent.add(None),
        Err(error) => return report_failure(&mut socket, &program, &error).await,
    }
    let link = match app.sessions.find(id) {
        Some(session) if detach::mark(&session, NOT_ATTACHED).is_ok() => {
            open_marked(&session).await
        }
        _ => Err("the session was removed".to_owned()),
    };
    match link {
        Ok((link, attached)) => {
            let machine = WebTerminal::new(&attached, false, false);
            let mut driver = Driver::new(socket, link, machine, Arc::clone(&app), id);
            driver.input(input);
            driver.run().await;
        }
        Err(error) => refuse(&mut socket, "SESSION_LOST", &error, close::INTERNAL_ERROR).await,
    }
    // No client knows the id, so nothing of the session is needed any more.
    let _ = app.sessions.terminate(id, TerminationPolicy::AT_ONCE).await;
    let _ = app.sessions.remove(id).await;
}

/// Attaches to a session, and marks it with the lease.
async fn open_marked(session: &SessionDir) -> Result<(ShimLink, Attached), String> {
    let (link, attached) = open_link(session, Lease::Write)
        .await
        .map_err(|error| error.to_string())?;
    let marked = detach::mark(session, link.generation());
    marked.map_err(|error| error.to_string())?;
    Ok((link, attached))
}

/// Waits for `start` or for the first bytes of input.
async fn receive_start(socket: &mut WebSocket, app: &AppState) -> Option<(StartRequest, Bytes)> {
    loop {
        let received = timeout(DEAD_AFTER, socket.recv());
        let received = app.shutdown.run_until_cancelled(received).await?;
        match received.ok()??.ok()? {
            WsMessage::Binary(bytes) => return Some((StartRequest::default(), bytes)),
            WsMessage::Text(text) => match serde_json::from_str(text.as_str()) {
                Ok(ClientMessage::Start(request)) => return Some((request, Bytes::new())),
                Ok(ClientMessage::Ping { ts }) if is_short(ts.as_ref()) => {
                    send(socket, &ServerMessage::Pong { ts }).await?;
                }
                Ok(_) => {}
                Err(_) => {
                    let (code, detail) = ("UNKNOWN_FRAME", "expected `start` or input");
                    send(socket, &ServerMessage::Error { code, detail }).await?;
                }
            },
            WsMessage::Ping(_) | WsMessage::Pong(_) => {}
            WsMessage::Close(_) => return None,
        }
    }
}

async fn send(socket: &mut WebSocket, message: &ServerMessage<'_>) -> Option<()> {
    let text = WsMessage::Text(message.to_json().into());
    timeout(DEAD_AFTER, socket.send(text)).await.ok()?.ok()
}

/// The spec of the ticket, or else that of the request; with the request's window size.
fn with_request(spec: Option<SessionSpec>, request: StartRequest) -> SessionSpec {
    let requested_size = request.size();
    let mut spec = spec.unwrap_or_else(|| {
        let program = request.program;
        let program = program.unwrap_or_else(|| DEFAULT_PROGRAM.to_owned());
        SessionSpec {
            args: request.args,
            cwd: request.cwd.map(Into::into),
            ..SessionSpec::new(SessionKind::Terminal, program)
        }
    });
    let (size, mode) = match spec.stdio {
        SpecStdio::Pty { size, mode } => (size, mode),
        SpecStdio::Pipes => (WindowSize::default(), TerminalMode::default()),
    };
    let size = requested_size.unwrap_or(size);
    spec.stdio = SpecStdio::Pty { size, mode };
    spec
}

/// Reports why the session was not started.
async fn report_failure(socket: &mut WebSocket, program: &str, error: &CreateError) {
    let (code, close) = match (error, error.fault()) {
        (CreateError::LimitReached(_), _) => ("MAX_SESSIONS", close::INTERNAL_ERROR),
        (_, Some(SpawnFault::Program)) if program == DEFAULT_PROGRAM => {
            ("CLAUDE_NOT_FOUND", close::NOT_FOUND)
        }
        (_, Some(SpawnFault::Program)) => ("PROGRAM_NOT_FOUND", close::NOT_FOUND),
        _ => ("SPAWN_FAILED", close::INTERNAL_ERROR),
    };
    refuse(socket, code, &error.to_string(), close).await;
}
