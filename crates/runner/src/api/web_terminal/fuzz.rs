//! Feeds arbitrary messages to the web terminal's protocol and checks its invariants.

use std::time::{Duration, Instant};

use bowline_transport::wire::{
    Attached, Durability, Epoch, Extent, Message, SessionFacts, SessionKind, SessionState,
    StdioKind, StreamId,
};
use bowline_transport::{Containment, WindowSize};
use bytes::Bytes;
use serde_json::Value;

use super::machine::{Action, WebTerminal};

/// Feeds each line of `data` to a web terminal: as a text message, or after a `!` as terminal input.
///
/// # Errors
///
/// Returns the violated invariant.
pub fn web_terminal(data: &[u8]) -> Result<(), String> {
    let mut terminal = WebTerminal::new(&attached(), true, false);
    let mut now = Instant::now();
    let mut observed = Observed::default();
    for line in data.split(|&byte| byte == b'\n') {
        now += Duration::from_millis(50);
        match line.split_first() {
            Some((b'!', input)) => terminal.input(Bytes::copy_from_slice(input)),
            _ => terminal.on_text(&String::from_utf8_lossy(line), now),
        }
        while let Some(action) = terminal.next_action() {
            observed.check(action)?;
        }
        if observed.is_closed != terminal.disposition().is_some() {
            return Err("a closed connection has a disposition, and only then".to_owned());
        }
    }
    Ok(())
}

/// The actions of a web terminal so far.
#[derive(Default)]
struct Observed {
    input: u64,
    resizes: u64,
    is_closed: bool,
}

impl Observed {
    fn check(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::SendText(text) => check_message(&text),
            Action::SendToShim(Message::Input { offset, bytes }) => {
                let is_next = offset == self.input;
                self.input += bytes.len() as u64;
                is_next
                    .then_some(())
                    .ok_or_else(|| format!("input at {offset}"))
            }
            Action::SendToShim(Message::Resize { seq, size }) => {
                let is_valid = |it: u16| (1..=1000).contains(&it);
                let is_next = seq == self.resizes + 1;
                self.resizes = seq;
                let holds = is_next && is_valid(size.rows) && is_valid(size.cols);
                holds
                    .then_some(())
                    .ok_or_else(|| format!("resize {seq} to {size:?}"))
            }
            Action::Close(..) => {
                self.is_closed = true;
                Ok(())
            }
            action => Err(format!("unexpected action {action:?}")),
        }
    }
}

/// Every text message is an object with a type.
fn check_message(text: &str) -> Result<(), String> {
    let message: Result<Value, _> = serde_json::from_str(text);
    let has_type = message.is_ok_and(|message| message.get("type").is_some_and(Value::is_string));
    has_type
        .then_some(())
        .ok_or_else(|| format!("message without a type: {text}"))
}

fn attached() -> Attached {
    let extent = Extent {
        start: 0,
        end: 0,
        durable: Durability::Memory,
    };
    Attached {
        epoch: Epoch(1),
        generation: 1,
        streams: [(StreamId::TTY, extent)].into(),
        input_next: 0,
        exit: None,
        info: SessionFacts {
            kind: SessionKind::Terminal,
            stdio: StdioKind::Pty,
            pid: Some(1),
            size: Some(WindowSize::new(24, 80)),
            containment: Containment::Group,
            state: SessionState::Running,
        },
    }
}
