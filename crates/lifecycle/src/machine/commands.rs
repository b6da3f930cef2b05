//! Commands of the host.

use bowline_jsonl::HostRequest;
use bowline_reducer::HostEvent;

use super::{Command, EndStage, Machine, Output, Reply, Ticket};
use crate::error::DialogueError;

impl Machine {
    pub(super) fn command(&mut self, command: Command, ticket: Ticket) {
        if self.ended {
            let reply = match command {
                Command::End | Command::Terminate => Ok(Reply::Done),
                _ => Err(DialogueError::Ended),
            };
            return self.reply(ticket, reply);
        }
        if let Err(error) = self.check_connection(&command) {
            return self.reply(ticket, Err(error));
        }
        if self.follower.is_some() {
            return self.follower_command(command, ticket);
        }
        let reply = match command {
            Command::Send(prompt) => {
                let uuid = prompt.uuid.clone().unwrap_or_default();
                match self.send(prompt) {
                    Ok(()) => return self.reply_to_prompt(uuid, ticket),
                    Err(error) => Err(error),
                }
            }
            Command::AnswerPermission {
                request_id,
                answer,
                by,
                how,
            } => {
                let (by, how) = (by.as_deref(), how.as_deref());
                let answered = self.answer_permission(&request_id, answer, by, how);
                self.policy_answered(&request_id);
                answered.map(|()| Reply::Done)
            }
            Command::Request(HostRequest::Interrupt { cancel_queued }) => {
                return self.interrupt(cancel_queued, None, ticket);
            }
            Command::Request(request) => {
                return self.request(&request, ticket);
            }
            Command::Interrupt {
                cancel_queued,
                seen,
            } => {
                return self.interrupt(cancel_queued, seen, ticket);
            }
            Command::EditQueue(edit) => self.edit_queue(&edit).map(|()| Reply::Done),
            Command::Release(uuid) => {
                self.release(&uuid);
                Ok(Reply::Done)
            }
            Command::SetOption { option, value } => {
                return self.set_option(&option, &value, ticket);
            }
            Command::Hold(request) => {
                self.hold(request);
                Ok(Reply::Done)
            }
            Command::End => {
                self.end_limit();
                // Queued prompts are part of the work that is done before the end.
                self.unpause();
                self.end_when_idle();
                Ok(Reply::Done)
            }
            command => return self.local_command(command, ticket),
        };
        self.reply(ticket, reply);
    }

    /// Carries out a command that needs no line to the agent.
    pub(super) fn local_command(&mut self, command: Command, ticket: Ticket) {
        let reply = match command {
            Command::Pause => return self.pause(ticket),
            Command::Unpause => {
                self.unpause();
                Reply::Done
            }
            Command::CancelQueued => self.cancel_queued(),
            _ => {
                self.terminate();
                Reply::Done
            }
        };
        self.reply(ticket, Ok(reply));
    }

    /// Refuses a command that writes to the agent after the connection was given up: another host may
    /// have taken over the session.
    fn check_connection(&self, command: &Command) -> Result<(), DialogueError> {
        match (&self.connection_failure, command) {
            (
                Some(failed),
                Command::Send(_)
                | Command::AnswerPermission { .. }
                | Command::Request(_)
                | Command::Interrupt { .. }
                | Command::SetOption { .. }
                | Command::EditQueue(_),
            ) => Err(DialogueError::Disconnected(failed.clone())),
            _ => Ok(()),
        }
    }

    /// Returns whether a turn ended past an offset of the output. What a host wanted of it is done.
    fn has_ended_turn_after(&self, seen: Option<u64>) -> bool {
        let ended_at = self.turn_ended_at.zip(seen);
        ended_at.is_some_and(|(ended_at, seen)| ended_at >= seen)
    }

    fn interrupt(&mut self, cancel_queued: bool, seen: Option<u64>, ticket: Ticket) {
        if cancel_queued {
            self.drop_waiting();
        }
        if self.has_ended_turn_after(seen) {
            return self.reply(ticket, Ok(Reply::Done));
        }
        self.host(HostEvent::InterruptRequested);
        self.request(&HostRequest::Interrupt { cancel_queued }, ticket);
    }

    /// Passes a request on to the agent, whose response is the reply.
    fn request(&mut self, request: &HostRequest, ticket: Ticket) {
        let passed = self.speak(|protocol, link| protocol.request(request, ticket, link));
        if let Err(error) = passed {
            self.reply(ticket, Err(error));
        }
    }

    fn set_option(&mut self, option: &str, value: &str, ticket: Ticket) {
        let set = self.speak(|protocol, link| protocol.set_option(option, value, ticket, link));
        if let Err(error) = set {
            self.reply(ticket, Err(error));
        }
    }

    /// Drops the queued prompts; the reply is a JSON array of their uuids.
    pub(super) fn cancel_queued(&mut self) -> Reply {
        let uuids = self.drop_waiting();
        Reply::Response(serde_json::Value::from(uuids).to_string())
    }

    fn end_when_idle(&mut self) {
        if self.end_stage.is_none() {
            self.end_stage = Some(EndStage::WhenIdle);
            self.terminate_at = Some(self.now.saturating_add(self.limits.end_grace));
        }
    }

    /// Terminates the agent. One that was asked to exit has had its time to do so.
    pub(super) fn terminate(&mut self) {
        if self.end_stage == Some(EndStage::Terminated) {
            return;
        }
        let policy = if self.end_stage == Some(EndStage::Requested) {
            self.overdue_policy()
        } else {
            self.limits.termination
        };
        self.end_stage = Some(EndStage::Terminated);
        self.terminate_at = None;
        self.outputs.push_back(Output::Terminate(policy));
    }
}
