//! What clients type: each byte once, in order, and prompts whole between lines.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::request_dedup::RequestDedup;
use crate::wire::{INPUT_WINDOW, InputRefusal, MAX_MESSAGE, PromptStatus};

/// Typed bytes that may wait for the child: a client's whole window, and that of the one before it.
const MAX_TYPED_BYTES: usize = 2 * INPUT_WINDOW as usize;

/// Bytes of prompts that may wait for the child: one of the largest.
const MAX_PROMPT_BYTES: usize = MAX_MESSAGE;

/// Prompts that may wait for their last_served.
const MAX_WAITING_PROMPTS: usize = 1_024;

/// Typed pieces are joined while they fit in here together: keys come one by one.
const JOINED_BYTES: usize = 4 * 1024;

/// A program takes what comes within 100 ms as one paste (terminal notes, section 2.7), so the key
/// that submits it comes later.
const PASTE_PAUSE: Duration = Duration::from_millis(150);

/// One thing to be done, whole, before the next.
#[derive(Debug)]
enum QueuedInput {
    Typed(Bytes),
    /// A prompt, or a part of it, and what it has come to with that.
    Prompt {
        id: String,
        bytes: Bytes,
        then: PromptStatus,
    },
    /// What the terminal answers.
    Answer(Bytes),
    Pause(Duration),
    End,
}

/// What is to be done for the child's input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputAction {
    Write(Bytes),
    Close,
}

/// What came of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputEvent {
    /// The kernel has taken more, or the end.
    Accepted,
    /// Typed bytes were passed over.
    Refused {
        from: u64,
        to: u64,
        reason: InputRefusal,
    },
    Prompt(String, PromptStatus),
}

/// Why typed bytes were not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputError {
    /// Bytes before these have not come.
    Gap,
    /// More waits than a client may have under way.
    Full,
}

