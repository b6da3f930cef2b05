//! `bowline replay`: shows a recording.

use std::process::ExitCode;

use bowline_jsonl::Item;
use bowline_reducer::{End, HostEvent, Meta};

use crate::args;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::recording::{Conversation, JournalSummary, LineReader, Recording, report_losses};
use crate::stdio::print;

/// A recorded line carries no arrival time.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// Reduces a recording and prints it. A failed turn in it is no failure of the replay.
pub(crate) fn replay(options: &args::Replay) -> Result<ExitCode, Failure> {
    let mut replay = Replay {
        conversation: Conversation::new(options.dialect),
        printer: Printer::new(options.output.output),
        unprinted: String::new(),
    };
    let losses = Recording::open(&options.file)?.read_into(&mut replay)?;
    replay.finish()?;
    let source = options.file.display().to_string();
    Ok(report_losses(&source, &losses, options.strict))
}

struct Replay {
    conversation: Conversation,
    printer: Printer,
    unprinted: String,
}

impl Replay {
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
    fn on_line(&mut self, item: &Item<'_>) {
        self.conversation.apply(item);
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
