//! Fault injection: steps that a correct agent never takes.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde_json::json;

use super::exit::FatalSignal;
use super::fiber::{Fiber, Wait};
use super::placeholders::filler;
use super::step::torn_block;
use super::{Exit, Played, Player};
use crate::lines::{AgentThread, MessageIds, assistant, encode, system};
use crate::scenario::{Grandchild, Hang, Junk, StderrText, Step, Torn};

impl Player {
    pub(super) fn inject_fault(&mut self, fiber: &mut Fiber, step: Step) -> Played {
        match step {
            Step::Junk(junk) => self.output.write(junk_bytes(&junk)),
            Step::Big(bytes) => self.print_big(bytes),
            Step::Torn(torn) => self.print_torn(&torn),
            Step::Chunk(size) => self.output.set_chunk(size),
            Step::Stderr(text) => stderr(&text),
            Step::Exit(code) => return Self::quit(code),
            Step::Die(name) => return Err(Exit::Signal(FatalSignal::named(&name))),
            Step::Hang(hang) => self.hang(fiber, hang),
            Step::CloseStdout(_) => self.output.close(),
            Step::IgnoreStdin(_) => self.inputs.stop_reading(),
            Step::Grandchild(child) => self.start_grandchild(&child),
            _ => {}
        }
        Ok(())
    }

    fn hang(&mut self, fiber: &mut Fiber, hang: Hang) {
        self.hang = hang;
        fiber.wait = Wait::Never;
    }

    fn print_big(&self, bytes: usize) {
        let line = |text: &str| {
            if let Some(dialect) = &self.dialect {
                return encode(&dialect.noise(&self.session, text));
            }
            let rest = json!({"content": text, "level": "info"});
            encode(&system(&self.session, "informational", rest))
        };
        let text = "x".repeat(bytes.saturating_sub(line("").len()));
        self.output.write(line(&text));
    }

    fn print_torn(&mut self, torn: &Torn) {
        let line = MessageIds {
            message_id: self.session.new_id("msg"),
            request_id: self.session.new_id("req"),
            model: self.session.model.clone(),
            input_tokens: 0,
        };
        let open = torn_block(self.fill(&torn.text, None));
        let block = json!({"type": "text", "text": open.text});
        let line = assistant(&self.session, &AgentThread::main(), &line, &block, &[]);
        let line = match &self.dialect {
            Some(dialect) => dialect.noise(&self.session, &self.fill(&torn.text, None)),
            None => line.into(),
        };
        let mut bytes = encode(&line);
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let keep = if torn.keep < 0 {
            length.saturating_add(torn.keep)
        } else {
            torn.keep
        };
        bytes.truncate(usize::try_from(keep).unwrap_or(0));
        self.output.write(bytes);
    }

    fn start_grandchild(&mut self, child: &Grandchild) {
        let Ok(running) = spawn(child) else { return };
        self.child_pid = running;
        if let Some(path) = &child.pid_file {
            // A test that waits for the file reports its absence.
            let _ = std::fs::write(self.fill(path, None), running.to_string());
        }
    }
}

/// Starts sleep(1) through a shell that sets the ignored signals.
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
