//! Text that cannot play tricks on a terminal.

/// Takes out escape sequences (ECMA-48) and every control character but line ends and tabs. What
/// stands behind a control character of one code (C1) stays: without it that is plain text. State
/// carries over pieces, so that a sequence may be cut anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cleaner(State);

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// Inside a control sequence, up to its final byte.
    Sequence,
    /// Inside a command string, up to its terminator.
    Command,
}

impl Cleaner {
    /// Appends what is left of the next piece.
    pub(crate) fn push(&mut self, text: &str, out: &mut String) {
        out.extend(text.chars().filter_map(|c| self.step(c)));
    }

    fn step(&mut self, c: char) -> Option<char> {
        // No sequence goes beyond a line, so that none can hide the rest of a text.
        if c == '\n' {
            self.0 = State::Text;
            return Some(c);
        }
        let (state, kept) = match self.0 {
            State::Text => text(c),
            State::Escape => escape(c),
            State::Sequence => sequence(c),
            State::Command => command(c),
        };
        self.0 = state;
        kept
    }
}

fn text(c: char) -> (State, Option<char>) {
    match c {
        '\x1b' => (State::Escape, None),
        _ if is_trick(c) => (State::Text, None),
        _ => (State::Text, Some(c)),
    }
}

fn escape(c: char) -> (State, Option<char>) {
    match c {
        '[' => (State::Sequence, None),
        ']' | 'P' | 'X' | '^' | '_' => (State::Command, None),
        ' '..='/' => (State::Escape, None),
        '0'..='~' => (State::Text, None),
        _ => text(c),
    }
}

fn sequence(c: char) -> (State, Option<char>) {
    match c {
        ' '..='?' => (State::Sequence, None),
        '@'..='~' => (State::Text, None),
        _ => text(c),
    }
}

const fn command(c: char) -> (State, Option<char>) {
    match c {
        '\x07' => (State::Text, None),
        '\x1b' => (State::Escape, None),
        _ => (State::Command, None),
    }
}

/// Control characters, and those that change the direction of what stands behind them.
fn is_trick(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\t')
}

/// A whole text without tricks.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Cleaner::default().push(text, &mut out);
    out
}

/// A text on one line of at most `width` columns: white space becomes one space, and what does not
/// fit becomes `…`. Costs no more than what is shown.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let mut cleaner = Cleaner::default();
    let chars = text.chars().filter_map(|c| cleaner.step(c));
    let mut line = Line::new(width);
    let mut space = false;
    for c in chars {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if std::mem::take(&mut space) && !line.is_empty() && !line.push(' ') {
            break;
        }
        if !line.push(c) {
            break;
        }
    }
    line.text
}

/// The beginning of a line, at most `width` columns wide; tabs become spaces.
pub(crate) fn cut(line: &str, width: usize) -> String {
    let mut cleaner = Cleaner::default();
    let chars = line.chars().filter_map(|c| cleaner.step(c));
    let mut out = Line::new(width);
    for c in chars {
        let fits = match c {
            '\t' => (0..TAB).all(|_| out.push(' ')),
            _ => out.push(c),
        };
        if !fits {
            break;
        }
    }
    out.text
}

/// Columns that a tab stands for in a line that is cut.
const TAB: usize = 4;

/// A line that grows up to a width.
struct Line {
    text: String,
    used: usize,
    width: usize,
}

impl Line {
    const fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            used: 0,
            width,
        }
    }

    const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether the character fits; when it does not, the line ends in `…`.
    fn push(&mut self, c: char) -> bool {
        let fits = self.used + wide(c) <= self.width;
        if fits {
            self.text.push(c);
            self.used += wide(c);
        } else {
            while self.used >= self.width.max(1) {
                let Some(last) = self.text.pop() else { break };
                self.used -= wide(last);
            }
            self.text.truncate(self.text.trim_end().len());
            self.text.push('…');
        }
        fits
    }
}

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(wide).sum()
}

/// Columns of one character, by the blocks that hold East Asian wide characters and emoji (Unicode
/// annex 11) and those that hold marks without a width of their own.
pub(crate) const fn wide(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRICKS: [(&str, &str); 12] = [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\x1b[31;1mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("a\u{9b}2Jb", "a2Jb"),
        ("a\u{9d}0;t\u{9c}b", "a0;tb"),
        ("a\rb\x08c\x7fd\x00e", "abcde"),
        ("a\x1b(Bb\x1b7c\x1bcd", "abcd"),
        ("a\x1b]never ended\nb", "a\nb"),
        ("a\x1b[12é", "aé"),
        ("a\u{202e}b\u{2066}c", "abc"),
        ("a\x1b\x1b[1mb", "ab"),
    ];

    #[test]
    fn sequences_and_controls_are_taken_out() {
        for (text, wanted) in TRICKS {
            assert_eq!(clean(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_text_may_be_cut_anywhere() {
        for (text, wanted) in TRICKS {
            let (mut cleaner, mut out) = (Cleaner::default(), String::new());
            for c in text.chars() {
                cleaner.push(&c.to_string(), &mut out);
            }
            assert_eq!(out, wanted, "{text:?}");
        }
    }

    #[test]
    fn lines_are_cut_by_columns() {
        assert_eq!(one_line("  a\n\n b\t c ", 10), "a b c");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("漢字漢字", 5), "漢字…");
        assert_eq!(one_line("abc def", 4), "abc…");
        assert_eq!(cut("\tx", 10), "    x");
        assert_eq!(cut("\x1b[2Jabc", 2), "a…");
        assert!(columns(&one_line(&"字".repeat(90), 31)) <= 31);
    }
}
