//! A terminal emulator: what a web terminal shows.

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::{Processor, StdSyncHandler};

const ROWS: usize = 24;
const COLUMNS: usize = 80;

struct Size;

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        ROWS
    }

    fn screen_lines(&self) -> usize {
        ROWS
    }

    fn columns(&self) -> usize {
        COLUMNS
    }
}

/// A terminal emulator of 24 rows and 80 columns.
pub(crate) struct TestScreen {
    term: Term<VoidListener>,
    parser: Processor<StdSyncHandler>,
}

impl TestScreen {
    pub(crate) fn new() -> Self {
        Self {
            term: Term::new(Config::default(), &Size, VoidListener),
            parser: Processor::new(),
        }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    pub(crate) fn modes(&self) -> TermMode {
        *self.term.mode()
    }

    /// Returns the lines of the screen.
    pub(crate) fn text(&self) -> String {
        let line = |row: usize| {
            let cells = (0..COLUMNS).map(|at| self.term.grid()[Line(row as i32)][Column(at)].c);
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..ROWS).map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns the lines of the scrollback and of the screen.
    pub(crate) fn all_lines(&self) -> Vec<String> {
        let grid = self.term.grid();
        let rows = -(grid.history_size() as i32)..ROWS as i32;
        let line = |row| {
            let cells = (0..COLUMNS).map(|at| grid[Line(row)][Column(at)].c);
            cells.collect::<String>().trim_end().to_owned()
        };
        rows.map(line).collect()
    }
}
