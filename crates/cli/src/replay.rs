//! `bowline replay`: shows a recorded stream.

use std::process::ExitCode;

use bowline_jsonl::Item;
use bowline_reducer::{End, HostEvent, Meta, Transcript};

use crate::args;
use crate::failure::Failure;
use crate::input::{Reader, Recording};
use crate::printer::Printer;
use crate::view::print;

/// A recording has no clock of ours.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// Folds a recording and prints it. A turn that failed is no failure of the replay.
pub(crate) fn replay(options: &args::Replay) -> Result<ExitCode, Failure> {
    let mut replay = Replay {
        transcript: Transcript::new(),
        printer: Printer::new(options.output),
        text: String::new(),
    };
    Recording::open(&options.file)?.read_into(&mut replay)?;
    replay.finish()?;
    Ok(ExitCode::SUCCESS)
}

struct Replay {
    transcript: Transcript,
    printer: Printer,
    /// What was made and not printed yet.
    text: String,
}

impl Replay {
    fn finish(mut self) -> Result<(), Failure> {
        self.transcript.end(End::Recording, NO_TIME);
        self.text.push_str(
            &self
                .printer
                .news(&self.transcript.changes_since(self.printer.cursor())),
        );
        self.text.push_str(&self.printer.last(&self.transcript));
        print(&self.text)
    }
}

impl Reader for Replay {
    /// Reads the changes of each line by itself, so that their order is that of the stream.
    fn line(&mut self, item: &Item<'_>) {
        self.transcript.apply(item, NO_TIME);
        self.text.push_str(
            &self
                .printer
                .news(&self.transcript.changes_since(self.printer.cursor())),
        );
    }

    fn gap(&mut self, from: u64, to: u64) {
        let gap = HostEvent::Gap { from, to };
        self.transcript.apply_host(gap, NO_TIME);
        self.text.push_str(
            &self
                .printer
                .news(&self.transcript.changes_since(self.printer.cursor())),
        );
    }

    fn pause(&mut self) -> Result<(), Failure> {
        print(&std::mem::take(&mut self.text))
    }
}
