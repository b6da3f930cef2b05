//! The protocol between a web terminal and its session, without I/O: time and bytes are arguments,
//! and the results are [`Action`]s.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use bowline_transport::WindowSize;
use bowline_transport::wire::{Attached, INPUT_WINDOW, InputRefusal, Message, StreamId};
use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::Value;

use super::messages::{ClientMessage, ServerMessage, StartRequest, window_size};
use crate::app_state::RateLimiter;
use crate::scrollback::ScreenPlace;

/// Precedes a replay: DECSTR, a soft reset, so that no attribute of the old screen remains.
const SOFT_RESET: &[u8] = b"\x1b[!p";

/// Maximum size of a replay, in bytes. A screen of 1,000 by 1,000 cells, each with its own color,
/// is smaller.
const MAX_REPLAY: u64 = 32 << 20;

/// Maximum size of a message to a web terminal, in bytes.
pub(crate) const MAX_SERVER_MESSAGE: usize = MAX_REPLAY as usize + (1 << 20);

/// Maximum number of messages per second that are answered: pings and invalid messages.
const MAX_REPLIES_PER_SECOND: u32 = 20;

/// Maximum length of the `ts` of a ping, which is echoed, in bytes of JSON.
const MAX_ECHO_BYTES: usize = 64;

/// Maximum length of an error's text, which may quote the message that it answers, in bytes.
const MAX_DETAIL_BYTES: usize = 256;

/// Close codes (RFC 6455, section 7.4; from 4000 on private).
pub(super) mod close {
    /// The session has ended.
    pub(in super::super) const ENDED: u16 = 1000;
    /// The runner is shutting down.
    pub(in super::super) const GOING_AWAY: u16 = 1001;
    /// The web terminal violated the protocol's policy.
    pub(in super::super) const POLICY_VIOLATION: u16 = 1008;
    /// An internal error.
    pub(in super::super) const INTERNAL_ERROR: u16 = 1011;
    /// The session is to be restarted.
    pub(in super::super) const RESTART: u16 = 4001;
    /// The session or the program was not found.
    pub(in super::super) const NOT_FOUND: u16 = 4404;
    /// Another web terminal has attached.
    pub(in super::super) const SUPERSEDED: u16 = 4409;
}

/// An action to perform, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Send a text message to the web terminal.
    SendText(String),
    /// Send terminal bytes to the web terminal, and return this much credit to the shim once sent.
    SendBytes(Bytes, u64),
    /// Send a message to the shim.
    SendToShim(Message),
    /// Close the web terminal's connection.
    Close(u16, &'static str),
}

/// What to do with the session after the web terminal has disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disposition {
    /// Keep it for the detach window.
    Detach,
    /// Terminate it at once.
    Terminate,
    /// Nothing: it has ended, or another client has taken it over.
    Keep,
    /// The shim is unreachable: keep the session for the detach window if it runs.
    DetachUnreachable,
}

/// What a web terminal may do to its session by disconnecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// End it at once, or detach from it.
    Ends,
    /// Detach from it.
    Detaches,
    /// Nothing.
    Keeps,
}

/// One web terminal, attached to a session.
#[derive(Debug)]
pub(super) struct WebTerminal {
    departure: Departure,
    /// Whether the web terminal knows the session's id and so can reconnect.
    can_reconnect: bool,
    /// Whether the web terminal only shows the session.
    is_watching: bool,
    /// Whether the web terminal must clear its screen before the first output.
    must_clear: bool,
    input_next: u64,
    input_acknowledged: u64,
    resizes: u64,
    size: Option<WindowSize>,
    replay: Option<Replay>,
    replies: RateLimiter<()>,
    actions: VecDeque<Action>,
    disposition: Option<Disposition>,
}

/// A snapshot of the screen that is being received.
#[derive(Debug)]
struct Replay {
    at_offset: u64,
    size: WindowSize,
    bytes: BytesMut,
    total: u64,
}

