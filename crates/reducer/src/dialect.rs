//! Dialects: how the lines of an agent become a transcript.
//!
//! A [`Dialect`] is pure code: it takes the agent's lines one by one, and the lines that the host
//! wrote, and writes to a [`Fold`]. It has state of its own, such as the requests that are not
//! answered yet, but no clock and no input or output. What it writes is neutral, so that a reader
//! of the transcript need not know the agent.
//!
//! Claude Code's stream-json, and Qwen Code's variant of it, are folded without this interface, by
//! the same primitives.
//!
//! # Examples
//!
//! | example | types and functions |
//! |---|---|
//! | [Choosing a dialect](#choosing-a-dialect) | [`DialectName`], [`UnknownDialect`], [`recognize`], [`unknown_members`] |
//! | [Writing a dialect](#writing-a-dialect) | [`Dialect`], [`Fold`], [`Place`], [`TextKind`], [`Prompt`], [`CallUpdate`], [`CallEnd`], [`Request`], [`TurnEnd`] |
//!
//! ## Choosing a dialect
//!
//! ```
//! use bowline_jsonl::Framer;
//! use bowline_reducer::dialect::{DialectName, recognize, unknown_members};
//! use bowline_reducer::{Meta, Phase, Transcript};
//!
//! let stream = br#"{"type":"init","timestamp":"2026-11-23T05:24:37.290Z","session_id":"s","model":"m"}
//! {"type":"message","timestamp":"2026-11-23T05:24:37.322Z","role":"assistant","content":"Ahoy","delta":true}
//! {"type":"result","timestamp":"2026-11-23T05:24:37.380Z","status":"success"}
//! "#;
//! let mut framer = Framer::default();
//! framer.push(bytes::Bytes::from_static(stream));
//! let mut transcript = Transcript::with_dialect(DialectName::GeminiStreamJson);
//! while let Some(frame) = framer.next_frame() {
//!     for item in frame.items() {
//!         transcript.apply(&item, Meta { at_ms: 0 });
//!     }
//! }
//! assert_eq!(transcript.status().phase, Phase::Idle);
//! let first = std::str::from_utf8(stream).unwrap().lines().next().unwrap();
//! let first = bowline_jsonl::RawJson::parse(first).unwrap();
//! assert_eq!(recognize([first]), Some(DialectName::GeminiStreamJson));
//! // Each member of this line is read.
//! assert_eq!(unknown_members(DialectName::GeminiStreamJson, first), Some(Vec::new()));
//! // A name that a user gives.
//! assert_eq!("codex".parse(), Ok(DialectName::Codex));
//! let error = "aider".parse::<DialectName>().unwrap_err(); // an `UnknownDialect`
//! assert!(error.to_string().starts_with("unknown dialect"));
//! ```
//!
//! ## Writing a dialect
//!
//! The dialects of this crate are written like this one, of an agent whose lines have a `say`, a `run` with
//! its `output`, an `ask` or a `done`.
//!
//! ```
//! use bowline_jsonl::RawJson;
//! use bowline_reducer::dialect::{CallEnd, CallUpdate, Dialect, Fold, Place, Prompt, Request, TextKind, TurnEnd};
//! use bowline_reducer::model::RequestKind;
//! use bowline_reducer::{CallState, Outcome};
//!
//! #[derive(Clone, Debug)]
//! struct Lines;
//!
//! impl Dialect for Lines {
//!     fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
//!         let thread = fold.main();
//!         let member = |name| line.get(name).and_then(RawJson::as_str);
//!         if let Some(text) = member("say") {
//!             fold.append(Place { thread, message: None, part: None }, TextKind::Text, text);
//!         } else if let Some(command) = member("run") {
//!             let command = command.decode();
//!             let update = CallUpdate { title: Some(&command), ..CallUpdate::default() };
//!             let call = fold.upsert_call(thread, "the only one", update);
//!             let output = member("output").map(|it| it.decode());
//!             let end = CallEnd { state: CallState::Succeeded, text: output.as_deref(), raw: None };
//!             fold.end_call(call, end);
//!         } else if let Some(tool) = member("ask") {
//!             let request = Request {
//!                 kind: RequestKind::Permission,
//!                 thread,
//!                 call: None,
//!                 tool_name: &tool.decode(),
//!                 options: Vec::new(),
//!                 questions: Vec::new(),
//!                 url: None,
//!                 rule: None,
//!                 raw: line,
//!             };
//!             fold.open_request("the only one", request);
//!         } else if member("done").is_some() {
//!             fold.end_turn(thread, TurnEnd { outcome: Outcome::Completed, ..TurnEnd::default() });
//!         }
//!     }
//!
//!     fn input(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
//!         if let Some(text) = line.as_str() {
//!             fold.prompt(fold.main(), Prompt { text: &text.decode(), ..Prompt::default() });
//!         }
//!     }
//!
//!     fn copy(&self) -> Box<dyn Dialect> {
//!         Box::new(self.clone())
//!     }
//! }
//! ```

