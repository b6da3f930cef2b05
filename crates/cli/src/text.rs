//! Untrusted text made safe for a terminal, and cut to a width in columns.

use std::fmt;
use std::mem;

use unicode_width::UnicodeWidthChar as _;
use vte::{Parser, Perform};

/// Columns that a tab takes in a truncated line.
const TAB_WIDTH: usize = 4;

/// Removes escape sequences (ECMA-48), control characters except `\n` and `\t`, and characters
/// that change the direction of text.
///
/// Text may arrive in pieces cut anywhere. A line end terminates an open sequence, so an
/// unterminated one hides at most the rest of its line. Text after a C1 control character is kept:
/// without that character it is plain text.
#[derive(Default)]
pub(crate) struct Sanitizer(Parser);

impl Sanitizer {
    /// Appends the visible characters of the next piece to `out`.
    pub(crate) fn push(&mut self, piece: &str, out: &mut String) {
        for line in piece.split_inclusive('\n') {
            let body = line.strip_suffix('\n').unwrap_or(line);
            let mut visible = Visible(|c| out.push(c));
            self.0.advance(&mut visible, body.as_bytes());
            if body.len() < line.len() {
                *self = Self::default();
                out.push('\n');
            }
        }
    }

    /// Takes one character and returns it if it is visible.
    fn filter(&mut self, c: char) -> Option<char> {
        if c == '\n' {
            *self = Self::default();
            return Some(c);
        }
        let mut visible = None;
        let bytes = &mut [0; 4];
        self.0.advance(
            &mut Visible(|c| visible = Some(c)),
            c.encode_utf8(bytes).as_bytes(),
        );
        visible
    }
}

impl fmt::Debug for Sanitizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sanitizer")
    }
}

/// Passes visible characters on and ignores everything else that the parser reports.
struct Visible<F>(F);

impl<F: FnMut(char)> Perform for Visible<F> {
    fn print(&mut self, c: char) {
        let changes_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if !changes_direction && !c.is_control() {
            (self.0)(c);
        }
    }

    fn execute(&mut self, byte: u8) {
        if byte == b'\t' {
            (self.0)('\t');
        }
    }
}

/// Escapes the characters of a JSON document that a terminal may act on: C1 control characters, DEL, line
/// separators, and characters that change the direction of text. The values stay the same.
pub(crate) fn escape_json(document: String) -> String {
    let is_hidden = |c: char| {
        matches!(c,
            '\u{7f}'..='\u{9f}'
            | '\u{61c}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
    };
    if !document.contains(is_hidden) {
        return document;
    }
    let mut escaped = String::with_capacity(document.len() + 64);
    for c in document.chars() {
        if is_hidden(c) {
            // They occur in strings only, and none is outside the basic plane.
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Sanitizes a whole text.
pub(crate) fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Sanitizer::default().push(text, &mut out);
    out
}

/// Sanitizes a text and puts it on one line of at most `width` columns: white space becomes one
/// space, and `…` replaces what does not fit. Reads no more of the text than it returns.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let mut sanitizer = Sanitizer::default();
    let mut line = FittedLine::new(width);
    let mut has_space = false;
    for c in text.chars().filter_map(|c| sanitizer.filter(c)) {
        if c.is_whitespace() {
            has_space = true;
            continue;
        }
        if mem::take(&mut has_space) && !line.text.is_empty() && !line.push(' ') {
            break;
        }
        if !line.push(c) {
            break;
        }
    }
    line.text
}

/// Sanitizes a line and truncates it to `width` columns; tabs become spaces.
pub(crate) fn truncate(line: &str, width: usize) -> String {
    let mut sanitizer = Sanitizer::default();
    let mut out = FittedLine::new(width);
    for c in line.chars().filter_map(|c| sanitizer.filter(c)) {
        let fits = match c {
            '\t' => (0..TAB_WIDTH).all(|_| out.push(' ')),
            _ => out.push(c),
        };
        if !fits {
            break;
        }
    }
    out.text
}

/// Returns the number of columns that a text takes.
pub(crate) fn text_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Returns the number of columns that a character takes; 0 for control characters.
pub(crate) fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// A line that is filled up to a width.
struct FittedLine {
    text: String,
    used: usize,
    width: usize,
}

impl FittedLine {
    const fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            used: 0,
            width,
        }
    }

    /// Appends a character. If it does not fit, ends the line with `…` and returns `false`.
    fn push(&mut self, c: char) -> bool {
        let fits = self.used + char_width(c) <= self.width;
        if fits {
            self.text.push(c);
            self.used += char_width(c);
        } else {
            while self.used >= self.width.max(1) {
                let Some(last) = self.text.pop() else { break };
                self.used -= char_width(last);
            }
            self.text.truncate(self.text.trim_end().len());
            self.text.push('…');
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTRUSTED: [(&str, &str); 13] = [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\x1b[31;1mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("a\u{9b}2Jb", "a2Jb"),
        ("a\u{9d}0;t\u{9c}b", "a0;tb"),
        ("a\rb\x08c\x7fd\x00e", "abcde"),
        ("a\x1b(Bb\x1b7c\x1bcd", "abcd"),
        ("a\x1b]unterminated\nb", "a\nb"),
        ("a\x1b[12\nb", "a\nb"),
        ("a\x1b[12émb", "ab"),
        ("a\u{202e}b\u{2066}c", "abc"),
        ("a\x1b\x1b[1mb", "ab"),
    ];

    #[test]
    fn escape_sequences_and_controls_are_removed() {
        for (text, expected) in UNTRUSTED {
            assert_eq!(sanitize(text), expected, "{text:?}");
        }
    }

    #[test]
    fn json_has_no_characters_that_a_terminal_acts_on() {
        let text = "a\u{9b}2J\u{202e}b\u{2066}\u{7f}\u{2028}\u{200f}é漢\n";
        let json = serde_json::to_string(text).unwrap();
        let escaped = escape_json(json.clone());
        assert_eq!(sanitize(&escaped), escaped);
        assert!(escaped.contains("é漢"), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        let plain = serde_json::to_string("plain é").unwrap();
        assert_eq!(escape_json(plain.clone()), plain);
    }

    #[test]
    fn text_split_at_every_character_is_sanitized_alike() {
        for (text, expected) in UNTRUSTED {
            let (mut sanitizer, mut out) = (Sanitizer::default(), String::new());
            for c in text.chars() {
                sanitizer.push(&c.to_string(), &mut out);
            }
            assert_eq!(out, expected, "{text:?}");
        }
    }

    #[test]
    fn lines_are_truncated_by_columns() {
        assert_eq!(one_line("  a\n\n b\t c ", 10), "a b c");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("漢字漢字", 5), "漢字…");
        assert_eq!(one_line("abc def", 4), "abc…");
        assert_eq!(truncate("\tx", 10), "    x");
        assert_eq!(truncate("\x1b[2Jabc", 2), "a…");
        assert!(text_width(&one_line(&"字".repeat(90), 31)) <= 31);
    }
}
