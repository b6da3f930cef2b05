//! A panel that says anything, held to what must hold of it.

use std::time::{Duration, Instant};

use bowline_transport::wire::{
    Attached, Durability, Epoch, Extent, Message, SessionFacts, SessionKind, SessionState,
    StdioKind, StreamId,
};
use bowline_transport::{Containment, WindowSize};
use bytes::Bytes;
use serde_json::Value;

use super::machine::{Panel, Step};

/// Lets a panel say each line of `input`: text, or, behind a `!`, what is typed.
///
/// # Errors
///
/// What does not hold.
pub fn panel(input: &[u8]) -> Result<(), String> {
    let mut panel = Panel::new(&attached(), true, false);
    let mut now = Instant::now();
    let mut seen = Seen::default();
    for line in input.split(|&byte| byte == b'\n') {
        now += Duration::from_millis(50);
        match line.split_first() {
            Some((b'!', typed)) => panel.typed(Bytes::copy_from_slice(typed)),
            _ => panel.hear(&String::from_utf8_lossy(line), now),
        }
        while let Some(step) = panel.step() {
            seen.check(step)?;
        }
        if seen.is_closed != panel.fate().is_some() {
            return Err("it was closed without a fate, or the other way round".to_owned());
        }
    }
    Ok(())
}

/// What a panel has done.
#[derive(Default)]
struct Seen {
    input: u64,
    resizes: u64,
    is_closed: bool,
}

impl Seen {
    fn check(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Say(text) => is_frame(&text),
            Step::Send(Message::Input { offset, bytes }) => {
                let is_next = offset == self.input;
                self.input += bytes.len() as u64;
                is_next
                    .then_some(())
                    .ok_or_else(|| format!("input at {offset}"))
            }
            Step::Send(Message::Resize { seq, size }) => {
                let can_be = |it: u16| (1..=1000).contains(&it);
                let is_next = seq == self.resizes + 1;
                self.resizes = seq;
                let holds = is_next && can_be(size.rows) && can_be(size.cols);
                holds
                    .then_some(())
                    .ok_or_else(|| format!("resize {seq} to {size:?}"))
            }
            Step::Close(..) => {
                self.is_closed = true;
                Ok(())
            }
            step => Err(format!("nobody asked for {step:?}")),
        }
    }
}

/// Every answer is an object with a type.
fn is_frame(text: &str) -> Result<(), String> {
    let frame: Result<Value, _> = serde_json::from_str(text);
    let has_type = frame.is_ok_and(|frame| frame.get("type").is_some_and(Value::is_string));
    has_type
        .then_some(())
        .ok_or_else(|| format!("no frame: {text}"))
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
