//! Reactions to lines on stdin, its end, and signals.

use std::io::{self, Write};

use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::fiber::Wait;
use super::{Exit, Played, Player};
use crate::input::Input;
use crate::prompt::Prompt;
use crate::scenario::WaitFor;

impl Player {
    pub(super) fn on_input(&mut self, input: Input) -> Played {
        match input {
            Input::Signal(_) if self.hang.ignore_signals => Ok(()),
            Input::Signal(signal) => self.on_signal(signal),
            _ if self.hang.deaf || self.inputs.is_stopped() => Ok(()),
            Input::Line(line) if self.dialect.is_some() => self.on_rpc_line(&line),
            Input::Line(line) => self.on_line(&line),
            // Agents that speak JSON-RPC exit as soon as their input ends.
            Input::Eof if self.dialect.is_some() => Err(Exit::Code(0)),
            Input::Eof => {
                self.eof = true;
                self.fail_requests();
                self.notify_waiting(&WaitFor::Eof);
                Ok(())
            }
        }
    }

    /// Ends the process with the exit code that the agent gives for this signal.
    fn on_signal(&mut self, signal: i32) -> Played {
        match signal {
            SIGINT => {
                self.withdraw_requests();
                self.abort(false);
                Err(Exit::Code(0))
            }
            SIGTERM => {
                self.kill_calls();
                Err(Exit::Code(143))
            }
            _ => Err(Exit::Code(129)),
        }
    }

    fn on_line(&mut self, line: &[u8]) -> Played {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => self.on_message(value),
            Err(error) => {
                let length = String::from_utf8_lossy(line).chars().count();
                fail(&format!(
                    "Error parsing streaming input line (type=unknown, {length} chars): \
                     SyntaxError: {error}"
                ))
            }
        }
    }

    fn on_message(&mut self, line: Value) -> Played {
        match line["type"].as_str() {
            Some("user") => self.on_prompt(&line),
            Some("control_request") => self.on_control(&line),
            Some("control_response") => {
                if self.session.replay {
                    self.print(&line);
                }
                self.on_response(&line["response"]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_prompt(&mut self, line: &Value) -> Played {
        let role = line["message"]["role"].as_str();
        if role != Some("user") {
            let got = role.unwrap_or("undefined");
            return fail(&format!("Error: Expected message role 'user', got '{got}'"));
        }
        let prompt = Prompt::read(line);
        if let Some(uuid) = &prompt.uuid {
            if !self.seen.insert(uuid.clone()) {
                self.echo(prompt.content(), Some(uuid), false);
                return Ok(());
            }
            self.lifecycle(uuid, "queued");
        }
        self.queue.push(prompt);
        self.notify_waiting(&WaitFor::Prompt);
        Ok(())
    }

    /// Wakes the fibers that wait for an action of the host. Returns whether there was one.
    pub(super) fn notify_waiting(&mut self, what: &WaitFor) -> bool {
        let now = self.now;
        let mut woken = false;
        for fiber in self.fibers.values_mut() {
            if fiber.waits_for(what) {
                if matches!(fiber.wait, Wait::No) {
                    fiber.ops.pop_front();
                }
                fiber.wake(now);
                woken = true;
            }
        }
        woken
    }
}

/// Ends the process after invalid input: a message on stderr, and no further output.
fn fail(why: &str) -> Played {
    let _ = io::stderr().lock().write_all(format!("{why}\n").as_bytes());
    Err(Exit::Code(1))
}
