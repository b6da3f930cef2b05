//! The agent's output: framed, folded into the transcript, and acted upon.

use std::mem;

use bowline_jsonl::Event;
use bowline_reducer::HostEvent;
use bytes::Bytes;

use super::Machine;
use super::protocol::Signal;
use crate::agent::UnknownOption;
use crate::events::DialogueEventKind;
use crate::watchdog::ActivitySource;

impl Machine {
    pub(super) fn output(&mut self, bytes: Bytes) {
        let length = bytes.len() as u64;
        self.output_end += length;
        self.framer.push(bytes);
        self.fold_frames();
        self.advance_replay(|replay| replay.advance_output(length));
    }

    pub(super) fn gap(&mut self, from: u64, to: u64) {
        self.output_end = to;
        self.framer.skip_to(to);
        self.fold_frames();
        self.host(HostEvent::Gap { from, to });
        self.emit(DialogueEventKind::Gap { from, to });
        self.advance_replay(|replay| replay.skip_output(to));
    }

    pub(super) fn fold_frames(&mut self) {
        // Lines borrow the framer, so it is moved out while they are handled.
        let mut framer = mem::take(&mut self.framer);
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                let meta = self.meta();
                self.watch_fold();
                self.transcript.apply(&item, meta);
                self.emit_fold(item.at.offset);
                match &item.event {
                    Ok(event) => {
                        self.has_event = true;
                        self.line_at = item.at.offset;
                        self.event(event);
                    }
                    // On a terminal, standard error is part of the output.
                    Err(_) if !self.has_event && self.unknown_option.is_none() => {
                        let text = String::from_utf8_lossy(item.raw);
                        self.unknown_option = UnknownOption::find(&text);
                    }
                    Err(_) => {}
                }
                if self.emits_events {
                    self.emit_line(&item);
                }
            }
        }
        self.framer = framer;
    }

    fn event(&mut self, event: &Event<'_>) {
        self.with_protocol(|protocol, link| protocol.line(event, link));
        // Whether a response to the watchdog's own probe counts is up to the watchdog.
        let is_response = |signal: &Signal| matches!(signal, Signal::Response { .. });
        if !self.signals.iter().any(is_response) {
            self.watchdog.activity(ActivitySource::Event, self.now);
        }
        self.carry_out_signals();
    }
}
