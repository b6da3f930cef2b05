//! The hooks of an agent at a runner, as their lines.

use bowline_transport::wire::{Lease, Prompt, PromptMode, PromptStatus};
use bowline_transport::{
    Attachment, LogReader, Piece, Remote, RemoteError, SessionId, Stream, TerminalEngine,
    TerminalSession,
};
use bytes::{Bytes, BytesMut};

/// The stream of hooks of a session at a runner that serves them. It continues over cuts of the link. Dropping it
/// leaves the session.
#[derive(Debug)]
pub struct HookFeed {
    terminal: TerminalSession,
    reader: LogReader,
    lines: BytesMut,
    /// Offset of the end of `lines`.
    offset: u64,
    past_end: u64,
    is_past: bool,
}

/// A part of the stream of hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookFeedItem {
    /// A line from before this host attached, without its end.
    Past(Bytes),
    /// The past has ended.
    PastEnd,
    /// A line, without its end.
    Line(Bytes),
}

impl HookFeed {
    /// Attaches to the hooks of a session, from their beginning. `has_past` says whether another host may have
    /// seen them before: not for a session that this host has started.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, does not have the session, or does not serve its hooks.
    pub async fn attach(
        remote: &Remote,
        session: SessionId,
        has_past: bool,
    ) -> Result<Self, RemoteError> {
        let attachment = Attachment {
            lease: Lease::Append,
            follows_hooks: true,
            ..Attachment::default()
        };
        let attached = TerminalEngine.attach_remote(remote, session, attachment);
        let terminal = attached.await?;
        let end = terminal.hooks_at_attach().ok_or(RemoteError::NoHooks)?;
        Ok(Self {
            reader: terminal.reader(Stream::Output),
            terminal,
            lines: BytesMut::new(),
            offset: 0,
            past_end: if has_past { end } else { 0 },
            is_past: true,
        })
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.terminal.id()
    }

    /// Returns the next part, or `None` after the end of the session.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<HookFeedItem> {
        loop {
            let begin = self.offset - self.lines.len() as u64;
            if self.is_past && begin >= self.past_end {
                self.is_past = false;
                return Some(HookFeedItem::PastEnd);
            }
            if let Some(end) = self.lines.iter().position(|byte| *byte == b'\n') {
                let mut line = self.lines.split_to(end + 1);
                line.truncate(end);
                let line = line.freeze();
                return Some(match self.is_past {
                    true => HookFeedItem::Past(line),
                    false => HookFeedItem::Line(line),
                });
            }
            match self.reader.next().await? {
                Piece::Bytes { bytes, .. } => {
                    self.offset += bytes.len() as u64;
                    self.lines.extend_from_slice(&bytes);
                }
                // What is left of a line whose end is missing is not valid, and ignored.
                Piece::Gap { to, .. } => {
                    self.offset = to;
                    self.lines.clear();
                }
            }
        }
    }

    /// Replies to an event that asks, by its number, once: also if the link breaks. Completes when the session has
    /// the reply. Returns whether the agent gets it: another host, or the deadline, may have been faster.
    pub fn answer(
        &self,
        id: u64,
        reply: impl Into<Bytes>,
    ) -> impl Future<Output = bool> + Send + 'static {
        let prompt = Prompt {
            id: format!("hook:{id}"),
            bytes: reply.into(),
            mode: PromptMode::Hook,
            request_id: None,
        };
        let terminal = self.terminal.clone();
        async move { matches!(terminal.prompt(prompt).await, Ok(PromptStatus::Written)) }
    }
}
