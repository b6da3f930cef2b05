//! Parser and reducer connected, as in a host.

use std::time::Duration;

use bowline_jsonl::{Framer, Item};
use bowline_reducer::{Meta, Transcript, Window};
use bytes::Bytes;

use crate::clock::thread_cpu_time;

/// Arrival time of all lines; the reducer only copies it.
const AT: Meta = Meta { at_ms: 0 };

/// A framer and the transcript that its lines are applied to.
#[derive(Debug, Default)]
pub struct Feed {
    framer: Framer,
    /// The transcript of the lines.
    pub transcript: Transcript,
}

impl Feed {
    /// Creates a feed whose transcript keeps a window.
    #[must_use]
    pub fn with_window(window: Window) -> Self {
        Self {
            transcript: Transcript::with_window(window),
            ..Self::default()
        }
    }

    /// Parses and applies the next whole lines of the stream. Calls `seen` with the transcript
    /// after each line.
    pub fn each(&mut self, lines: Bytes, mut seen: impl FnMut(&mut Transcript)) {
        self.framer.push(lines);
        while let Some(frame) = self.framer.next_frame() {
            let mut items = frame.items();
            // An item is large; it is applied where it was created to avoid a copy.
            while let Some(item) = &items.next() {
                self.transcript.apply(item, AT);
                seen(&mut self.transcript);
            }
        }
    }

    /// Parses and applies the next whole lines of the stream.
    pub fn take(&mut self, lines: Bytes) {
        self.each(lines, |_| {});
    }

    /// Parses the next whole lines window by window, and passes `around` a function that applies
    /// each window, so that the reducer's work can be measured separately.
    pub fn around(&mut self, lines: Bytes, mut around: impl FnMut(&mut dyn FnMut())) {
        self.framer.push(lines);
        while let Some(frame) = self.framer.next_frame() {
            let items: Vec<Item<'_>> = frame.items().collect();
            around(&mut || {
                for item in &items {
                    self.transcript.apply(item, AT);
                }
            });
        }
    }

    /// Returns the CPU time of the reducer alone for the next whole lines of the stream.
    pub fn time(&mut self, lines: Bytes) -> Duration {
        let mut time = Duration::ZERO;
        self.around(lines, |apply| {
            let start = thread_cpu_time();
            apply();
            time += thread_cpu_time().saturating_sub(start);
        });
        time
    }
}
