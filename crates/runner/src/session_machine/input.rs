//! Input of clients: each typed byte is applied once and in order, and prompts are inserted whole,
//! between lines.

mod writing;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;

use bytes::Bytes;

use super::request_dedup::RequestDedup;
use crate::wire::{INPUT_WINDOW, InputRefusal, MAX_MESSAGE, PromptStatus};

/// Maximal typed bytes that wait for the child: the windows of a client and of its predecessor.
const MAX_TYPED_BYTES: usize = 2 * INPUT_WINDOW as usize;

/// Maximal bytes of prompts that wait for the child: one of the largest size.
const MAX_PROMPT_BYTES: usize = MAX_MESSAGE;

/// Maximal number of prompts that wait.
const MAX_WAITING_PROMPTS: usize = 1_024;

/// Typed chunks are joined up to this size, since keys arrive one by one.
const JOINED_BYTES: usize = 4 * 1024;

/// Pause between a paste and the key that submits it. Programs treat input within 100 ms as one
/// paste.
const PASTE_PAUSE: Duration = Duration::from_millis(150);

/// One write, close or pause, executed as a whole.
#[derive(Debug)]
enum QueuedInput {
    Typed(Bytes),
    /// A prompt or a part of it, and its status once written.
    Prompt {
        id: String,
        bytes: Bytes,
        then: PromptStatus,
    },
    /// A reply of the terminal.
    Reply(Bytes),
    Pause(Duration),
    End,
}

/// An action on the child's input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputAction {
    Write(Bytes),
    Close,
}

/// A change to report to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputEvent {
    /// Typed bytes, or the end of the input, were written.
    Accepted,
    /// Typed bytes were dropped.
    Refused {
        from: u64,
        to: u64,
        reason: InputRefusal,
    },
    Prompt(String, PromptStatus),
}

/// Why typed bytes are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputError {
    /// Earlier bytes are missing.
    Gap,
    /// The client exceeds its window.
    Full,
}

/// A prompt that was received before.
#[derive(Debug)]
struct PromptOutcome {
    /// Hash of its bytes.
    hash: u64,
    status: PromptStatus,
}

/// What is known of a prompt's id.
#[derive(Debug)]
pub(super) enum KnownPrompt<'a> {
    Unknown,
    /// The same prompt was received before.
    Same(&'a PromptStatus),
    /// The id was used for other bytes.
    Other,
}

