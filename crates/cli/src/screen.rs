//! The terminal, if there is one: append-only text, and one line at the bottom that comes and goes.

use std::io::{self, IsTerminal as _};

use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};

use crate::failure::Failure;
use crate::view::{Paint, Style, columns, cut, print, tell};

/// The spinner's pictures, in order.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Narrower pages than this are not laid out for, in columns.
const NARROWEST: usize = 20;

/// Width of the terminal on standard output, in columns; none when there is no terminal.
pub(crate) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col).max(NARROWEST))
}

/// Where the dialogue is shown.
#[derive(Debug)]
pub(crate) struct Screen {
    style: Style,
    /// Whether text is for people; otherwise standard output is for programs alone.
    is_text: bool,
    /// Whether lines can be drawn and taken away.
    is_terminal: bool,
    /// The line at the bottom: how many columns it takes.
    bottom: Option<usize>,
    /// A question that is open: it stands at the bottom until it is answered.
    prompt: Option<String>,
    frame: usize,
}

impl Screen {
    pub(crate) fn new(is_text: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb");
        Self {
            style: Style::of_stdout(),
            is_text,
            is_terminal: is_text && io::stdout().is_terminal() && !dumb,
            bottom: None,
            prompt: None,
            frame: 0,
        }
    }

    /// Whether a line at the bottom can be drawn.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints what stays.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = self.taken_away();
        out.push_str(text);
        if let Some(prompt) = self.prompt.clone().filter(|_| text.ends_with('\n')) {
            out.push_str(&prompt);
            self.bottom = Some(columns(&prompt));
        }
        print(&out)
    }

    /// Says something that is not part of the dialogue.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
        if self.is_text {
            return self.print(text);
        }
        tell(text);
        Ok(())
    }

    /// Says something that people who read the dialogue know from it.
    pub(crate) fn tell_apart(&self, text: &str) {
        if !self.is_text {
            tell(text);
        }
    }

    /// Says something that is for people, whatever standard output is for.
    pub(crate) fn warn(&mut self, text: &str) -> Result<(), Failure> {
        let away = self.taken_away();
        if !away.is_empty() {
            print(&away)?;
        }
        tell(text);
        Ok(())
    }

    /// Puts a question at the bottom.
    pub(crate) fn ask(&mut self, prompt: &str) -> Result<(), Failure> {
        let painted = self.style.painted(Paint::Ask, prompt);
        if !self.is_text {
            tell(prompt);
            return Ok(());
        }
        let away = self.taken_away();
        print(&format!("{away}{painted}"))?;
        self.bottom = Some(columns(prompt));
        self.prompt = Some(painted);
        Ok(())
    }

    /// Takes the question away: it was answered, by a line that ended it, or is no more asked.
    pub(crate) fn close_question(&mut self, was_answered: bool) -> Result<(), Failure> {
        if was_answered {
            self.bottom = None;
        } else {
            self.tell_apart("\n");
            self.clear()?;
        }
        self.prompt = None;
        Ok(())
    }

    /// Draws the line at the bottom, unless a question stands there.
    pub(crate) fn progress(&mut self, text: &str) -> Result<(), Failure> {
        if !self.is_terminal || self.prompt.is_some() {
            return Ok(());
        }
        self.frame = (self.frame + 1) % SPINNER.len();
        let room = width().unwrap_or(NARROWEST).saturating_sub(1);
        let line = cut(&format!("{} {text}", SPINNER[self.frame]), room);
        let mut out = self.taken_away();
        self.style.paint(&mut out, Paint::Dim, &line);
        self.bottom = Some(columns(&line));
        print(&out)
    }

    /// Takes the line at the bottom away.
    pub(crate) fn clear(&mut self) -> Result<(), Failure> {
        let away = self.taken_away();
        if away.is_empty() {
            Ok(())
        } else {
            print(&away)
        }
    }

    /// The text that takes the bottom line away: blanks and not an escape sequence, so that
    /// `NO_COLOR` means none at all.
    fn taken_away(&mut self) -> String {
        match self.bottom.take() {
            None => String::new(),
            // What somebody has typed behind a question goes too.
            Some(_) if self.prompt.is_some() => {
                format!("\r{}\r", " ".repeat(width().unwrap_or(NARROWEST) - 1))
            }
            Some(used) => format!("\r{}\r", " ".repeat(used)),
        }
    }
}

/// Forgets what was typed before a question was asked: it cannot be the answer.
pub(crate) fn forget_typed() {
    // Standard input may be no terminal; then nothing was typed.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}
