//! This terminal with the transcript above and a few lines below it, which are drawn again after each change.
//!
//! The transcript is printed and scrolls as the output of any command does; there is no alternate screen. The
//! lines below are erased before text is printed. A terminal that becomes narrower wraps the rows that are on it:
//! the number of rows to erase is calculated as tmux(1) and terminals with reflow do it.

use std::io::{self, IsTerminal as _};

use rustix::termios::tcgetwinsize;

use super::area::{Area, AreaContent, layout};
use crate::failure::Failure;
use crate::screen::SPINNER;
use crate::stdio::print;
use crate::style::ColorMode;
use crate::text::{sanitize, text_width};

/// The size of a terminal that does not know its own, in columns and rows.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// Hides the cursor while rows are drawn, and shows it again.
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

/// The terminal of a conversation.
#[derive(Debug)]
pub(super) struct ChatScreen {
    pub(super) colors: ColorMode,
    /// Columns and rows.
    size: (usize, usize),
    /// The last line of the transcript, if it has not ended: with its colours, and its width.
    open: (String, usize),
    /// Content of the area below it.
    area: Area,
    /// Whether anything is drawn.
    is_drawn: bool,
    spinner_frame: usize,
}

impl ChatScreen {
    pub(super) fn new() -> Self {
        Self {
            colors: ColorMode::of_stdout(),
            size: terminal_size(),
            open: Default::default(),
            area: Area::default(),
            is_drawn: false,
            spinner_frame: 0,
        }
    }

    /// Columns of the terminal.
    pub(super) const fn columns(&self) -> usize {
        self.size.0
    }

    /// Advances the spinner.
    pub(super) const fn spin(&mut self) {
        self.spinner_frame = (self.spinner_frame + 1) % SPINNER.len();
    }

    /// The frame of the spinner.
    pub(super) const fn spinner(&self) -> char {
        SPINNER[self.spinner_frame]
    }

    /// Prints text of the transcript, and draws what is below it.
    pub(super) fn draw(&mut self, text: &str, content: &AreaContent<'_>) -> Result<(), Failure> {
        let area = layout(content, self.colors, self.size.0, self.size.1);
        if text.is_empty() && self.is_drawn && area == self.area {
            return Ok(());
        }
        let mut out = HIDE.to_owned();
        self.erase(&mut out);
        self.append(text, &mut out);
        if !self.open.0.is_empty() {
            out.push_str("\r\n");
        }
        let rows: Vec<_> = area.rows.iter().map(|it| it.text.as_str()).collect();
        out.push_str(&rows.join("\r\n"));
        let below = area.rows.len() - 1 - area.cursor.0;
        if below > 0 {
            out.push_str(&format!("\x1b[{below}A"));
        }
        out.push_str(&format!("\r{}", right(area.cursor.1)));
        out.push_str(SHOW);
        self.area = area;
        self.is_drawn = true;
        print(&out)
    }

    /// Erases what is below the transcript, and ends its last line.
    pub(super) fn leave(&mut self) -> Result<(), Failure> {
        let mut out = String::new();
        self.erase(&mut out);
        self.append("", &mut out);
        if !self.open.0.is_empty() {
            out.push_str("\r\n");
            self.open = Default::default();
        }
        print(&out)
    }

    /// Sets the size of the terminal. The next drawing erases the area as it was drawn at the previous size.
    pub(super) fn resize(&mut self) {
        let before = std::mem::replace(&mut self.size, terminal_size());
        if before != self.size {
            // Forces a redraw, even if the content is unchanged.
            self.area.rows.iter_mut().for_each(|it| it.text.clear());
        }
    }

    /// Clears the screen; what is below the transcript is drawn again.
    pub(super) fn clear(&mut self) -> Result<(), Failure> {
        self.is_drawn = false;
        print("\x1b[H\x1b[2J")
    }

    /// Moves to the start of the open line, and erases from there on.
    fn erase(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.is_drawn) {
            return;
        }
        let columns = self.size.0.max(1);
        let (row, column) = self.area.cursor;
        let above = self.area.rows.iter().take(row).map(|it| it.width);
        let mut up: usize = above.map(|width| rows_of(width, columns)).sum();
        up += column / columns;
        if !self.open.0.is_empty() {
            up += rows_of(self.open.1, columns);
        }
        if up > 0 {
            out.push_str(&format!("\x1b[{up}A"));
        }
        out.push_str("\r\x1b[J");
    }

    /// Writes the open line and what follows it.
    fn append(&mut self, text: &str, out: &mut String) {
        self.open.0.push_str(text);
        let lines = &self.open.0;
        out.push_str(&lines.replace('\n', "\r\n"));
        if !text.is_empty() {
            let last = lines.rsplit('\n').next().unwrap_or_default().to_owned();
            let width = text_width(&sanitize(&last));
            self.open = (last, width);
        }
    }
}

/// Returns the rows that a row of this width takes after the terminal has wrapped it.
const fn rows_of(width: usize, columns: usize) -> usize {
    let rows = width.div_ceil(columns);
    if rows == 0 { 1 } else { rows }
}

fn right(columns: usize) -> String {
    if columns == 0 {
        String::new()
    } else {
        format!("\x1b[{columns}C")
    }
}

/// Returns the columns and rows of the terminal.
fn terminal_size() -> (usize, usize) {
    let size = io::stdout()
        .is_terminal()
        .then(|| tcgetwinsize(io::stdout()));
    match size {
        Some(Ok(size)) if size.ws_col > 0 && size.ws_row > 0 => {
            (size.ws_col.into(), size.ws_row.into())
        }
        _ => DEFAULT_SIZE,
    }
}
