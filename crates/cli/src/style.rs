//! Colours of the text output.

use std::io::IsTerminal as _;

use anstyle::{AnsiColor, Style};

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Text of the agent.
    #[default]
    Plain,
    /// Secondary information.
    Dim,
    /// A prompt or a caption.
    Bold,
    /// The name of a tool.
    Tool,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// A question to the user, or something that needs attention.
    Ask,
}

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorMode {
    /// With escape sequences.
    Ansi,
    /// Without escape sequences.
    Never,
}

impl ColorMode {
    /// Selects colours for a terminal that shows them, unless `NO_COLOR` is set
    /// (<https://no-color.org>).
    pub(crate) fn of_stdout() -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        if std::io::stdout().is_terminal() && !no_color && !is_dumb_terminal() {
            Self::Ansi
        } else {
            Self::Never
        }
    }

    /// Appends a text in its colour.
    pub(crate) fn paint(self, out: &mut String, paint: Paint, text: &str) {
        if self == Self::Never || paint == Paint::Plain || text.is_empty() {
            out.push_str(text);
        } else {
            let style = paint.style();
            out.push_str(&format!("{style}{text}{style:#}"));
        }
    }

    /// Returns a text in its colour.
    pub(crate) fn painted(self, paint: Paint, text: &str) -> String {
        let mut out = String::new();
        self.paint(&mut out, paint, text);
        out
    }
}

impl Paint {
    const fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Dim => Style::new().dimmed(),
            Self::Bold => Style::new().bold(),
            Self::Tool => AnsiColor::Cyan.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Ask => AnsiColor::Yellow.on_default(),
        }
    }
}

/// Whether `TERM` names no terminal that understands control characters.
pub(crate) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}
