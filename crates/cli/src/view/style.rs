//! Colours, or none.

use std::io::IsTerminal as _;

use anstyle::{AnsiColor, Style as Code};

/// What a piece of text is, as far as its looks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// What the agent says.
    Plain,
    /// What is beside the point.
    Dim,
    /// A prompt, a caption.
    Bold,
    /// A tool's name.
    Tool,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// Somebody is asked.
    Ask,
}

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// With escape sequences.
    Coloured,
    /// Without any.
    Bare,
}

impl Style {
    /// Colours for a terminal that shows them, unless the user wants none (<https://no-color.org>).
    pub(crate) fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb");
        if std::io::stdout().is_terminal() && !unwanted && !dumb {
            Self::Coloured
        } else {
            Self::Bare
        }
    }

    /// Appends a text in its colour.
    pub(crate) fn paint(self, out: &mut String, paint: Paint, text: &str) {
        let code = paint.code();
        if self == Self::Bare || paint == Paint::Plain || text.is_empty() {
            out.push_str(text);
        } else {
            out.push_str(&format!("{code}{text}{code:#}"));
        }
    }

    /// A text in its colour.
    pub(crate) fn painted(self, paint: Paint, text: &str) -> String {
        let mut out = String::new();
        self.paint(&mut out, paint, text);
        out
    }
}

impl Paint {
    const fn code(self) -> Code {
        match self {
            Self::Plain => Code::new(),
            Self::Dim => Code::new().dimmed(),
            Self::Bold => Code::new().bold(),
            Self::Tool => AnsiColor::Cyan.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Ask => AnsiColor::Yellow.on_default(),
        }
    }
}
