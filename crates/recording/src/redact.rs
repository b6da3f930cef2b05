//! Removes secrets, and on request all content, from what an agent and its host wrote.
//!
//! Every replacement has the length of what it replaces, in bytes, so that offsets stay valid: a redacted
//! journal has the same records, and lines remain lines. JSON remains JSON.

mod content;
mod json;
mod secrets;

use std::collections::HashMap;
use std::ops::Range;

use bowline_jsonl::RawJson;

use self::content::{ContentPolicy, Mask, mask_text};
use self::json::{Decoded, StringAt, visit};
pub use self::secrets::Secrets;

/// What is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redaction {
    /// Secrets: tokens, keys, passwords and credentials.
    #[default]
    Secrets,
    /// Also prompts, answers, and the content of tools and files. What remains are types, ids, names of tools
    /// and models, states, numbers outside of tool input, and times.
    Content,
}

/// Redacts the bytes of streams in place.
#[derive(Debug)]
pub struct Redactor {
    redaction: Redaction,
    secrets: Secrets,
}

impl Redactor {
    /// Creates a redactor.
    #[must_use]
    pub const fn new(redaction: Redaction, secrets: Secrets) -> Self {
        Self { redaction, secrets }
    }

    /// Returns what is removed.
    #[must_use]
    pub const fn redaction(&self) -> Redaction {
        self.redaction
    }

    /// Redacts a stream of lines: those that are JSON by their members, others as text. The length stays.
    pub fn redact(&self, bytes: &mut [u8]) {
        let mut plan = Plan::default();
        let mut start = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.plan_line(line, start, &mut plan);
            start += line.len();
        }
        for streamed in plan.streamed.values() {
            for found in self.secrets.find(&streamed.text) {
                plan.masked.extend(streamed.raw(found));
            }
        }
        plan.apply(bytes);
    }

    /// Returns a text, such as a log, without secrets.
    #[must_use]
    pub fn redact_secrets(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let mut plan = Plan::default();
        self.plan_secrets(&bytes, 0, &mut plan);
        plan.apply(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn plan_line(&self, line: &[u8], start: usize, plan: &mut Plan) {
        let text = str::from_utf8(line).ok();
        let json = text.and_then(|text| RawJson::parse(text.trim()));
        // Digits may be a line of a private key.
        let is_whole = |json: &RawJson<'_>| json.text().starts_with(['{', '[']);
        let json = json.filter(|json| !plan.is_in_key || is_whole(json));
        let (Some(text), Some(json)) = (text, json) else {
            return self.plan_text(line, start, plan);
        };
        plan.is_in_key = false;
        // The value lies within the line, after the space that was trimmed.
        let start = start + (text.len() - text.trim_start().len());
        let ids = json::ids(json);
        let policy = ContentPolicy::default();
        visit(json.text(), &policy, &mut |string: &StringAt<'_>| {
            self.plan_string(string, start, ids, plan);
        });
    }

    fn plan_string(&self, string: &StringAt<'_>, start: usize, ids: u64, plan: &mut Plan) {
        let at = |range: Range<usize>| start + range.start..start + range.end;
        if self.redaction == Redaction::Content
            && let Some(mask) = string.mask
        {
            plan.content.push((at(string.raw.clone()), mask));
        }
        let Some(decoded) = &string.decoded else {
            return;
        };
        if string.is_value && Secrets::is_secret_name(string.key) && !decoded.text.is_empty() {
            return plan.masked.push(at(string.raw.clone()));
        }
        for found in self.secrets.find(&decoded.text) {
            plan.masked.push(at(decoded.raw(found, string.raw.start)));
        }
        if string.is_streamed {
            let streamed = plan.streamed.entry((ids, string.path)).or_default();
            streamed.push(decoded, start + string.raw.start);
        }
    }

    /// Plans a line that is not JSON: of a terminal, of standard error, or cut.
    fn plan_text(&self, line: &[u8], start: usize, plan: &mut Plan) {
        if self.redaction == Redaction::Content {
            // A cut line of JSON keeps its form, by which a reader knows that it is cut.
            let mask = match line.trim_ascii_start().first() {
                Some(b'{') => Mask::Json,
                _ => Mask::Terminal,
            };
            plan.content.push((start..start + line.len(), mask));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if plan.is_in_key && secrets::is_key_line(line) {
            plan.masked.push(start..start + line.len());
            plan.is_in_key = !secrets::is_key_end(line);
        } else {
            self.plan_secrets(line, start, plan);
            plan.is_in_key = secrets::begins_key(line);
        }
    }

    fn plan_secrets(&self, line: &[u8], start: usize, plan: &mut Plan) {
        // Latin-1, so that each byte is one character and offsets can be converted.
        let text: String = line.iter().map(|byte| char::from(*byte)).collect();
        let mut offsets = Vec::with_capacity(text.len() + 1);
        for (number, char) in text.chars().enumerate() {
            offsets.extend(std::iter::repeat_n(start + number, char.len_utf8()));
        }
        offsets.push(start + line.len());
        for found in self.secrets.find(&text) {
            plan.masked.push(offsets[found.start]..offsets[found.end]);
        }
    }
}

/// What is replaced in a stream.
#[derive(Debug, Default)]
struct Plan {
    masked: Vec<Range<usize>>,
    content: Vec<(Range<usize>, Mask)>,
    /// Texts that arrive in parts, by the ids of their lines and the path of the member.
    streamed: HashMap<(u64, u64), Streamed>,
    /// Whether a private key has begun on a line that is not JSON, and has not ended.
    is_in_key: bool,
}

impl Plan {
    fn apply(self, bytes: &mut [u8]) {
        for (range, mask) in self.content {
            mask_text(&mut bytes[range], mask);
        }
        for range in self.masked {
            bytes[range].fill(b'*');
        }
    }
}

/// A text that arrives in parts. A secret may be divided between them.
#[derive(Debug, Default)]
struct Streamed {
    text: String,
    /// Where each part begins in the text, its raw bytes in the stream, and the conversion of its offsets.
    parts: Vec<(usize, usize, Decoded<'static>)>,
}

impl Streamed {
    fn push(&mut self, part: &Decoded<'_>, at: usize) {
        if !part.text.is_empty() {
            self.parts.push((self.text.len(), at, part.to_owned()));
            self.text.push_str(&part.text);
        }
    }

    /// Returns the bytes of a range of the text in the stream.
    fn raw(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let first = self
            .parts
            .partition_point(|(from, ..)| *from <= range.start);
        let parts = self.parts[first.saturating_sub(1)..].iter();
        let end = range.end;
        parts
            .take_while(move |(from, ..)| *from < end)
            .map(move |(from, at, part)| {
                let begin = range.start.saturating_sub(*from);
                let length = part.text.len();
                part.raw(begin.min(length)..(end - from).min(length), *at)
            })
    }
}

#[cfg(test)]
mod tests;
