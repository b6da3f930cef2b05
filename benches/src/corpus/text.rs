//! Prose, code and escapes.

use super::rng::Rng;

const WORDS: &[&str] = &[
    "the", "parser", "reads", "one", "line", "and", "keeps", "its", "bytes", "in", "place", "a",
    "session", "that", "ends", "leaves", "nothing", "behind", "when", "test", "fails", "we",
    "look", "at", "first", "byte", "of", "every", "window", "then", "function", "returns", "an",
    "error", "with", "offset", "where", "it", "stood", "change", "is", "small", "so", "build",
    "stays", "green", "now", "run", "checks", "again", "before", "writing", "summary", "to",
    "file",
];

const CODE: &[&str] = &[
    "fn main() -> Result<(), Error> {",
    "    let mut total = 0;",
    "    for line in reader.lines() {",
    "\tif count > limit {",
    "\t\treturn Err(Error::TooLong(count));",
    "    }",
    "}",
    "    total += line?.len();",
    "    let path = root.join(\"src\");",
    "\tassert_eq!(left, right);",
    "    // Lines end at LF only.",
    "    report(total, &mut out)?;",
    "    match self.state {",
    "        State::Open => self.close(),",
    "        State::Done => return,",
    "\t\tself.pending.clear();",
    "pub struct Window<'a> {",
    "    bytes: &'a [u8],",
    "    offset: u64,",
    "    config.get(\"name\").unwrap();",
    "        .map(|item| item.size)",
    "\t.collect::<Vec<_>>();",
    "#[derive(Clone, Debug)]",
    "use std::collections::HashMap;",
    "        let rest = input.get(at..);",
    "    self.offset += line.len() as u64;",
];

/// Returns prose of about `length` bytes.
pub(super) fn prose(rng: &mut Rng, length: usize) -> String {
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        text.push_str(rng.pick(WORDS));
        text.push_str(match rng.range(0, 1000) {
            0..7 => " — ",
            7..52 => ".\n\n",
            52..92 => ", ",
            92..102 => " `x` ",
            102..130 => " \"so\" ",
            130..132 => "\u{200d} ",
            _ => " ",
        });
    }
    text
}

/// Returns code of about `length` bytes, ended by LF.
pub(super) fn code(rng: &mut Rng, length: usize) -> String {
    let mut text = String::with_capacity(length + 64);
    while text.len() < length {
        text.push_str(rng.pick(CODE));
        text.push('\n');
    }
    text
}

/// Returns code with line numbers, as the agent's `Read` shows it to the model.
pub(super) fn numbered(code: &str) -> String {
    let mut text = String::with_capacity(code.len() * 5 / 4);
    for (number, line) in (1..).zip(code.lines()) {
        text.push_str(&format!("{number:>6}→{line}\n"));
    }
    text
}

/// Appends `text` as a JSON string in the agent's style: control characters escaped, all others
/// unchanged.
pub(super) fn quote(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\u{200d}' | '\u{2028}' | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Returns `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 17 / 16 + 2);
    quote(&mut out, text);
    out
}