impl WebTerminal {
    /// A web terminal that has just attached. `is_reconnect` is whether a web terminal was attached
    /// to the session before.
    pub(super) fn new(attached: &Attached, can_reconnect: bool, is_reconnect: bool) -> Self {
        Self {
            departure: Departure::Ends,
            can_reconnect,
            is_watching: false,
            must_clear: is_reconnect,
            input_next: attached.input_next,
            input_acknowledged: attached.input_next,
            resizes: 0,
            size: attached.info.size,
            replay: None,
            replies: RateLimiter::new(MAX_REPLIES_PER_SECOND, MAX_REPLIES_PER_SECOND),
            actions: VecDeque::new(),
            disposition: None,
        }
    }

    /// A web terminal that shows a session without the write lease: it changes nothing.
    pub(super) fn watching(attached: &Attached) -> Self {
        Self {
            departure: Departure::Keeps,
            is_watching: true,
            ..Self::new(attached, true, true)
        }
    }

    /// Limits what the web terminal may do to its session by disconnecting.
    pub(super) const fn with_departure(mut self, departure: Departure) -> Self {
        self.departure = departure;
        self
    }

    /// Returns the next action.
    pub(super) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Returns what to do with the session, once the web terminal is done.
    pub(super) const fn disposition(&self) -> Option<Disposition> {
        self.disposition
    }

    /// Returns whether the session accepts more input.
    pub(super) const fn accepts_input(&self) -> bool {
        self.input_next - self.input_acknowledged < INPUT_WINDOW
    }

    /// Handles a text message of the web terminal.
    pub(super) fn on_text(&mut self, text: &str, now: Instant) {
        match serde_json::from_str(text) {
            Ok(ClientMessage::Start(_) | ClientMessage::Resize { .. }) if self.is_watching => {
                self.refuse_change(now);
            }
            Ok(ClientMessage::Start(request)) => self.on_start(&request),
            Ok(ClientMessage::Resize { cols, rows }) => match window_size(cols, rows) {
                Some(size) => self.resize(size),
                None => self.refuse(now, "BAD_SIZE", "columns and rows must be 1 to 1000"),
            },
            Ok(ClientMessage::Ping { ts }) if !is_short(ts.as_ref()) => {
                self.refuse(now, "UNKNOWN_FRAME", "the `ts` of a ping is too long");
            }
            Ok(ClientMessage::Ping { ts }) => {
                if self.check_rate(now) {
                    self.send(&ServerMessage::Pong { ts });
                }
            }
            Ok(ClientMessage::Pong {} | ClientMessage::Keepalive {}) => {}
            Err(error) => {
                self.refuse(now, "UNKNOWN_FRAME", &format!("invalid message: {error}"));
            }
        }
    }

    /// Answers an invalid message, up to the rate limit.
    fn refuse(&mut self, now: Instant, code: &str, detail: &str) {
        if self.check_rate(now) {
            let mut detail = detail.to_owned();
            detail.truncate(detail.floor_char_boundary(MAX_DETAIL_BYTES));
            self.send_error(code, &detail);
        }
    }

    /// Answers a change by a web terminal that only shows the session.
    fn refuse_change(&mut self, now: Instant) {
        let detail = "the session is only shown; attach with the lease `write` to change it";
        self.refuse(now, "READ_ONLY", detail);
    }

    /// Handles input that was received from the web terminal.
    pub(super) fn on_input(&mut self, bytes: Bytes, now: Instant) {
        if self.is_watching {
            self.refuse_change(now);
        } else {
            self.input(bytes);
        }
    }

    /// Passes input to the session.
    pub(super) fn input(&mut self, bytes: Bytes) {
        let offset = self.input_next;
        self.input_next += bytes.len() as u64;
        if !bytes.is_empty() {
            let input = Message::Input { offset, bytes };
            self.actions.push_back(Action::SendToShim(input));
        }
    }

