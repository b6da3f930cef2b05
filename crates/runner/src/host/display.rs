//! The screen of a hosted terminal.

use bowline_transport::WindowSize;
use bytes::Bytes;

use crate::core::Screen;
use crate::screen::SessionScreen;

/// A screen, and how often it has failed.
#[derive(Debug)]
pub(super) struct Display {
    screen: SessionScreen,
    faults: u32,
}

impl Display {
    pub(super) fn new(size: WindowSize) -> Self {
        Self {
            screen: SessionScreen::new(size),
            faults: 0,
        }
    }

    /// Shows output. Answers what the program is to be told, if nobody else does that.
    pub(super) fn show(&mut self, offset: u64, bytes: &[u8], nobody_answers: bool) -> Bytes {
        self.screen.set_answering(nobody_answers);
        self.screen.feed(offset, bytes);
        self.screen.answers()
    }

    pub(super) fn resize(&mut self, size: WindowSize) {
        self.screen.resize(size);
    }

    pub(super) fn snapshot(&mut self) -> Screen {
        self.screen.snapshot()
    }

    pub(super) fn takes_paste(&self) -> bool {
        self.screen.takes_paste()
    }

    /// Whether it has failed, and begun anew, since it was last asked.
    pub(super) fn has_failed(&mut self) -> bool {
        let before = std::mem::replace(&mut self.faults, self.screen.faults());
        self.faults > before
    }
}
