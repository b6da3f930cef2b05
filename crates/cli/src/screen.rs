//! Standard output as a screen: append-only text, and a status line or question below it.

use std::io::{self, IsTerminal as _};

use rustix::termios::{QueueSelector, tcflush};

use crate::failure::Failure;
use crate::stdio::{MIN_WIDTH, eprint, print, terminal_width};
use crate::style::{ColorMode, Paint, is_dumb_terminal};
use crate::text::{text_width, truncate};

/// Frames of the spinner, in order.
pub(crate) const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The output of a running session.
#[derive(Debug)]
pub(crate) struct Screen {
    colors: ColorMode,
    /// Standard output is text for people; otherwise it is machine-readable.
    is_text: bool,
    /// Lines can be drawn and erased.
    is_terminal: bool,
    /// Width in columns of the line that is to be erased.
    bottom_width: Option<usize>,
    /// The open question, which stays at the bottom until it is answered.
    question: Option<String>,
    spinner_frame: usize,
}

impl Screen {
    pub(crate) fn new(is_text: bool) -> Self {
        Self {
            colors: ColorMode::of_stdout(),
            is_text,
            is_terminal: is_text && io::stdout().is_terminal() && !is_dumb_terminal(),
            bottom_width: None,
            question: None,
            spinner_frame: 0,
        }
    }

    /// Whether a status line can be drawn.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints text of the dialogue to standard output, above an open question.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = self.erase_bottom();
        out.push_str(text);
        if let Some(question) = self.question.clone().filter(|_| text.ends_with('\n')) {
            out.push_str(&question);
            self.bottom_width = Some(text_width(&question));
        }
        print(&out)
    }

    /// Prints text that is not part of the dialogue: to standard output if that is for people, else
    /// to standard error.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), Failure> {
        if self.is_text {
            return self.print(text);
        }
        eprint(text);
        Ok(())
    }

    /// Prints text to standard error that the text form of the dialogue already contains.
    pub(crate) fn note_if_machine_readable(&self, text: &str) {
        if !self.is_text {
            eprint(text);
        }
    }

    /// Prints text to standard error.
    pub(crate) fn warn(&mut self, text: &str) -> Result<(), Failure> {
        self.clear()?;
        eprint(text);
        Ok(())
    }

    /// Shows a question at the bottom.
    pub(crate) fn open_question(&mut self, question: &str) -> Result<(), Failure> {
        if !self.is_text {
            eprint(question);
            return Ok(());
        }
        let painted = self.colors.painted(Paint::Ask, question);
        let erase = self.erase_bottom();
        print(&format!("{erase}{painted}"))?;
        self.bottom_width = Some(text_width(question));
        self.question = Some(painted);
        Ok(())
    }

    /// Removes the question. An answered one stays visible, since the typed line end has moved the
    /// cursor below it.
    pub(crate) fn close_question(&mut self, was_answered: bool) -> Result<(), Failure> {
        if was_answered {
            self.bottom_width = None;
        } else {
            self.note_if_machine_readable("\n");
            self.clear()?;
        }
        self.question = None;
        Ok(())
    }

    /// Draws the status line with the next frame of the spinner, unless a question is open.
    pub(crate) fn draw_status(&mut self, text: &str) -> Result<(), Failure> {
        if !self.is_terminal || self.question.is_some() {
            return Ok(());
        }
        self.spinner_frame = (self.spinner_frame + 1) % SPINNER.len();
        let width = terminal_width().unwrap_or(MIN_WIDTH) - 1;
        let line = truncate(&format!("{} {text}", SPINNER[self.spinner_frame]), width);
        let mut out = self.erase_bottom();
        self.colors.paint(&mut out, Paint::Dim, &line);
        self.bottom_width = Some(text_width(&line));
        print(&out)
    }

    /// Erases the status line or the question.
    pub(crate) fn clear(&mut self) -> Result<(), Failure> {
        let erase = self.erase_bottom();
        if erase.is_empty() {
            Ok(())
        } else {
            print(&erase)
        }
    }

    /// Returns the text that erases the bottom line: blanks, since `NO_COLOR` excludes all escape
    /// sequences.
    fn erase_bottom(&mut self) -> String {
        let Some(width) = self.bottom_width.take() else {
            return String::new();
        };
        // What was typed after a question is erased with it.
        let width = match self.question {
            Some(_) => terminal_width().unwrap_or(MIN_WIDTH) - 1,
            None => width,
        };
        format!("\r{}\r", " ".repeat(width))
    }
}

/// Discards pending terminal input: what was typed before a question is not its answer.
pub(crate) fn discard_typed_input() {
    // Fails if standard input is no terminal; then nothing was typed.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}
