//! Steps that a well-behaved agent never takes.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::exit::Death;
use super::fill::filler;
use super::step::torn_block;
use super::track::{Track, Wait};
use super::{Act, Exit, Stage};
use crate::frames::{Line, Speaker, assistant, encode, system};
use crate::scenario::{Grandchild, Hang, Junk, StderrText, Step, Torn};

impl Stage {
    pub(super) fn mischief(&mut self, track: &mut Track, step: Step) -> Act {
        match step {
            Step::Junk(junk) => self.output.write(junk_bytes(&junk)),
            Step::Big(bytes) => self.big(bytes),
            Step::Torn(torn) => self.torn(&torn),
            Step::Chunk(size) => self.output.set_chunk(size),
            Step::Stderr(text) => stderr(&text),
            Step::Exit(code) => return Self::quit(code),
            Step::Die(name) => return Err(Exit::Signal(Death::named(&name))),
            Step::Hang(hang) => self.hang(track, hang),
            Step::CloseStdout(_) => self.output.close(),
            Step::IgnoreStdin(_) => self.inputs.stop_reading(),
            Step::Grandchild(child) => self.grandchild(&child),
            _ => {}
        }
        Ok(())
    }

    fn hang(&mut self, track: &mut Track, hang: Hang) {
        self.hang = hang;
        track.wait = Wait::Never;
    }

    fn big(&self, bytes: usize) {
        let frame = |text: &str| {
            let rest = json!({"content": text, "level": "info"});
            encode(&system(&self.session, "informational", rest))
        };
        let text = "x".repeat(bytes.saturating_sub(frame("").len()));
        self.output.write(frame(&text));
    }

    fn torn(&mut self, torn: &Torn) {
        let line = Line {
            message_id: self.session.fresh("msg"),
            request_id: self.session.fresh("req"),
            model: self.session.model.clone(),
            input_tokens: 0,
        };
        let open = torn_block(self.fill(&torn.text, None));
        let block = json!({"type": "text", "text": open.text});
        let frame = assistant(&self.session, &Speaker::main(), &line, &block, &[]);
        let mut bytes = encode(&Value::from(frame));
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let keep = if torn.keep < 0 {
            length.saturating_add(torn.keep)
        } else {
            torn.keep
        };
        bytes.truncate(usize::try_from(keep).unwrap_or(0));
        self.output.write(bytes);
    }

    fn grandchild(&mut self, child: &Grandchild) {
        let Ok(running) = spawn(child) else { return };
        self.child_pid = running;
        if let Some(path) = &child.pid_file {
            // The file is for a test that waits for it; without it the test times out and says so.
            let _ = std::fs::write(self.fill(path, None), running.to_string());
        }
    }
}

/// Starts the sleeper through a shell, which carries out the traps and then becomes it.
fn spawn(child: &Grandchild) -> io::Result<u32> {
    let mut traps = String::new();
    for (wanted, signal) in [(child.nohup, "HUP"), (child.ignore_term, "TERM")] {
        if wanted {
            traps.push_str(&format!("trap '' {signal}; "));
        }
    }
    let script = format!("{traps}exec sleep {}", child.seconds);
    let mut command = Command::new(if child.setsid { "setsid" } else { "sh" });
    if child.setsid {
        command.arg("sh");
    }
    command
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    if !child.hold_stdout {
        command.stdout(Stdio::null());
    }
    Ok(command.spawn()?.id())
}

fn junk_bytes(junk: &Junk) -> Vec<u8> {
    match junk {
        Junk::Text(text) => format!("{text}\n").into_bytes(),
        Junk::Hex { hex, unterminated } => {
            let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
            let pairs = digits.chunks(2);
            let mut bytes: Vec<u8> = pairs
                .filter_map(|pair| byte(pair.first()?, pair.get(1)?))
                .collect();
            if !unterminated {
                bytes.push(b'\n');
            }
            bytes
        }
    }
}

fn byte(high: &u32, low: &u32) -> Option<u8> {
    u8::try_from(high * 16 + low).ok()
}

fn stderr(text: &StderrText) {
    let bytes = match text {
        StderrText::Line(line) => format!("{line}\n"),
        StderrText::Flood { bytes } => filler(*bytes),
    };
    let _ = io::stderr().lock().write_all(bytes.as_bytes());
}
