//! Options for the form of the output, which commands that print a transcript share.

use clap::{Args, ValueEnum};

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The dialogue, for people.
    #[default]
    Text,
    /// One JSON object a line for each change of the transcript.
    Changes,
    /// The whole transcript as JSON, at the end.
    Transcript,
    /// The same in schema 1: `--output transcript --schema 1`.
    #[value(skip)]
    TranscriptSchema1,
}

/// The option that selects the form of the output.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgs {
    /// Output form: text for people, changes (one JSON object a line, as they come), or transcript
    /// (one JSON document at the end).
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true
    )]
    output: Output,
    /// Version of the transcript's JSON: 2, or 1, which has fewer fields.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=2)
    )]
    schema: u32,
}

impl OutputArgs {
    /// Selects a form in the current schema.
    #[cfg(feature = "fleet")]
    pub(crate) const fn of(output: Output) -> Self {
        Self { output, schema: 2 }
    }

    /// The form of the output in its schema.
    pub(crate) const fn form(&self) -> Output {
        match (self.output, self.schema) {
            (Output::Transcript, 1) => Output::TranscriptSchema1,
            (output, _) => output,
        }
    }
}