mod acp;
mod codex;
mod codex_exec;
mod copilot;
mod gemini;
mod opencode;
mod recognize;

use acp::Acp;
use codex::Codex;
use codex_exec::CodexExec;
use copilot::CopilotJson;
use gemini::GeminiStreamJson;
use opencode::OpencodeRunJson;

use bowline_jsonl::RawJson;

use crate::segment::Window;
use crate::transcript::Transcript;

pub use crate::dialect_name::{DialectName, UnknownDialect};
pub use crate::fold::primitives::{CallEnd, CallUpdate, Place, Prompt, Request, TextKind, TurnEnd};
pub use crate::transcript::{Dialect, Fold};
pub use recognize::recognize;

/// Returns the fold of a dialect; `None` for Claude Code's own.
// A new dialect is added here.
fn fold_of(name: DialectName) -> Option<Box<dyn Dialect>> {
    match name {
        DialectName::Claude | DialectName::Qwen => None,
        DialectName::Codex => Some(Box::new(Codex::default())),
        DialectName::Acp => Some(Box::new(Acp::default())),
        DialectName::GeminiStreamJson => Some(Box::new(GeminiStreamJson::default())),
        DialectName::CodexExec => Some(Box::new(CodexExec::default())),
        DialectName::CopilotJson => Some(Box::new(CopilotJson)),
        DialectName::OpencodeRunJson => Some(Box::new(OpencodeRunJson)),
    }
}

/// Returns the members of a line of output that the fold of its dialect does not read, as JSON pointers (RFC 6901) in the
/// order of the line. The contents of a value that is kept as JSON, such as the input of a tool, are not looked at.
///
/// Returns `None` for a line that is kept as a whole, such as one of an unknown type, and for each line of the dialects
/// that `bowline_jsonl` parses, which has functions of its own for them.
#[must_use]
pub fn unknown_members(dialect: DialectName, line: RawJson<'_>) -> Option<Vec<String>> {
    let read = match dialect {
        DialectName::GeminiStreamJson => gemini::read_members(line),
        DialectName::CodexExec => codex_exec::read_members(line),
        DialectName::CopilotJson => copilot::read_members(line),
        DialectName::OpencodeRunJson => opencode::read_members(line),
        DialectName::Claude | DialectName::Qwen | DialectName::Codex | DialectName::Acp => None,
    };
    Some(line.unknown_members(&read?))
}

impl Transcript {
    /// Returns an empty transcript of a stream in this dialect.
    #[must_use]
    pub fn with_dialect(name: DialectName) -> Self {
        let mut transcript = Self::new();
        transcript.dialect_name = name;
        transcript.dialect = fold_of(name);
        transcript
    }

    /// Returns an empty transcript of a stream in this dialect that keeps no more than `window`.
    #[must_use]
    pub fn with_dialect_and_window(name: DialectName, window: Window) -> Self {
        Self::with_dialect(name).windowed(window)
    }

    /// Sets the dialect of a stream whose first lines were no events, or of which nothing was applied yet.
    pub fn set_dialect(&mut self, name: DialectName) {
        self.dialect_name = name;
        self.dialect = fold_of(name);
        self.touch_session();
    }

    /// Returns the dialect of the stream.
    #[must_use]
    pub const fn dialect(&self) -> DialectName {
        self.dialect_name
    }
}
