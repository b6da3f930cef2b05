//! What a panel and its session say to each other: pure. Time and bytes are arguments, and what is
//! to be done comes out as [`Step`]s.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use bowline_transport::WindowSize;
use bowline_transport::wire::{Attached, INPUT_WINDOW, InputRefusal, Message, StreamId};
use bytes::{BufMut as _, Bytes, BytesMut};

use super::control::{Heard, Said, Start, size};
use crate::serve::Pace;

/// What stands in front of a replay: DECSTR, a soft reset, so that no attribute of the old screen
/// leaks into the new one (seed 002).
const SOFT_RESET: &[u8] = b"\x1b[!p";

/// The largest replay that is put together, in bytes. A screen of 1,000 by 1,000 cells with a
/// colour each is under it.
const LARGEST_REPLAY: u64 = 32 << 20;

/// The largest message that a panel is sent, in bytes.
pub(crate) const LARGEST_MESSAGE: usize = LARGEST_REPLAY as usize + (1 << 20);

/// Pings a second that a panel may send (terminal notes, section 3.2).
const PINGS: u32 = 20;

/// Why a connection is closed, as the panel is told (RFC 6455, section 7.4; from 4000 on our own).
pub(super) mod close {
    /// The session has ended.
    pub(in super::super) const ENDED: u16 = 1000;
    /// The runner ends.
    pub(in super::super) const AWAY: u16 = 1001;
    /// The panel does what it must not.
    pub(in super::super) const MISUSE: u16 = 1008;
    /// Something failed here.
    pub(in super::super) const FAILED: u16 = 1011;
    /// The session is to be started anew.
    pub(in super::super) const RESTART: u16 = 4001;
    /// There is no such session, or no such program.
    pub(in super::super) const MISSING: u16 = 4404;
    /// Another panel has attached.
    pub(in super::super) const SUPERSEDED: u16 = 4409;
}

/// Something to be done, in this order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Say something to the panel.
    Say(String),
    /// Show the panel bytes. So many count against the session's credit.
    Show(Bytes, u64),
    /// Say something to the session.
    Send(Message),
    /// Close the connection.
    Close(u16, &'static str),
}

/// What becomes of a session when its panel is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It waits for the panel to come back, for a while.
    Detach,
    /// It ends at once.
    Dispose,
    /// It is none of this panel's business any more.
    Leave,
    /// It is out of reach. If it lives, it waits for the panel to come back, for a while.
    Strand,
}

/// One panel at one session.
#[derive(Debug)]
pub(super) struct Panel {
    /// Whether the panel can come back: the session has an id that it knows.
    can_return: bool,
    /// Whether the panel is to clear its terminal before the first output.
    is_return: bool,
    input_next: u64,
    input_taken: u64,
    resizes: u64,
    size: Option<WindowSize>,
    replay: Option<Replay>,
    pings: Pace<()>,
    steps: VecDeque<Step>,
    fate: Option<Fate>,
}

#[derive(Debug)]
struct Replay {
    at_offset: u64,
    size: WindowSize,
    bytes: BytesMut,
    total: u64,
}

impl Panel {
    /// A panel that has attached. `is_return`: it or another one was here before.
    pub(super) fn new(attached: &Attached, can_return: bool, is_return: bool) -> Self {
        Self {
            can_return,
            is_return,
            input_next: attached.input_next,
            input_taken: attached.input_next,
            resizes: 0,
            size: attached.info.size,
            replay: None,
            pings: Pace::new(PINGS, PINGS),
            steps: VecDeque::new(),
            fate: None,
        }
    }

    /// What is to be done next.
    pub(super) fn step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// What becomes of the session, once it is known that this panel is done.
    pub(super) const fn fate(&self) -> Option<Fate> {
        self.fate
    }

    /// Whether the session takes more input.
    pub(super) const fn takes_input(&self) -> bool {
        self.input_next - self.input_taken < INPUT_WINDOW
    }

    /// The panel says something.
    pub(super) fn hear(&mut self, text: &str, now: Instant) {
        match serde_json::from_str(text) {
            Ok(Heard::Start(start)) => self.started(&start),
            Ok(Heard::Resize { cols, rows }) => match size(cols, rows) {
                Some(size) => self.resize(size),
                None => self.complain("BAD_SIZE", "a window has 1 to 1000 columns and rows"),
            },
            Ok(Heard::Ping { ts }) => {
                if self.may_ask(now) {
                    self.say(&Said::Pong { ts });
                }
            }
            Ok(Heard::Pong {} | Heard::Keepalive {}) => {}
            Err(error) => {
                if self.may_ask(now) {
                    self.complain("UNKNOWN_FRAME", &format!("no frame is like this: {error}"));
                }
            }
        }
    }

    /// The panel types.
    pub(super) fn typed(&mut self, bytes: Bytes) {
        let offset = self.input_next;
        self.input_next += bytes.len() as u64;
        if !bytes.is_empty() {
            self.steps
                .push_back(Step::Send(Message::Input { offset, bytes }));
        }
    }

    /// A ping of the WebSocket itself, which is answered below.
    pub(super) fn pinged(&mut self, now: Instant) {
        self.may_ask(now);
    }

    /// Asks whether the panel is there.
    pub(super) fn ask(&mut self) {
        self.say(&Said::Ping);
    }

    /// The connection is gone. The code that the panel gave decides, once.
    pub(super) fn closed(&mut self, code: Option<u16>) {
        let is_final = matches!(code, Some(close::ENDED | close::RESTART | close::MISSING));
        let fate = if is_final { Fate::Dispose } else { self.lost() };
        self.end(fate);
    }

