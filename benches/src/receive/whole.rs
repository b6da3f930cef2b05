//! Memory of a host with whole transcripts.

use std::io;

use bowline_lifecycle::DialogueSession;
use serde::{Deserialize, Serialize};

use super::{Role, agent, one_reactor, status};

/// Resident memory of sessions without a window, after their output.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Whole {
    /// Bytes of output of all sessions.
    pub output: u64,
    /// Resident memory of all sessions, in bytes.
    pub resident: u64,
}

/// Lets an agent write `bytes` to each of `sessions` sessions, one after another, and holds all of them.
///
/// # Errors
///
/// Fails if an agent cannot be started, or if output is missing.
pub fn whole(sessions: usize, bytes: u64) -> io::Result<Whole> {
    one_reactor().block_on(async {
        // The first session includes one-time costs of the process.
        let first = written(bytes).await?;
        let before = status::resident();
        let (mut held, mut output) = (Vec::new(), 0);
        for _ in 0..sessions {
            let session = written(bytes).await?;
            output += agent::applied(&session).await;
            held.push(session);
        }
        let resident = status::resident().saturating_sub(before);
        agent::end(held.into_iter().chain([first])).await;
        Ok(Whole { output, resident })
    })
}

/// Returns a session whose agent has written a conversation of at least `bytes`, and has exited.
async fn written(bytes: u64) -> io::Result<DialogueSession> {
    let session = DialogueSession::start(agent::playing(Role::Conversation(bytes))?).await;
    let session = session.map_err(io::Error::other)?;
    session.ended().await;
    if agent::applied(&session).await < bytes {
        return Err(io::Error::other("bytes of the conversation are missing"));
    }
    Ok(session)
}
