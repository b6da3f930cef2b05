//! JSON values as the agent wrote them.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::arena::{Text, TextRef};
use crate::record::ThreadId;
use crate::transcript::Transcript;

/// A JSON value as the agent wrote it; lone surrogates are replaced.
///
/// It serializes as the value itself. A value that would nest the transcript's JSON deeper than 120
/// levels serializes as a string of its JSON text, since common parsers stop at 128. See
/// [`ToolCall::input`](crate::ToolCall::input).
#[derive(Clone, Copy)]
pub struct Raw<'a> {
    text: TextRef<'a>,
    /// Levels of arrays and objects around it in the transcript's JSON.
    outer: usize,
}

/// Deepest nesting of the transcript's JSON. `serde_json` and others stop at 128; the rest is for
/// what a host wraps around it.
const DEEPEST: usize = 120;

/// Levels of JSON that each sub-agent adds: the call, the sub-agent, its list.
const AGENT_LEVELS: usize = 3;

impl<'a> Raw<'a> {
    /// Returns the JSON text.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        self.text.to_cow()
    }

    /// Returns the length of the JSON text in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.text.len()
    }

    /// Returns whether there is no text.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text();
        if is_deeper(&text, DEEPEST.saturating_sub(self.outer)) {
            return serializer.serialize_str(&text);
        }
        let value: &RawValue = serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

/// Whether arrays and objects nest deeper than `levels`.
fn is_deeper(json: &str, levels: usize) -> bool {
    // Each level is opened and closed.
    if json.len() <= 2 * levels {
        return false;
    }
    let mut depth = 0;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth > levels {
            return true;
        }
    }
    false
}

/// Skips the rest of a string.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

impl Transcript {
    pub(crate) fn raw(&self, text: Text) -> Raw<'_> {
        let text = self.arena.text(text);
        Raw { text, outer: 0 }
    }

    /// A value in a thread, `levels` deep if that is the main one.
    pub(crate) fn raw_in(&self, thread: ThreadId, levels: usize, text: Text) -> Raw<'_> {
        let holder = |&thread: &ThreadId| {
            let call = self.threads[thread].call?;
            Some(self.calls[call].thread)
        };
        let agents = std::iter::successors(Some(thread), holder).count() - 1;
        let root = std::iter::successors(Some(thread), holder).last();
        let unheld = if root == Some(ThreadId::MAIN) { 0 } else { 2 };
        Raw {
            outer: levels + AGENT_LEVELS * agents + unheld,
            ..self.raw(text)
        }
    }
}
