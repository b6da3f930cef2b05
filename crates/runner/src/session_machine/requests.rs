//! Requests of clients, and the leases that they need.

use bowline_transport::{Signal, WindowSize};
use bytes::Bytes;

use super::client::{Client, ClientStage};
use super::input::{InputError, KnownPrompt};
use super::request_dedup::MAX_ID_BYTES;
use super::{ClientId, Effect, SessionMachine};
use crate::wire::{Frame, Lease, Message, Prompt, PromptMode, PromptStatus, StdioKind, code};

/// Maximal number of kills of one client that wait for their report.
const MAX_PENDING_KILLS: usize = 64;

/// Why a prompt is refused whose id was used for other bytes.
pub(crate) const REUSED_ID: &str = "the id was used for another request";

/// Permitted rows and columns of a terminal.
const TERMINAL_CELLS: std::ops::RangeInclusive<u16> = 1..=1_000;

impl SessionMachine {
    /// Handles a client's frame.
    pub(super) fn request(&mut self, id: ClientId, frame: Frame) {
        let stage = self.clients.get(&id).map(|client| &client.stage);
        match (stage, frame.message) {
            (_, Message::Ping { nonce }) => self.pong(id, nonce),
            (_, Message::Pong { nonce }) => self.on_pong(id, nonce),
            (None, _) => {}
            (Some(ClientStage::Connected), Message::Hello(hello)) => self.negotiate(id, &hello),
            (Some(ClientStage::Greeted), Message::Attach(attach)) => self.attach(id, attach),
            (Some(ClientStage::Attached(_)), message) => {
                self.dispatch(id, frame.generation, message)
            }
            _ => self.reject(id, code::PROTOCOL, "expected Hello, then Attach, each once"),
        }
    }

    fn pong(&mut self, id: ClientId, nonce: u64) {
        let now = self.now;
        let client = self.clients.get_mut(&id);
        let floods = client.is_some_and(|it| it.exceeds_ping_rate(now));
        if floods {
            return self.reject(
                id,
                code::LIMIT,
                "too many pings; send one every five seconds",
            );
        }
        self.send(id, Message::Pong { nonce });
    }

    /// Refuses a request, and closes the connection of a client that continues with such requests.
    fn refuse(&mut self, id: ClientId, code: &str, detail: &str) {
        let now = self.now;
        let client = self.clients.get_mut(&id);
        if client.is_some_and(|it| it.exceeds_refusal_rate(now)) {
            let detail = "too many requests were refused; stop sending them";
            return self.reject(id, code::LIMIT, detail);
        }
        self.send_error(id, code, detail);
    }

