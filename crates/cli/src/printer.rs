//! What becomes of changes on standard output: text, JSON lines, or one JSON document at the end.

use bowline_reducer::{Changes, Cursor, Transcript};

use crate::args::Output;
use crate::screen::width;
use crate::view::{Renderer, Style};

/// Reads a transcript's changes and makes output of them. It remembers how far it has read.
#[derive(Debug)]
pub(crate) struct Printer {
    cursor: Cursor,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Text(Box<Renderer>),
    Changes,
    Transcript,
}

impl Printer {
    /// For a recording.
    pub(crate) fn new(output: Output) -> Self {
        Self::with(output, Renderer::new)
    }

    /// For a session that runs.
    pub(crate) fn live(output: Output) -> Self {
        Self::with(output, Renderer::live)
    }

    fn with(output: Output, renderer: fn(Style) -> Renderer) -> Self {
        let form = match output {
            Output::Text => Form::Text(Box::new(renderer(Style::of_stdout()))),
            Output::Changes => Form::Changes,
            Output::Transcript => Form::Transcript,
        };
        let cursor = Cursor::default();
        Self { cursor, form }
    }

    /// Up to where it has read.
    pub(crate) const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The renderer, if people read along.
    pub(crate) fn text(&mut self) -> Option<&mut Renderer> {
        match &mut self.form {
            Form::Text(renderer) => Some(renderer),
            _ => None,
        }
    }

    /// What is to be printed now.
    pub(crate) fn news(&mut self, changes: &Changes<'_>) -> String {
        self.cursor = changes.cursor();
        match &mut self.form {
            Form::Text(renderer) => {
                if let Some(columns) = width() {
                    renderer.set_width(columns);
                }
                renderer.render(changes)
            }
            Form::Changes => lines(changes),
            Form::Transcript => String::new(),
        }
    }

    /// What is to be printed when nothing more comes.
    pub(crate) fn last(&mut self, transcript: &Transcript) -> String {
        match &mut self.form {
            Form::Text(renderer) => renderer.break_line(),
            Form::Changes => String::new(),
            Form::Transcript => document(transcript),
        }
    }
}

/// Each change as one line of JSON.
fn lines(changes: &Changes<'_>) -> String {
    let mut out = String::new();
    for change in changes.iter() {
        let line = serde_json::to_string(&change);
        out.push_str(&line.expect("a change holds strings, numbers and valid JSON"));
        out.push('\n');
    }
    out
}

/// A transcript as JSON over several lines.
fn document(transcript: &Transcript) -> String {
    let json = serde_json::to_string_pretty(transcript);
    json.expect("a transcript holds strings, numbers and valid JSON") + "\n"
}
