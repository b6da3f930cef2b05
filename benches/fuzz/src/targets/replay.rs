//! Replayed output contains no query to the terminal.

use std::cell::RefCell;
use std::rc::Rc;

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::term::Config;
use alacritty_terminal::vte::ansi::{Processor, StdSyncHandler};
use bowline_runner::ReplayFilter;

use super::lines::{OUTPUT, output};
use super::{pieces, same, whole};
use crate::guided::{Check, Target};

/// The first byte selects how the rest, output, is split.
pub(super) static REPLAY: Target = Target {
    name: "replay",
    what: "a cleaned replay does not depend on chunk sizes, and causes no reply of a terminal",
    longest: 200,
    seeds: output,
    dictionary: &OUTPUT,
    repair: whole,
    check,
};

fn check() -> Result<Check, String> {
    Ok(Box::new(|input| {
        let Some((pattern, output)) = input.split_first() else {
            return Ok(());
        };
        let clean = cleaned([output]);
        same("in pieces", &cleaned(pieces(output, *pattern)), &clean)?;
        let replies = replies(&clean);
        if replies.is_empty() {
            return Ok(());
        }
        Err(format!("{} is answered: {replies:?}", clean.escape_ascii()))
    }))
}

fn cleaned<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let (mut cleaner, mut out) = (ReplayFilter::default(), Vec::new());
    for piece in pieces {
        cleaner.feed(piece, &mut out);
    }
    out
}

/// Returns the answers of an independent terminal.
fn replies(output: &[u8]) -> Vec<String> {
    let replies = Replies::default();
    let mut term = Term::new(Config::default(), &Size, replies.clone());
    Processor::<StdSyncHandler>::new().advance(&mut term, output);
    replies.0.take()
}

#[derive(Clone, Default)]
struct Replies(Rc<RefCell<Vec<String>>>);

impl EventListener for Replies {
    fn send_event(&self, event: Event) {
        let is_reply = matches!(
            event,
            Event::PtyWrite(_)
                | Event::ColorRequest(..)
                | Event::TextAreaSizeRequest(_)
                | Event::ClipboardLoad(..)
                | Event::ClipboardStore(..)
        );
        if is_reply {
            self.0.borrow_mut().push(format!("{event:?}"));
        }
    }
}

struct Size;

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        5
    }

    fn screen_lines(&self) -> usize {
        5
    }

    fn columns(&self) -> usize {
        16
    }
}