#[derive(Debug)]
pub(super) struct Input {
    /// The next offset that is accepted.
    next: u64,
    /// Behind the last byte that the kernel took or refused.
    taken: u64,
    typed: usize,
    prompted: usize,
    orders: VecDeque<QueuedInput>,
    in_flight: Option<QueuedInput>,
    paused_until: Option<Duration>,
    at_line_start: bool,
    /// Prompts that wait for the line to end.
    waiting: VecDeque<(String, Bytes)>,
    known: RequestDedup<PromptStatus>,
    end: InputEnd,
    /// Why nothing is taken any more.
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
            orders: VecDeque::new(),
            in_flight: None,
            paused_until: None,
            at_line_start: true,
            waiting: VecDeque::new(),
            known: RequestDedup::default(),
            end: InputEnd::Open,
            closed_reason: None,
        }
    }

    /// The next offset that is accepted.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Behind the last byte that needs no more care.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the end of the input was done.
    pub(super) fn has_ended(&self) -> bool {
        self.end == InputEnd::Done
    }

    /// Whether nothing more comes of a prompt.
    pub(super) fn is_settled(&self, id: &str) -> bool {
        let waits = |order: &QueuedInput| matches!(order, QueuedInput::Prompt { id: other, .. } if other == id);
        let under_way = self.orders.iter().chain(&self.in_flight).any(waits);
        !under_way && !self.waiting.iter().any(|(other, _)| other == id)
    }

    /// What a prompt has come to, if it is known.
    pub(super) fn prompt(&self, id: &str) -> Option<&PromptStatus> {
        self.known.get(id)
    }

    /// When a pause is over.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.paused_until
    }

    /// Accepts what is new of `bytes`.
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

    /// Ends the input behind `offset`, after all that was accepted.
    pub(super) fn end_at(&mut self, offset: u64) -> Result<(), InputError> {
        if offset > self.next {
            return Err(InputError::Gap);
        }
        if self.end == InputEnd::Open {
            self.end = InputEnd::Queued;
            self.orders.push_back(QueuedInput::End);
        }
        Ok(())
    }

    /// Why nothing more is accepted, if so.
    fn refusal(&self) -> Option<InputRefusal> {
        let closed = (self.end != InputEnd::Open).then_some(InputRefusal::Closed);
        self.closed_reason.clone().or(closed)
    }

    /// Splits at the last end of a line, where the prompts that wait have their last_served.
    fn accept(&mut self, bytes: &Bytes) {
        self.typed += bytes.len();
        let boundary = bytes.iter().rposition(|byte| is_line_end(*byte));
        let lines = boundary.map_or(0, |at| at + 1);
        self.at_line_start = lines == bytes.len();
        if lines > 0 {
            self.order_typed(bytes.slice(..lines));
            for (id, bytes) in std::mem::take(&mut self.waiting) {
                self.order_line(id, bytes);
            }
        }
        if !self.at_line_start {
            self.order_typed(bytes.slice(lines..));
        }
    }

    fn order_typed(&mut self, bytes: Bytes) {
        match self.orders.back_mut() {
            Some(QueuedInput::Typed(last)) if last.len() + bytes.len() <= JOINED_BYTES => {
                *last = [&last[..], &bytes].concat().into();
            }
            _ => self.orders.push_back(QueuedInput::Typed(bytes)),
        }
    }

    /// A prompt that is one or more whole lines. Answers what has become of it: one with a known id
    /// is not written again.
    pub(super) fn prompt_line(&mut self, id: &str, text: &Bytes) -> PromptStatus {
        if let Some(status) = self.known_status(id, text.len()) {
            return status;
        }
        let mut line = text.to_vec();
        if !line.last().is_some_and(|byte| is_line_end(*byte)) {
            line.push(b'\n');
        }
        self.prompted += line.len();
        if self.at_line_start {
            self.order_line(id.to_owned(), line.into());
        } else {
            self.waiting.push_back((id.to_owned(), line.into()));
        }
        PromptStatus::Queued
    }

    /// A prompt that is sanitize_paste, and entered by a key of its own a moment later.
    pub(super) fn prompt_paste(&mut self, id: &str, text: Bytes) -> PromptStatus {
        if let Some(status) = self.known_status(id, text.len()) {
            return status;
        }
        let enter = Bytes::from_static(b"\r");
        self.prompted += text.len() + enter.len();
        let part = |bytes, then| QueuedInput::Prompt {
            id: id.to_owned(),
            bytes,
            then,
        };
        self.orders.push_back(part(text, PromptStatus::Written));
        self.orders.push_back(QueuedInput::Pause(PASTE_PAUSE));
        self.orders.push_back(part(enter, PromptStatus::Unverified));
        PromptStatus::Queued
    }

    /// Something for the child that nobody asks about. Left out when too much waits.
    pub(super) fn answer(&mut self, bytes: Bytes) {
        let has_room = self.orders.len() < MAX_WAITING_PROMPTS;
        if has_room && !bytes.is_empty() && self.refusal().is_none() {
            self.orders.push_back(QueuedInput::Answer(bytes));
        }
    }

    /// What a prompt has come to already; `None` for one that is now remembered as queued.
    fn known_status(&mut self, id: &str, length: usize) -> Option<PromptStatus> {
        if let Some(known) = self.known.get(id) {
            return Some(known.clone());
        }
        let reason = if self.refusal().is_some() {
            "the input is closed, start or resume a session"
        } else if self.waiting.len() + self.orders.len() >= MAX_WAITING_PROMPTS {
            "too many prompts wait for the child, let it read"
        } else if self.prompted > 0 && self.prompted + length > MAX_PROMPT_BYTES {
            "too much waits for the child, let it read"
        } else {
            self.known.insert(id, PromptStatus::Queued);
            return None;
        };
        let reason = reason.to_owned();
        Some(PromptStatus::Refused { reason })
    }

    fn order_line(&mut self, id: String, bytes: Bytes) {
        let then = PromptStatus::Written;
        self.orders
            .push_back(QueuedInput::Prompt { id, bytes, then });
    }

    /// The next thing to do, if nothing is under way.
    pub(super) fn next_action(&mut self, now: Duration) -> Option<InputAction> {
        if self.in_flight.is_some() || self.paused_until.is_some_and(|until| now < until) {
            return None;
        }
        self.paused_until = None;
        let order = self.orders.pop_front()?;
        let work = match &order {
            QueuedInput::Typed(bytes)
            | QueuedInput::Prompt { bytes, .. }
            | QueuedInput::Answer(bytes) => InputAction::Write(bytes.clone()),
            QueuedInput::End => InputAction::Close,
            QueuedInput::Pause(pause) => {
                self.paused_until = Some(now + *pause);
                return None;
            }
        };
        self.in_flight = Some(order);
        Some(work)
    }

    /// What was under way is done, or was refused.
    pub(super) fn complete(&mut self, outcome: Result<(), InputRefusal>) -> Vec<InputEvent> {
        let Some(order) = self.in_flight.take() else {
            return Vec::new();
        };
        let refused = outcome.err();
        let mut events = Vec::from_iter(self.settled(order, refused.clone()));
        if refused == Some(InputRefusal::Ended) {
            events.extend(self.refuse_all());
        }
        events
    }

    fn settled(&mut self, order: QueuedInput, refused: Option<InputRefusal>) -> Option<InputEvent> {
        match order {
            QueuedInput::Typed(bytes) => {
                let from = self.taken;
                self.taken += bytes.len() as u64;
                self.typed -= bytes.len();
                let to = self.taken;
                Some(
                    refused.map_or(InputEvent::Accepted, |reason| InputEvent::Refused {
                        from,
                        to,
                        reason,
                    }),
                )
            }
            QueuedInput::Prompt { id, bytes, then } => {
                self.prompted -= bytes.len();
                if refused.is_some() {
                    self.cancel_enter(&id);
                }
                let status = refused.map_or(then, |reason| refusal_of(&reason));
                self.known.insert(&id, status.clone());
                Some(InputEvent::Prompt(id, status))
            }
            QueuedInput::End => {
                let at = self.taken;
                self.end = if refused.is_none() {
                    InputEnd::Done
                } else {
                    InputEnd::Open
                };
                Some(
                    refused.map_or(InputEvent::Accepted, |reason| InputEvent::Refused {
                        from: at,
                        to: at,
                        reason,
                    }),
                )
            }
            QueuedInput::Answer(_) | QueuedInput::Pause(_) => None,
        }
    }

    /// A paste that was not taken is not entered: the key would send what somebody else has typed.
    fn cancel_enter(&mut self, paste: &str) {
        let is_next = matches!(self.orders.get(1),
            Some(QueuedInput::Prompt { id, .. }) if id == paste);
        if is_next && let Some(QueuedInput::Pause(_)) = self.orders.front() {
            self.orders.pop_front();
            if let Some(QueuedInput::Prompt { bytes, .. }) = self.orders.pop_front() {
                self.prompted -= bytes.len();
            }
        }
    }

    /// The child has ended: nothing is taken any more. What waited is refused, each by its name.
    pub(super) fn refuse_all(&mut self) -> Vec<InputEvent> {
        self.closed_reason = Some(InputRefusal::Ended);
        self.paused_until = None;
        for (id, bytes) in std::mem::take(&mut self.waiting) {
            self.order_line(id, bytes);
        }
        let orders = std::mem::take(&mut self.orders);
        let refuse = |order| self.settled(order, Some(InputRefusal::Ended));
        orders.into_iter().filter_map(refuse).collect()
    }
}

