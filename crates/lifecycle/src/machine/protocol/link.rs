//! What a protocol works with.

use std::time::Duration;

use bowline_reducer::Transcript;

use super::Signal;
use crate::machine::input::{LinePurpose, Reply, Ticket};
use crate::machine::requests::Requests;

/// The machine as a protocol sees it: the transcript, the requests of this host, and where signals go.
pub(in crate::machine) struct Link<'m> {
    pub(in crate::machine) transcript: &'m Transcript,
    pub(in crate::machine) requests: &'m mut Requests,
    /// When a request that is written now times out.
    pub(in crate::machine) due: Duration,
    pub(in crate::machine) at_ms: u64,
    pub(in crate::machine) signals: &'m mut Vec<Signal>,
}

impl Link<'_> {
    pub(super) fn signal(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    pub(super) fn write(&mut self, line: Vec<u8>) {
        let purpose = LinePurpose::Other;
        self.signal(Signal::Write { line, purpose });
    }

    /// Completes a command without waiting for the agent.
    pub(super) fn done(&mut self, ticket: Ticket) {
        let reply = Ok(Reply::Done);
        self.signal(Signal::Reply { ticket, reply });
    }

    /// Completes a request that was opened and is not needed any more.
    pub(super) fn settle(&mut self, id: &str) {
        let request = self.requests.complete(id, Ok(String::new()));
        if let Some(ticket) = request.and_then(|request| request.ticket) {
            self.done(ticket);
        }
    }

    /// Writes a request with the id that `encode` gets, and awaits its response.
    pub(super) fn request(
        &mut self,
        name: &str,
        ticket: Option<Ticket>,
        encode: impl FnOnce(&str) -> Vec<u8>,
    ) {
        let id = self.requests.open(name, ticket, self.due);
        let line = encode(&id);
        let purpose = LinePurpose::Request(id);
        self.signal(Signal::Write { line, purpose });
    }

    /// Writes a request whose response only shows that the agent is alive.
    pub(super) fn probe(&mut self, name: &str, encode: impl FnOnce(&str) -> Vec<u8>) {
        let id = self.requests.open_probe(name, self.due);
        self.write(encode(&id));
    }
}
