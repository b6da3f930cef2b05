//! A host of a session that checks every byte of output and records when its link came up.

use std::time::{Duration, Instant};

use bowline_transport::{
    ConnectionState, ExitStatus, Remote, SessionRequest, Stream, TerminalEngine, TerminalSession,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::output::{OutputSequence, Typed};
use crate::campaign::support::within;

/// Progress of a host.
#[derive(Clone, Debug, Default)]
struct State {
    /// Number of output bytes read and verified.
    read: u64,
    /// When the link last came up.
    up: Option<Instant>,
    /// Number of times that the link went down.
    drops: u64,
    /// The violation, if any.
    wrong: Option<String>,
}

/// A session at a runner, and the task that reads it.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) session: TerminalSession,
    state: watch::Receiver<State>,
    tasks: [JoinHandle<()>; 2],
    typed: Typed,
}

impl Host {
    /// Creates the session at the runner and attaches to it.
    pub(super) async fn start(
        remote: &Remote,
        order: &SessionRequest,
        seed: u64,
    ) -> Result<Self, String> {
        let made = within("a session", TerminalEngine.make_remote(remote, order)).await?;
        Ok(Self::of(made.map_err(|error| error.to_string())?, seed))
    }

    /// Reads a session from its beginning.
    pub(super) fn of(session: TerminalSession, seed: u64) -> Self {
        let (updates, state) = watch::channel(State::default());
        let reading = tokio::spawn(read(session.clone(), seed, updates.clone()));
        let watching = tokio::spawn(watch_link(session.connection(), updates));
        Self {
            session,
            state,
            tasks: [reading, watching],
            typed: Typed::default(),
        }
    }

    /// Number of bytes read.
    pub(super) fn read(&self) -> u64 {
        self.state.borrow().read
    }

    /// Number of times that the link went down.
    pub(super) fn drops(&self) -> u64 {
        self.state.borrow().drops
    }

    /// The violation so far, if any.
    pub(super) fn fine(&self) -> Result<(), String> {
        self.state.borrow().wrong.clone().map_or(Ok(()), Err)
    }

    /// Writes input; the future resolves once the child has it, across link failures.
    pub(super) fn type_in(&mut self, text: &str) -> JoinHandle<Result<(), String>> {
        self.typed.add(text.as_bytes());
        let (session, bytes) = (self.session.clone(), text.to_owned().into());
        tokio::spawn(async move {
            let written = session.write(bytes).await;
            written.map_err(|error| format!("typed in vain: {error}"))
        })
    }

    /// Waits until the link came up after `since`, and returns when.
    pub(super) async fn up_after(&self, since: Instant) -> Result<Instant, String> {
        let up = |state: &State| state.up.filter(|up| *up > since);
        let state = self
            .until("the link again", |state| up(state).is_some())
            .await?;
        up(&state).ok_or_else(|| "the link again".to_owned())
    }

    /// Waits until this many bytes were read.
    pub(super) async fn until_read(&self, bytes: u64) -> Result<(), String> {
        self.until("output", |state| state.read >= bytes)
            .await
            .map(drop)
    }

    async fn until(&self, what: &str, holds: impl Fn(&State) -> bool) -> Result<State, String> {
        let mut state = self.state.clone();
        let found = within(
            what,
            state.wait_for(|state| state.wrong.is_some() || holds(state)),
        );
        let found = found.await?.map_err(|_| "the reader is gone".to_owned())?;
        found.wrong.clone().map_or_else(|| Ok(found.clone()), Err)
    }

    /// Closes the child's input, and checks that all output and all input arrived.
    pub(super) async fn finish(mut self) -> Result<(), String> {
        within("the end of the input", self.session.close_input())
            .await?
            .map_err(|error| error.to_string())?;
        let exit = within("the exit", self.session.exited()).await?;
        if exit.status != ExitStatus::Code(0) {
            return Err(format!("it ended otherwise: {exit:?}"));
        }
        self.until_read(exit.output_end).await?;
        let mut errors = self.session.reader(Stream::Errors);
        let mut received = Vec::new();
        while let Some(piece) = within("the last words", errors.next()).await? {
            if let bowline_transport::Piece::Bytes { bytes, .. } = piece {
                received.extend_from_slice(&bytes);
            }
        }
        let received = String::from_utf8_lossy(&received);
        let expected = self.typed.to_string();
        if received.trim_end() != expected {
            return Err(format!(
                "{:?} where {expected:?} is right",
                received.trim_end()
            ));
        }
        for task in &mut self.tasks {
            task.abort();
        }
        self.fine()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn read(session: TerminalSession, seed: u64, updates: watch::Sender<State>) {
    let mut speech = OutputSequence::new(seed);
    let mut reader = session.reader(Stream::Output);
    while let Some(piece) = reader.next().await {
        match speech.check(piece) {
            Ok(read) => updates.send_modify(|state| state.read = read),
            Err(wrong) => updates.send_modify(|state| {
                state.wrong.get_or_insert(wrong);
            }),
        }
    }
}

async fn watch_link(mut link: watch::Receiver<ConnectionState>, updates: watch::Sender<State>) {
    while link.changed().await.is_ok() {
        let now = link.borrow_and_update().clone();
        updates.send_modify(|state| match now {
            ConnectionState::Reconnected { gap, .. } if gap > 0 => {
                state.wrong = Some(format!("{gap} bytes are lost with the link"));
            }
            ConnectionState::Failed(failed) => state.wrong = Some(failed.to_string()),
            ConnectionState::Connected | ConnectionState::Reconnected { .. } => {
                state.up = Some(Instant::now());
            }
            ConnectionState::Reconnecting { attempt: 1 } => state.drops += 1,
            _ => {}
        });
    }
}

/// Time from `since` to an event, or `None` if the event was earlier.
pub(super) fn after(what: Instant, since: Instant) -> Duration {
    what.saturating_duration_since(since)
}