#[derive(Debug)]
pub(super) struct Input {
    /// Offset of the next typed byte.
    next: u64,
    /// Offset after the last byte that was written or refused.
    taken: u64,
    typed: usize,
    prompted: usize,
    queue: VecDeque<QueuedInput>,
    in_flight: Option<QueuedInput>,
    paused_until: Option<Duration>,
    at_line_start: bool,
    /// Prompts that wait for the end of the line.
    waiting: VecDeque<(String, Bytes)>,
    known: RequestDedup<PromptOutcome>,
    end: InputEnd,
    /// Why no further input is accepted.
    closed_reason: Option<InputRefusal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputEnd {
    Open,
    Queued,
    Done,
}

impl Input {
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            taken: 0,
            typed: 0,
            prompted: 0,
            queue: VecDeque::new(),
            in_flight: None,
            paused_until: None,
            at_line_start: true,
            waiting: VecDeque::new(),
            known: RequestDedup::default(),
            end: InputEnd::Open,
            closed_reason: None,
        }
    }

    /// Returns the offset of the next typed byte.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the offset after the last byte that was written or refused.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns whether the child's input was closed.
    pub(super) fn has_ended(&self) -> bool {
        self.end == InputEnd::Done
    }

    /// Returns whether a prompt's status is final.
    pub(super) fn is_settled(&self, id: &str) -> bool {
        let waits = |order: &QueuedInput| matches!(order, QueuedInput::Prompt { id: other, .. } if other == id);
        let under_way = self.queue.iter().chain(&self.in_flight).any(waits);
        !under_way && !self.waiting.iter().any(|(other, _)| other == id)
    }

    /// Returns what is known of a prompt.
    pub(super) fn prompt(&self, id: &str, bytes: &[u8]) -> KnownPrompt<'_> {
        match self.known.get(id) {
            None => KnownPrompt::Unknown,
            Some(known) if known.hash == hash(bytes) => KnownPrompt::Same(&known.status),
            Some(_) => KnownPrompt::Other,
        }
    }

    /// Returns when a pause ends.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.paused_until
    }

    /// Accepts the new part of `bytes`, skipping what was accepted before.
    pub(super) fn accept_typed(
        &mut self,
        offset: u64,
        bytes: &Bytes,
    ) -> Result<Option<InputEvent>, InputError> {
        if offset > self.next {
            return Err(InputError::Gap);
        }
        let known = usize::try_from(self.next - offset).unwrap_or(usize::MAX);
        if known >= bytes.len() {
            return Ok(None);
        }
        let fresh = bytes.slice(known..);
        if self.typed > 0 && self.typed + fresh.len() > MAX_TYPED_BYTES {
            return Err(InputError::Full);
        }
        let from = self.next;
        self.next += fresh.len() as u64;
        if let Some(reason) = self.refusal() {
            self.taken = self.next;
            let to = self.next;
            return Ok(Some(InputEvent::Refused { from, to, reason }));
        }
        self.accept(&fresh);
        Ok(None)
    }

    /// Closes the input at `offset`, after everything accepted.
    pub(super) fn end_at(&mut self, offset: u64) -> Result<(), InputError> {
        if offset > self.next {
            return Err(InputError::Gap);
        }
        if self.end == InputEnd::Open {
            self.end = InputEnd::Queued;
            self.queue.push_back(QueuedInput::End);
        }
        Ok(())
    }

    /// Returns why further input is refused, if it is.
    fn refusal(&self) -> Option<InputRefusal> {
        let closed = (self.end != InputEnd::Open).then_some(InputRefusal::Closed);
        self.closed_reason.clone().or(closed)
    }

    /// Splits at the last end of line, where waiting prompts are inserted.
    fn accept(&mut self, bytes: &Bytes) {
        self.typed += bytes.len();
        let boundary = bytes.iter().rposition(|byte| is_line_end(*byte));
        let lines = boundary.map_or(0, |at| at + 1);
        self.at_line_start = lines == bytes.len();
        if lines > 0 {
            self.queue_typed(bytes.slice(..lines));
            for (id, bytes) in std::mem::take(&mut self.waiting) {
                self.queue_line(id, bytes);
            }
        }
        if !self.at_line_start {
            self.queue_typed(bytes.slice(lines..));
        }
    }

    fn queue_typed(&mut self, bytes: Bytes) {
        match self.queue.back_mut() {
            Some(QueuedInput::Typed(last)) if last.len() + bytes.len() <= JOINED_BYTES => {
                *last = [&last[..], &bytes].concat().into();
            }
            _ => self.queue.push_back(QueuedInput::Typed(bytes)),
        }
    }

    /// Queues a new prompt of whole lines and returns its status.
    pub(super) fn prompt_line(&mut self, id: &str, text: &Bytes) -> PromptStatus {
        if let Err(reason) = self.register(id, text, text.len()) {
            return refused(reason);
        }
        let mut line = text.to_vec();
        if !line.last().is_some_and(|byte| is_line_end(*byte)) {
            line.push(b'\n');
        }
        self.prompted += line.len();
        if self.at_line_start {
            self.queue_line(id.to_owned(), line.into());
        } else {
            self.waiting.push_back((id.to_owned(), line.into()));
        }
        PromptStatus::Queued
    }

    /// Queues a new prompt to be pasted as `text`, and submitted by a separate key after a pause.
    pub(super) fn prompt_paste(&mut self, id: &str, prompt: &[u8], text: Bytes) -> PromptStatus {
        if let Err(reason) = self.register(id, prompt, text.len()) {
            return refused(reason);
        }
        let enter = Bytes::from_static(b"\r");
        self.prompted += text.len() + enter.len();
        let part = |bytes, then| QueuedInput::Prompt {
            id: id.to_owned(),
            bytes,
            then,
        };
        self.queue.push_back(part(text, PromptStatus::Written));
        self.queue.push_back(QueuedInput::Pause(PASTE_PAUSE));
        self.queue.push_back(part(enter, PromptStatus::Unverified));
        PromptStatus::Queued
    }

    /// Queues a reply of the terminal. Dropped when the queue is full.
    pub(super) fn queue_reply(&mut self, bytes: Bytes) {
        let has_room = self.queue.len() < MAX_WAITING_PROMPTS;
        if has_room && !bytes.is_empty() && self.refusal().is_none() {
            self.queue.push_back(QueuedInput::Reply(bytes));
        }
    }

    /// Registers a prompt as queued, unless it is refused.
    fn register(&mut self, id: &str, prompt: &[u8], length: usize) -> Result<(), &'static str> {
        if self.refusal().is_some() {
            return Err("the input is closed; start or resume a session");
        }
        if self.waiting.len() + self.queue.len() >= MAX_WAITING_PROMPTS {
            return Err("too many prompts are queued; retry once the child has read some");
        }
        if self.prompted > 0 && self.prompted + length > MAX_PROMPT_BYTES {
            return Err("too many bytes are queued; retry once the child has read some");
        }
        let (hash, status) = (hash(prompt), PromptStatus::Queued);
        self.known.insert(id, PromptOutcome { hash, status });
        Ok(())
    }

    fn queue_line(&mut self, id: String, bytes: Bytes) {
        let then = PromptStatus::Written;
        self.queue
            .push_back(QueuedInput::Prompt { id, bytes, then });
    }
}

fn refused(reason: &str) -> PromptStatus {
    PromptStatus::Refused {
        reason: reason.to_owned(),
    }
}

/// Hashes the bytes of a prompt. Clients that have a lease do not construct collisions.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

fn refusal_of(reason: &InputRefusal) -> PromptStatus {
    let reason = match reason {
        InputRefusal::Ended => "the child has ended or closed its input".to_owned(),
        InputRefusal::Closed => "the input is closed".to_owned(),
        InputRefusal::LineTooLong { length, limit } => {
            format!("line of {length} bytes exceeds the terminal's limit of {limit}")
        }
        InputRefusal::NoEndOfInput => "the input of a terminal cannot be closed".to_owned(),
        InputRefusal::Failed { detail } => detail.clone(),
    };
    PromptStatus::Refused { reason }
}

/// Lines of a dialogue end with LF; a terminal's keyboard sends CR.
fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