    /// Handles a ping of the WebSocket, which the WebSocket itself answers.
    pub(super) fn websocket_ping(&mut self, now: Instant) {
        self.check_rate(now);
    }

    /// Sends a ping.
    pub(super) fn ping(&mut self) {
        self.send(&ServerMessage::Ping);
    }

    /// Handles the end of the connection. The client's close code determines the disposition.
    pub(super) fn closed(&mut self, code: Option<u16>) {
        let is_final = matches!(code, Some(close::ENDED | close::RESTART | close::NOT_FOUND));
        self.finish(if is_final {
            Disposition::Terminate
        } else {
            self.after_lost_connection()
        });
    }

    /// Handles the shutdown of the runner. The session continues if the web terminal can reconnect
    /// to it.
    pub(super) fn shutdown(&mut self) {
        self.close(close::GOING_AWAY, "the runner is shutting down");
        self.finish(if self.can_reconnect {
            Disposition::Keep
        } else {
            Disposition::Terminate
        });
    }

    /// Handles a message of the shim.
    pub(super) fn on_shim_message(&mut self, message: Message) {
        match message {
            Message::Snapshot {
                at_offset,
                size,
                total,
                ..
            } => self.begin_replay(at_offset, size, total),
            Message::SnapshotChunk { bytes, .. } => self.continue_replay(&bytes),
            Message::Data {
                stream: StreamId::TTY,
                offset,
                bytes,
                ..
            } => self.output(offset, bytes),
            Message::InputAck { offset, .. } => {
                self.input_acknowledged = self.input_acknowledged.max(offset);
            }
            Message::InputRefused { to, reason, .. } => {
                self.input_acknowledged = self.input_acknowledged.max(to);
                self.send_error("INPUT_REFUSED", refusal_text(&reason));
            }
            Message::Exit(notice) => {
                self.send(&ServerMessage::Exit((&notice).into()));
                if !self.is_watching {
                    self.actions.push_back(Action::SendToShim(Message::ExitAck));
                }
                self.close(close::ENDED, "the session has ended");
                self.finish(Disposition::Keep);
            }
            Message::Fenced { .. } => {
                self.send_error("SUPERSEDED", "another web terminal has attached");
                self.close(close::SUPERSEDED, "another web terminal has attached");
                self.finish(Disposition::Keep);
            }
            Message::Degraded { detail, .. } => self.send_error("DEGRADED", &detail),
            Message::Error { code, detail, .. } => self.send_error(&code, &detail),
            // A snapshot stands in for gaps; the rest does not concern web terminals.
            _ => {}
        }
    }

    /// Handles a lost connection to the shim. The web terminal may reconnect.
    pub(super) fn link_lost(&mut self, detail: &str) {
        let disposition = if self.can_reconnect {
            Disposition::DetachUnreachable
        } else {
            Disposition::Keep
        };
        self.fail(detail, disposition);
    }

    fn fail(&mut self, detail: &str, disposition: Disposition) {
        self.send_error("SESSION_LOST", detail);
        self.close(close::INTERNAL_ERROR, "the session is unreachable");
        self.finish(disposition);
    }

    fn on_start(&mut self, request: &StartRequest) {
        if let Some(size) = request.size() {
            self.resize(size);
        }
    }

    fn resize(&mut self, size: WindowSize) {
        self.size = Some(size);
        self.resizes += 1;
        let seq = self.resizes;
        let resize = Message::Resize { seq, size };
        self.actions.push_back(Action::SendToShim(resize));
    }

    fn begin_replay(&mut self, at_offset: u64, size: WindowSize, total: u64) {
        if total > MAX_REPLAY {
            return self.fail("the screen is too large to be replayed", Disposition::Keep);
        }
        let mut bytes = BytesMut::with_capacity(SOFT_RESET.len() + total as usize);
        bytes.put_slice(SOFT_RESET);
        self.replay = Some(Replay {
            at_offset,
            size,
            bytes,
            total,
        });
        self.continue_replay(&[]);
    }

