//! `bowline replay`: shows a recording or a past conversation.

use std::process::ExitCode;

use bowline_jsonl::{Framer, Item};
use bowline_recording::{JournalSummary, RecordedTranscript};
use bowline_reducer::{End, HostEvent, Meta};

use crate::args;
use crate::failure::Failure;
use crate::history::history;
use crate::printer::Printer;
use crate::recording::{LineReader, Recording, report_losses};
use crate::stdio::print;

/// What has no arrival time: the end of a recording, and what it lacks.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// Reduces a recording or a past conversation and prints it. A failed turn in it is no failure of the
/// replay.
pub(crate) fn replay(options: &args::Replay) -> Result<ExitCode, Failure> {
    let mut replay = Replay {
        conversation: RecordedTranscript::new(options.dialect),
        printer: Printer::new(options.output.form()),
        unprinted: String::new(),
    };
    let (Some(file), None) = (&options.file, &options.conversation) else {
        replay.past_conversation(options.conversation.as_deref().unwrap_or_default())?;
        replay.finish()?;
        return Ok(ExitCode::SUCCESS);
    };
    let losses = Recording::open(file)?.read_into(&mut replay)?;
    replay.finish()?;
    Ok(report_losses(
        &file.display().to_string(),
        &losses,
        options.strict,
    ))
}

struct Replay {
    conversation: RecordedTranscript,
    printer: Printer,
    unprinted: String,
}

impl Replay {
    /// Reduces a past conversation.
    fn past_conversation(&mut self, id: &str) -> Result<(), Failure> {
        let past = history()
            .open(id)
            .map_err(|error| Failure::caused("", &error))?;
        let mut framer = Framer::default();
        framer.push(past.stream);
        framer.finish();
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                self.conversation.transcript_mut().apply_history(&item);
                self.format_changes();
            }
            self.flush()?;
        }
        self.conversation
            .transcript_mut()
            .apply_host(HostEvent::HistoryEnded, NO_TIME);
        self.format_changes();
        Ok(())
    }

    fn format_changes(&mut self) {
        let changes = self
            .conversation
            .transcript_mut()
            .changes_since(self.printer.cursor());
        self.unprinted.push_str(&self.printer.changes(&changes));
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.conversation
            .transcript_mut()
            .end(End::Recording, NO_TIME);
        self.format_changes();
        self.unprinted
            .push_str(&self.printer.finish(self.conversation.transcript()));
        print(&self.unprinted)
    }
}

impl LineReader for Replay {
    /// Formats the changes of each line separately, so that they keep the order of the stream.
    fn on_line(&mut self, item: &Item<'_>, at: Meta) {
        self.conversation.apply(item, at);
        self.format_changes();
    }

    fn on_input(&mut self, line: &str, at: Meta) {
        self.conversation.apply_input(line, at);
        self.format_changes();
    }

    fn on_gap(&mut self, from: u64, to: u64) {
        self.conversation
            .transcript_mut()
            .apply_host(HostEvent::Gap { from, to }, NO_TIME);
        self.format_changes();
    }

    fn on_journal(&mut self, journal: JournalSummary) {
        for reason in journal.unreadable() {
            let reason = reason.as_str();
            self.conversation
                .transcript_mut()
                .apply_host(HostEvent::Damaged { reason }, NO_TIME);
        }
        self.format_changes();
    }

    fn flush(&mut self) -> Result<(), Failure> {
        print(&std::mem::take(&mut self.unprinted))
    }
}