fn refusal_of(reason: &InputRefusal) -> PromptStatus {
    let reason = match reason {
        InputRefusal::Ended => "the child has ended or closed its input".to_owned(),
        InputRefusal::Closed => "the input is closed".to_owned(),
        InputRefusal::LineTooLong { length, limit } => {
            format!("a line has {length} bytes, this terminal takes {limit}")
        }
        InputRefusal::NoEndOfInput => "a terminal's input has no end".to_owned(),
        InputRefusal::Failed { detail } => detail.clone(),
    };
    PromptStatus::Refused { reason }
}

/// A line of a dialogue ends with LF; a terminal's keyboard sends CR.
fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    /// Does all the work that there is now, and answers what was written.
    fn written(input: &mut Input, now: Duration) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(work) = input.next_action(now) {
            if let InputAction::Write(bytes) = work {
                all.extend_from_slice(&bytes);
            }
            input.complete(Ok(()));
        }
        all
    }

    #[test]
    fn what_was_typed_before_is_cut_off_and_holes_are_refused() {
        let mut input = Input::new();
        assert_eq!(input.accept_typed(0, &"abc".into()), Ok(None));
        assert_eq!(input.accept_typed(1, &"bcd".into()), Ok(None));
        assert_eq!(input.accept_typed(0, &"ab".into()), Ok(None));
        assert_eq!(input.accept_typed(5, &"x".into()), Err(InputError::Gap));
        assert_eq!(written(&mut input, NOW), b"abcd");
        assert_eq!((input.next(), input.taken()), (4, 4));
    }

    #[test]
    fn a_prompt_waits_for_the_line_to_end_and_comes_before_the_next() {
        let mut input = Input::new();
        input.accept_typed(0, &"{\"half".into()).unwrap();
        assert_eq!(
            input.prompt_line("p", &"hello".into()),
            PromptStatus::Queued
        );
        assert_eq!(written(&mut input, NOW), b"{\"half");
        input.accept_typed(6, &"\":1}\n{\"next".into()).unwrap();
        assert_eq!(written(&mut input, NOW), b"\":1}\nhello\n{\"next");
        assert_eq!(
            input.prompt_line("p", &"hello".into()),
            PromptStatus::Written
        );
        assert_eq!(written(&mut input, NOW), b"");
    }

    #[test]
    fn a_paste_is_entered_after_a_pause() {
        let mut input = Input::new();
        input.prompt_paste("p", "text".into());
        input.accept_typed(0, &"x".into()).unwrap();
        assert_eq!(written(&mut input, NOW), b"text");
        assert_eq!(input.deadline(), Some(PASTE_PAUSE));
        assert_eq!(
            input.prompt_paste("p", "text".into()),
            PromptStatus::Written
        );
        assert_eq!(written(&mut input, PASTE_PAUSE), b"\rx");
    }

    #[test]
    fn a_paste_that_was_refused_is_not_entered() {
        let mut input = Input::new();
        input.prompt_paste("p", "text".into());
        input.prompt_paste("q", "other".into());
        input.next_action(NOW).unwrap();
        let too_long = InputRefusal::LineTooLong {
            length: 4,
            limit: 3,
        };
        let events = input.complete(Err(too_long));
        assert!(
            matches!(&events[..], [InputEvent::Prompt(id, PromptStatus::Refused { .. })] if id == "p")
        );
        assert!(input.is_settled("p"));
        let again = input.prompt_paste("p", "text".into());
        assert!(matches!(again, PromptStatus::Refused { .. }));
        assert_eq!(written(&mut input, NOW), b"other");
        assert_eq!(written(&mut input, PASTE_PAUSE), b"\r");
        assert_eq!(input.prompted, 0);
    }

    #[test]
    fn after_the_end_everything_is_refused_by_name() {
        let mut input = Input::new();
        input.accept_typed(0, &"one\ntwo".into()).unwrap();
        input.prompt_line("p", &"three".into());
        input.next_action(NOW).unwrap();
        let events = input.complete(Err(InputRefusal::Ended));
        let refused = |from, to| InputEvent::Refused {
            from,
            to,
            reason: InputRefusal::Ended,
        };
        assert_eq!(events.first(), Some(&refused(0, 7)));
        assert!(
            matches!(&events[1], InputEvent::Prompt(id, PromptStatus::Refused { .. }) if id == "p")
        );
        assert_eq!(input.accept_typed(7, &"x".into()), Ok(Some(refused(7, 8))));
        assert_eq!((input.taken(), input.next()), (8, 8));
        assert_eq!((input.typed, input.prompted), (0, 0));
    }

    #[test]
    fn nothing_comes_after_the_end_of_the_input() {
        let mut input = Input::new();
        input.accept_typed(0, &"bye\n".into()).unwrap();
        assert_eq!(input.end_at(9), Err(InputError::Gap));
        input.end_at(4).unwrap();
        input.end_at(4).unwrap();
        assert_eq!(written(&mut input, NOW), b"bye\n");
        assert!(input.has_ended());
        let reason = InputRefusal::Closed;
        let refused = InputEvent::Refused {
            from: 4,
            to: 5,
            reason,
        };
        assert_eq!(input.accept_typed(4, &"x".into()), Ok(Some(refused)));
    }

    #[test]
    fn more_than_two_windows_do_not_wait() {
        let mut input = Input::new();
        let window = Bytes::from(vec![b'x'; INPUT_WINDOW as usize]);
        input.accept_typed(0, &window).unwrap();
        input.accept_typed(INPUT_WINDOW, &window).unwrap();
        assert_eq!(
            input.accept_typed(2 * INPUT_WINDOW, &"x".into()),
            Err(InputError::Full)
        );
    }
}
