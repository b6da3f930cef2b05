//! Formats the changes of a transcript for standard output: text, JSON lines, or one document.

use bowline_reducer::{Changes, Cursor, Schema, Transcript};

use crate::args::Output;
use crate::stdio::terminal_width;
use crate::style::ColorMode;
use crate::text::escape_json;
use crate::view::Renderer;

/// Formats the changes of one transcript, from where it last stopped.
#[derive(Debug)]
pub(crate) struct Printer {
    cursor: Cursor,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Text(Box<Renderer>),
    Changes,
    Transcript(Schema),
}

impl Printer {
    /// Creates a printer for a recording.
    pub(crate) fn new(output: Output) -> Self {
        Self::with(output, Renderer::new)
    }

    /// Creates a printer for a running session, which measures durations.
    pub(crate) fn live(output: Output) -> Self {
        Self::with(output, Renderer::live)
    }

    fn with(output: Output, renderer: fn(ColorMode) -> Renderer) -> Self {
        let form = match output {
            Output::Text => Form::Text(Box::new(renderer(ColorMode::of_stdout()))),
            Output::Changes => Form::Changes,
            Output::Transcript => Form::Transcript(Schema::Two),
            Output::TranscriptSchema1 => Form::Transcript(Schema::One),
        };
        let cursor = Cursor::default();
        Self { cursor, form }
    }

    /// The position up to which changes have been formatted.
    pub(crate) const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The renderer of the text form.
    pub(crate) fn renderer(&mut self) -> Option<&mut Renderer> {
        match &mut self.form {
            Form::Text(renderer) => Some(renderer),
            _ => None,
        }
    }

    /// Formats changes, which start at the cursor.
    pub(crate) fn changes(&mut self, changes: &Changes<'_>) -> String {
        self.cursor = changes.cursor();
        match &mut self.form {
            Form::Text(renderer) => {
                if let Some(columns) = terminal_width() {
                    renderer.set_width(columns);
                }
                renderer.render(changes)
            }
            Form::Changes => json_lines(changes),
            Form::Transcript(_) => String::new(),
        }
    }

    /// Formats what comes after the last change.
    pub(crate) fn finish(&mut self, transcript: &Transcript) -> String {
        match &mut self.form {
            Form::Text(renderer) => renderer.end_line(),
            Form::Changes => String::new(),
            Form::Transcript(schema) => document(transcript, *schema),
        }
    }
}

fn json_lines(changes: &Changes<'_>) -> String {
    let mut out = String::new();
    for change in changes.iter() {
        let line = serde_json::to_string(&change);
        let line = line.expect("a change holds strings, numbers and valid JSON");
        out.push_str(&escape_json(line));
        out.push('\n');
    }
    out
}

fn document(transcript: &Transcript, schema: Schema) -> String {
    let json = serde_json::to_string_pretty(&transcript.json(schema));
    let json = json.expect("a transcript holds strings, numbers and valid JSON");
    escape_json(json) + "\n"
}