    /// Collects the replay, which is sent as one message so that the web terminal knows its end.
    fn continue_replay(&mut self, bytes: &[u8]) {
        let Some(mut replay) = self.replay.take() else {
            return;
        };
        replay.bytes.put_slice(bytes);
        let received = (replay.bytes.len() - SOFT_RESET.len()) as u64;
        if received < replay.total {
            self.replay = Some(replay);
        } else if self.must_clear || replay.at_offset > 0 {
            self.must_clear = false;
            self.send_reattach(replay.at_offset, replay.size, true);
            let replayed = Action::SendBytes(replay.bytes.freeze(), 0);
            self.actions.push_back(replayed);
        }
    }

    fn send_reattach(&mut self, offset: u64, size: WindowSize, has_screen: bool) {
        let WindowSize { cols, rows, .. } = size;
        self.send(&ServerMessage::ReattachBegin {
            offset,
            input_next: self.input_next,
            cols,
            rows,
            scrollback_at: has_screen.then(|| ScreenPlace { offset, size }.to_string()),
            read_only: self.is_watching,
        });
    }

    /// Forwards output. A session without a snapshot sends its oldest bytes instead of one.
    fn output(&mut self, offset: u64, bytes: Bytes) {
        let credit = bytes.len() as u64;
        let mut output = bytes;
        if std::mem::take(&mut self.must_clear) {
            self.send_reattach(offset, self.size.unwrap_or_default(), false);
            output = [SOFT_RESET, &output].concat().into();
        }
        self.actions.push_back(Action::SendBytes(output, credit));
    }

    /// Counts a message against the rate limit. Above it, closes the connection and returns
    /// `false`.
    fn check_rate(&mut self, now: Instant) -> bool {
        if self.replies.acquire((), now).is_ok() {
            return true;
        }
        let detail = "at most 20 pings and invalid messages per second";
        self.send_error("TOO_MANY", detail);
        self.close(close::POLICY_VIOLATION, "too many messages");
        self.finish(self.after_lost_connection());
        false
    }

    const fn after_lost_connection(&self) -> Disposition {
        if self.can_reconnect {
            Disposition::Detach
        } else {
            Disposition::Terminate
        }
    }

    /// Sets the disposition. The first one counts, since a connection ends once.
    fn finish(&mut self, disposition: Disposition) {
        let disposition = match (self.departure, disposition) {
            (Departure::Keeps, _) => Disposition::Keep,
            (Departure::Detaches, Disposition::Terminate) => Disposition::Detach,
            (_, disposition) => disposition,
        };
        self.disposition.get_or_insert(disposition);
    }

    fn send(&mut self, message: &ServerMessage<'_>) {
        self.actions.push_back(Action::SendText(message.to_json()));
    }

    fn send_error(&mut self, code: &str, detail: &str) {
        self.send(&ServerMessage::Error { code, detail });
    }

    fn close(&mut self, code: u16, reason: &'static str) {
        self.actions.push_back(Action::Close(code, reason));
    }
}

/// Returns whether the `ts` of a ping is short enough to be echoed.
pub(super) fn is_short(ts: Option<&Value>) -> bool {
    ts.is_none_or(|ts| match ts {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= MAX_ECHO_BYTES,
        other => other.to_string().len() <= MAX_ECHO_BYTES,
    })
}

fn refusal_text(reason: &InputRefusal) -> &str {
    match reason {
        InputRefusal::Ended => "the session has ended or closed its input",
        InputRefusal::Closed => "the input was closed before",
        InputRefusal::LineTooLong { .. } => "the line is too long for the terminal",
        InputRefusal::NoEndOfInput => "the input of a terminal cannot be closed",
        InputRefusal::Failed { detail } => detail,
    }
}