    /// The runner ends; the session goes on if the panel can come back to it.
    pub(super) fn away(&mut self) {
        self.close(close::AWAY, "the runner ends");
        let fate = if self.can_return {
            Fate::Leave
        } else {
            Fate::Dispose
        };
        self.end(fate);
    }

    /// The session says something.
    pub(super) fn told(&mut self, message: Message) {
        match message {
            Message::Snapshot {
                at_offset,
                size,
                total,
                ..
            } => self.replay_begins(at_offset, size, total),
            Message::SnapshotChunk { bytes, .. } => self.replay_goes_on(&bytes),
            Message::Data {
                stream: StreamId::TTY,
                offset,
                bytes,
                ..
            } => self.show(offset, bytes),
            Message::InputAck { offset, .. } => {
                self.input_taken = self.input_taken.max(offset);
            }
            Message::InputRefused { to, reason, .. } => {
                self.input_taken = self.input_taken.max(to);
                self.complain("INPUT_REFUSED", refusal(&reason));
            }
            Message::Exit(notice) => {
                self.say(&Said::exit(&notice));
                self.steps.push_back(Step::Send(Message::ExitAck));
                self.close(close::ENDED, "the session has ended");
                self.end(Fate::Leave);
            }
            Message::Fenced { .. } => {
                self.complain("SUPERSEDED", "another panel has attached");
                self.close(close::SUPERSEDED, "another panel has attached");
                self.end(Fate::Leave);
            }
            Message::Degraded { detail, .. } => self.complain("DEGRADED", &detail),
            Message::Error { code, detail, .. } => self.complain(&code, &detail),
            // Gaps are what a screen stands for; the rest is for other clients.
            _ => {}
        }
    }

    /// The session's process says nothing more: that is told, and may be tried again.
    pub(super) fn lost_session(&mut self, why: &str) {
        let fate = if self.can_return {
            Fate::Strand
        } else {
            Fate::Leave
        };
        self.out_of_reach(why, fate);
    }

    fn out_of_reach(&mut self, why: &str, fate: Fate) {
        self.complain("SESSION_LOST", why);
        self.close(close::FAILED, "the session is out of reach");
        self.end(fate);
    }

    fn started(&mut self, start: &Start) {
        if let Some(size) = start.size() {
            self.resize(size);
        }
    }

    fn resize(&mut self, size: WindowSize) {
        self.size = Some(size);
        self.resizes += 1;
        let seq = self.resizes;
        self.steps
            .push_back(Step::Send(Message::Resize { seq, size }));
    }

    fn replay_begins(&mut self, at_offset: u64, size: WindowSize, total: u64) {
        if total > LARGEST_REPLAY {
            return self.out_of_reach("its screen is too large to be shown", Fate::Leave);
        }
        let mut bytes = BytesMut::with_capacity(SOFT_RESET.len() + total as usize);
        bytes.put_slice(SOFT_RESET);
        self.replay = Some(Replay {
            at_offset,
            size,
            bytes,
            total,
        });
        self.replay_goes_on(&[]);
    }

    /// The whole replay is one frame, so that the panel knows where it ends.
    fn replay_goes_on(&mut self, bytes: &[u8]) {
        let Some(mut replay) = self.replay.take() else {
            return;
        };
        replay.bytes.put_slice(bytes);
        let has_come = (replay.bytes.len() - SOFT_RESET.len()) as u64;
        if has_come < replay.total {
            self.replay = Some(replay);
        } else if self.is_return || replay.at_offset > 0 {
            self.is_return = false;
            self.begin_replay(replay.at_offset, replay.size);
            self.steps.push_back(Step::Show(replay.bytes.freeze(), 0));
        }
    }

    fn begin_replay(&mut self, offset: u64, size: WindowSize) {
        let WindowSize { cols, rows, .. } = size;
        self.say(&Said::ReattachBegin {
            offset,
            input_next: self.input_next,
            cols,
            rows,
        });
    }

    /// Output. Where the session has no screen to give, it gives its oldest bytes instead.
    fn show(&mut self, offset: u64, bytes: Bytes) {
        let credit = bytes.len() as u64;
        let mut shown = bytes;
        if std::mem::take(&mut self.is_return) {
            self.begin_replay(offset, self.size.unwrap_or_default());
            shown = [SOFT_RESET, &shown].concat().into();
        }
        self.steps.push_back(Step::Show(shown, credit));
    }

    /// Whether the panel asks seldom enough. It is put out otherwise.
    fn may_ask(&mut self, now: Instant) -> bool {
        if self.pings.take((), now).is_ok() {
            return true;
        }
        self.complain("TOO_MANY", "at most 20 pings a second");
        self.close(close::MISUSE, "too many pings");
        self.end(self.lost());
        false
    }

    const fn lost(&self) -> Fate {
        if self.can_return {
            Fate::Detach
        } else {
            Fate::Dispose
        }
    }

    /// The first fate counts: a connection ends once.
    fn end(&mut self, fate: Fate) {
        self.fate.get_or_insert(fate);
    }

    fn say(&mut self, said: &Said<'_>) {
        self.steps.push_back(Step::Say(said.text()));
    }

    fn complain(&mut self, code: &str, detail: &str) {
        self.say(&Said::Error { code, detail });
    }

    fn close(&mut self, code: u16, why: &'static str) {
        self.steps.push_back(Step::Close(code, why));
    }
}

fn refusal(reason: &InputRefusal) -> &str {
    match reason {
        InputRefusal::Ended => "the session has ended or closed its input",
        InputRefusal::Closed => "the input was ended before",
        InputRefusal::LineTooLong { .. } => "a line is longer than the terminal takes",
        InputRefusal::NoEndOfInput => "a terminal's input cannot be ended",
        InputRefusal::Failed { detail } => detail,
    }
}