    fn on_pong(&mut self, id: ClientId, nonce: u64) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.on_pong(nonce);
        }
    }

    fn dispatch(&mut self, id: ClientId, generation: u64, message: Message) {
        match message {
            Message::Ack { stream, offset } => self.cursor(id, stream, |it| it.ack(offset)),
            Message::Credit { stream, n } => self.cursor(id, stream, |it| it.grant(n)),
            Message::Detach => {
                self.release_lease(id, true);
                self.close_client(id);
            }
            Message::ExitAck => self.exit_ack(id),
            Message::Input { .. } | Message::InputEnd { .. } | Message::Resize { .. } => {
                self.handle_writer_message(id, generation, message);
            }
            Message::Prompt(_) | Message::Signal { .. } | Message::Kill { .. } => {
                self.handle_request(id, message);
            }
            _ => self.reject(id, code::PROTOCOL, "message is not valid from a client"),
        }
    }

    fn cursor(
        &mut self,
        id: ClientId,
        stream: crate::wire::StreamId,
        act: impl FnOnce(&mut super::client::Cursor),
    ) {
        let client = self.clients.get_mut(&id);
        let attachment = client.and_then(Client::attachment_mut);
        if let Some(cursor) = attachment.and_then(|it| it.cursors.get_mut(&stream)) {
            act(cursor);
        }
    }

    fn lease(&self, id: ClientId) -> Lease {
        let client = self.clients.get(&id).and_then(Client::attachment);
        client.map_or(Lease::Read, |attachment| attachment.lease)
    }

    fn exit_ack(&mut self, id: ClientId) {
        let attachment = self.clients.get(&id).and_then(Client::attachment);
        let may = attachment.is_some_and(|it| it.exit_sent && it.lease != Lease::Read);
        if let Some(exit) = self.exit.as_mut().filter(|_| may) {
            exit.acknowledged.get_or_insert(self.now);
        }
    }

    /// Handles a message that needs the write lease and its present generation.
    fn handle_writer_message(&mut self, id: ClientId, generation: u64, message: Message) {
        if self.lease(id) != Lease::Write {
            let detail = "input and resize need the write lease; attach with it";
            return self.refuse(id, code::NO_LEASE, detail);
        }
        if self.writer != Some(id) || generation != self.generation {
            return;
        }
        match message {
            Message::Input { offset, bytes } => self.accept_typed(id, offset, &bytes),
            Message::InputEnd { offset } => self.end_input(id, offset),
            Message::Resize { seq, size } => self.resize_once(id, seq, size),
            _ => {}
        }
    }

    fn accept_typed(&mut self, id: ClientId, offset: u64, bytes: &Bytes) {
        match self.input.accept_typed(offset, bytes) {
            Ok(None) => {
                // The acknowledgement of a repeated chunk may have been lost.
                if offset + (bytes.len() as u64) <= self.input.taken() {
                    self.schedule_input_ack(self.now);
                }
            }
            Ok(Some(events)) => self.notify(events),
            Err(InputError::Gap) => self.input_gap(id, offset),
            Err(InputError::Full) => {
                let detail = "input exceeds the window; wait for the acknowledgement";
                self.reject(id, code::LIMIT, detail);
            }
        }
    }

    fn end_input(&mut self, id: ClientId, offset: u64) {
        if self.input.end_at(offset).is_err() {
            self.input_gap(id, offset);
        }
    }

    fn input_gap(&mut self, id: ClientId, offset: u64) {
        let next = self.input.next();
        let detail = format!("input at offset {offset}, expected {next}; send from there");
        self.send_error(id, code::INPUT_GAP, &detail);
    }

    fn resize_once(&mut self, id: ClientId, seq: u64, size: WindowSize) {
        let client = self.clients.get_mut(&id);
        let Some(attachment) = client.and_then(Client::attachment_mut) else {
            return;
        };
        if attachment.last_resize.is_none_or(|last| seq > last) {
            attachment.last_resize = Some(seq);
            self.resize(size);
        }
    }

    /// Requests a resize, if the size is permitted and new.
    pub(super) fn resize(&mut self, size: WindowSize) {
        let fits = TERMINAL_CELLS.contains(&size.rows) && TERMINAL_CELLS.contains(&size.cols);
        let is_new = self.facts.size != Some(size) && self.facts.stdio == StdioKind::Pty;
        if fits && is_new && self.exit.is_none() {
            self.facts.size = Some(size);
            self.effects.push_back(Effect::Resize(size));
        }
    }

    /// Handles a request that several clients may send; each is executed once per id.
    fn handle_request(&mut self, id: ClientId, message: Message) {
        if self.lease(id) == Lease::Read {
            let detail = "prompts, signals and kills need a lease; attach to append or to write";
            return self.refuse(id, code::NO_LEASE, detail);
        }
        let (Message::Prompt(Prompt { id: name, .. })
        | Message::Signal { id: name, .. }
        | Message::Kill { id: name, .. }) = &message
        else {
            return;
        };
        if name.is_empty() || name.len() > MAX_ID_BYTES {
            return self.refuse(id, code::PROTOCOL, "invalid request id; use 1 to 128 bytes");
        }
        match message {
            Message::Prompt(prompt) => self.prompt(id, prompt),
            Message::Signal { id: name, signal } => self.signal(&name, signal),
            Message::Kill { id: name, policy } => self.kill(id, name, policy),
            _ => {}
        }
    }

    fn prompt(&mut self, client: ClientId, prompt: Prompt) {
        let Prompt {
            id,
            bytes,
            mode,
            request_id,
        } = prompt;
        let is_id = |it: &String| (1..=MAX_ID_BYTES).contains(&it.len());
        if let Some(request_id) = request_id.filter(is_id) {
            let prompt = id.clone();
            self.effects
                .push_back(Effect::Requested { request_id, prompt });
        }
        if mode == PromptMode::Control {
            let state = self.record_decision(&id, &bytes);
            return self.send(client, Message::PromptState { id, state });
        }
        if mode == PromptMode::Hook {
            let state = self.reply_to_hook(&id, &bytes);
            return self.send(client, Message::PromptState { id, state });
        }
        let refused = |reason: &str| PromptStatus::Refused {
            reason: reason.to_owned(),
        };
        let state = match (self.input.prompt(&id, &bytes), mode) {
            // A repeated prompt, regardless of the program's present mode.
            (KnownPrompt::Same(state), _) => state.clone(),
            (KnownPrompt::Other, _) => {
                let state = refused(REUSED_ID);
                return self.send(client, Message::PromptState { id, state });
            }
            (KnownPrompt::Unknown, PromptMode::Line) => self.input.prompt_line(&id, &bytes),
            (KnownPrompt::Unknown, PromptMode::Paste) => {
                match sanitize_paste(&bytes, self.bracketed_paste) {
                    Ok(text) => self.input.prompt_paste(&id, &bytes, text),
                    Err(reason) => refused(reason),
                }
            }
            (KnownPrompt::Unknown, PromptMode::End | PromptMode::Control | PromptMode::Hook) => {
                // The present end is never past the input.
                let _ = self.input.end_at(self.input.next());
                PromptStatus::Written
            }
        };
        if !self.input.is_settled(&id) {
            self.watchers.insert(id.clone(), client);
        }
        self.send(client, Message::PromptState { id, state });
    }

    fn signal(&mut self, id: &str, signal: Signal) {
        if self.signals.get(id).is_none() {
            self.signals.insert(id, ());
            self.effects.push_back(Effect::Signal(signal));
        }
    }

    fn kill(&mut self, client: ClientId, id: String, policy: bowline_transport::TerminationPolicy) {
        let waiting = self.kills.waiters.iter();
        if waiting.filter(|(asker, _)| *asker == client).count() >= MAX_PENDING_KILLS {
            let detail = "too many kills are pending; wait for their reports";
            return self.refuse(client, code::LIMIT, detail);
        }
        if self.kills.seen.get(&id).is_none() {
            self.kills.seen.insert(&id, ());
            self.effects.push_back(Effect::Kill(policy));
        }
        if let Some(report) = self.kills.report.clone() {
            return self.send(client, Message::Killed { id, report });
        }
        if !self.kills.waiters.contains(&(client, id.clone())) {
            self.kills.waiters.push((client, id));
        }
    }
}

/// Returns a prompt as the bytes of a paste, without control characters other than LF and HT. Fails
/// if the text needs bracketed paste (xterm ctlseqs, mode 2004) and the program has not enabled it.
fn sanitize_paste(text: &[u8], bracketed: bool) -> Result<Bytes, &'static str> {
    let is_text = |byte: &u8| matches!(byte, b'\n' | b'\t') || !(*byte < 0x20 || *byte == 0x7f);
    let clean: Vec<u8> = text.iter().copied().filter(is_text).collect();
    if bracketed {
        let whole = [b"\x1b[200~".as_slice(), &clean, b"\x1b[201~"].concat();
        return Ok(whole.into());
    }
    if clean.iter().any(|byte| matches!(byte, b'\n' | b'\t')) {
        return Err("the program does not accept pastes; send one line without tabs");
    }
    Ok(clean.into())
}
