//! What the state machine asks its owner to do.

use super::super::audit_log::AuditEvent;
use super::super::child::ChildCommand;
use super::super::journal::SharedDisk;
use super::SessionActor;
use crate::screen::SessionScreen;
use crate::session_machine::{ClientId, Effect};

impl<D: SharedDisk> SessionActor<D> {
    /// Performs an effect.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Write(bytes) => self.command(ChildCommand::Write(bytes)),
            Effect::CloseInput => self.command(ChildCommand::CloseInput),
            Effect::Resize(size) => {
                if let Some(screen) = &mut self.screen {
                    screen.resize(size);
                }
                self.record_size();
                self.command(ChildCommand::Resize(size));
            }
            Effect::Signal(signal) => self.command(ChildCommand::Signal(signal)),
            Effect::Kill(policy) => self.command(ChildCommand::Kill(policy)),
            Effect::Snapshot {
                client,
                with_scrollback,
            } => self.take_snapshot(client, with_scrollback),
            Effect::ReadJournal {
                client,
                stream,
                offset,
                max,
            } => {
                let read = self.recorder.read(stream, offset, max);
                self.machine.on_journal_read(client, stream, offset, read);
            }
            Effect::HookReply { id, body } => {
                if let Some(hooks) = &mut self.hooks
                    && let Err(reason) = hooks.answer(id, &body)
                {
                    tracing::warn!(id, reason, "the reply to a hook is not used");
                }
            }
            Effect::Record(stream) => self.recorder.record(&mut self.machine, stream),
            Effect::Attached {
                client,
                lease,
                generation,
            } => {
                tracing::debug!(client.name = client, ?lease, generation, "client attached");
                let event = AuditEvent::Attached {
                    client: &client,
                    lease,
                    generation,
                };
                self.recorder.audit(&mut self.machine, &event);
            }
            Effect::Requested { request_id, prompt } => {
                let span = tracing::info_span!("request", request.id = request_id);
                span.in_scope(|| tracing::info!(bowline.prompt.id = prompt, "prompt received"));
                let event = AuditEvent::Requested {
                    request_id: &request_id,
                    prompt: &prompt,
                };
                self.recorder.audit(&mut self.machine, &event);
            }
            Effect::Detached {
                client,
                generation,
                requested,
            } => {
                tracing::debug!(
                    client.name = client,
                    generation,
                    requested,
                    "writer detached"
                );
                let event = AuditEvent::Detached {
                    client: &client,
                    generation,
                    requested,
                };
                self.recorder.audit(&mut self.machine, &event);
            }
        }
    }

    fn take_snapshot(&mut self, client: ClientId, with_scrollback: bool) {
        match &mut self.screen {
            Some(screen) if with_scrollback => {
                self.scrollback
                    .request(client, screen, &self.machine, &self.recorder);
            }
            screen => {
                let snapshot = screen.as_mut().map(SessionScreen::snapshot);
                self.machine.on_snapshot(client, snapshot);
            }
        }
    }
}
