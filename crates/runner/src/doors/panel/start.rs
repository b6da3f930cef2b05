//! Panels without a session's id: their session begins with them and ends with them.

use std::sync::Arc;

use axum::extract::ws::{Message as Frame, WebSocket};
use bowline_transport::WindowSize;
use bowline_transport::wire::{DEAD_AFTER, SessionKind};
use bytes::Bytes;
use tokio::time::timeout;

use super::control::{Heard, Said, Start};
use super::drive::{Drive, join, refuse};
use super::machine::{Panel, close};
use super::park;
use crate::serve::{CreateError, Hall};
use crate::shim::{SessionSpec, SpawnFault, SpecStdio, TerminalMode};

/// What is started when the panel does not say (seed 002).
const PROGRAM: &str = "claude";

/// Serves a panel whose session has no id that it could come back to. It starts with `start`, or
/// with the first byte that is typed.
pub(in crate::doors) async fn start(
    mut socket: WebSocket,
    spec: Option<SessionSpec>,
    hall: Arc<Hall>,
) {
    let _open = hall.metrics.panel.open.hold();
    let Some((start, typed)) = first_word(&mut socket, &hall).await else {
        return;
    };
    let spec = specified(spec, start);
    let (program, id) = (spec.program.clone(), spec.id);
    match hall.directory.create(spec).await {
        Ok(_) => hall.metrics.created.add(1),
        Err(error) => return sorry(&mut socket, &program, &error).await,
    }
    let joined = match hall.directory.find(id) {
        Some(session) if !park::mark(&session) => {
            join(&session).await.map_err(|error| error.to_string())
        }
        _ => Err("the session is gone".to_owned()),
    };
    match joined {
        Ok((link, attached)) => {
            let panel = Panel::new(&attached, false, false);
            let mut drive = Drive::new(socket, link, panel, Arc::clone(&hall), id);
            drive.typed(typed);
            drive.run().await;
        }
        Err(why) => refuse(&mut socket, "SESSION_LOST", &why, close::FAILED).await,
    }
    // Nobody knows its id, so nobody will ask for what it left.
    let _ = hall
        .directory
        .end(id, bowline_transport::Ladder::AT_ONCE)
        .await;
    let _ = hall.directory.remove(id).await;
}

/// Waits for `start` or for the first bytes.
async fn first_word(socket: &mut WebSocket, hall: &Hall) -> Option<(Start, Bytes)> {
    let mut life = hall.life.clone();
    loop {
        let frame = tokio::select! {
            frame = timeout(DEAD_AFTER, socket.recv()) => frame.ok()??.ok()?,
            () = life.ending() => return None,
        };
        match frame {
            Frame::Binary(bytes) => return Some((Start::default(), bytes)),
            Frame::Text(text) => match serde_json::from_str(text.as_str()) {
                Ok(Heard::Start(start)) => return Some((start, Bytes::new())),
                Ok(Heard::Ping { ts }) => say(socket, &Said::Pong { ts }).await?,
                Ok(_) => {}
                Err(_) => {
                    let (code, detail) = ("UNKNOWN_FRAME", "say `start`, or type");
                    say(socket, &Said::Error { code, detail }).await?;
                }
            },
            Frame::Ping(_) | Frame::Pong(_) => {}
            Frame::Close(_) => return None,
        }
    }
}

async fn say(socket: &mut WebSocket, said: &Said<'_>) -> Option<()> {
    let sent = timeout(DEAD_AFTER, socket.send(Frame::Text(said.text().into()))).await;
    sent.ok()?.ok()
}

/// What is started: what the ticket was made for, or what the panel says.
fn specified(granted: Option<SessionSpec>, start: Start) -> SessionSpec {
    let size = start.size();
    let mut spec = granted.unwrap_or_else(|| {
        let program = start.program.unwrap_or_else(|| PROGRAM.to_owned());
        SessionSpec {
            args: start.args,
            cwd: start.cwd.map(Into::into),
            ..SessionSpec::new(SessionKind::Terminal, program)
        }
    });
    let (given, mode) = match spec.stdio {
        SpecStdio::Pty { size, mode } => (size, mode),
        SpecStdio::Pipes => (WindowSize::default(), TerminalMode::default()),
    };
    let size = size.unwrap_or(given);
    spec.stdio = SpecStdio::Pty { size, mode };
    spec
}

/// Says why nothing was started. A program that is not there has a code of its own.
async fn sorry(socket: &mut WebSocket, program: &str, error: &CreateError) {
    let (code, close) = match error {
        CreateError::TooMany(_) => ("MAX_SESSIONS", close::FAILED),
        error => match error.fault() {
            Some(SpawnFault::Program) if program == PROGRAM => ("CLAUDE_NOT_FOUND", close::MISSING),
            Some(SpawnFault::Program) => ("PROGRAM_NOT_FOUND", close::MISSING),
            _ => ("SPAWN_FAILED", close::FAILED),
        },
    };
    refuse(socket, code, &error.to_string(), close).await;
}
