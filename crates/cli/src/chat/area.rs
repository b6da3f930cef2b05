//! Layout of the lines below the transcript: the agent's activity, queued prompts, an open question, and the prompt.

use crate::style::{ColorMode, Paint};
use crate::text::{char_width, text_width, truncate};

/// Columns that a tab takes in the prompt.
const TAB: &str = "    ";

/// The least number of rows that the prompt has.
const MIN_PROMPT_ROWS: usize = 3;

/// Content of the area below the transcript.
#[derive(Clone, Debug, Default)]
pub(super) struct AreaContent<'a> {
    /// Lines above the prompt, each on one row; the first are dropped where there is no room.
    pub(super) lines: Vec<(Paint, String)>,
    /// Text in front of the prompt.
    pub(super) mark: (Paint, &'a str),
    /// The text of the prompt, and the byte position of the cursor in it.
    pub(super) prompt: (&'a str, usize),
    /// A line below the prompt; empty for none.
    pub(super) footer: String,
}

/// Rows that are drawn, and where the cursor is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) rows: Vec<Row>,
    /// Row and column of the cursor.
    pub(super) cursor: (usize, usize),
}

/// One row: its text with colours, and its width in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) width: usize,
}

impl Row {
    fn painted(colors: ColorMode, paint: Paint, text: &str, width: usize) -> Self {
        let text = truncate(text, width);
        Self {
            width: text_width(&text),
            text: colors.painted(paint, &text),
        }
    }
}

/// Lays the content out in a terminal of this size. No row is wider than the terminal less one column, since a
/// terminal wraps the cursor after a full row in different ways.
pub(super) fn layout(
    content: &AreaContent<'_>,
    colors: ColorMode,
    columns: usize,
    rows: usize,
) -> Area {
    let width = columns.saturating_sub(1).max(1);
    let (prompt, cursor) = prompt_rows(content, colors, width);
    let footer_rows = usize::from(!content.footer.is_empty());
    // One row is left to the transcript.
    let room = rows.saturating_sub(1 + footer_rows).max(1);
    let shown = prompt.len().min(room.max(MIN_PROMPT_ROWS).min(room));
    let first = visible_from(cursor.0, prompt.len(), shown);
    let lines = content.lines.len().min(room - shown);
    let skipped = content.lines.len() - lines;
    let mut area = Area::default();
    for (paint, line) in content.lines.iter().skip(skipped) {
        area.rows.push(Row::painted(colors, *paint, line, width));
    }
    area.cursor = (area.rows.len() + cursor.0 - first, cursor.1);
    area.rows.extend(prompt.into_iter().skip(first).take(shown));
    if footer_rows > 0 {
        let footer = Row::painted(colors, Paint::Dim, &content.footer, width);
        area.rows.push(footer);
    }
    area
}

/// Returns the first row to show, so that the cursor's is among `shown` rows.
fn visible_from(cursor: usize, total: usize, shown: usize) -> usize {
    (cursor + 1).saturating_sub(shown).min(total - shown)
}

/// Returns the rows of the prompt, wrapped, and the row and column of the cursor.
fn prompt_rows(
    content: &AreaContent<'_>,
    colors: ColorMode,
    width: usize,
) -> (Vec<Row>, (usize, usize)) {
    let (paint, mark) = content.mark;
    let mark = truncate(mark, width / 2);
    let indent = text_width(&mark);
    let mut row = Row {
        text: colors.painted(paint, &mark),
        width: indent,
    };
    let (mut rows, mut cursor) = (Vec::new(), (0, indent));
    let (text, at) = content.prompt;
    for (position, c) in text.char_indices() {
        let shown = shown(c);
        let next = text_width(&shown);
        let is_full = c == '\n' || row.width + next > width;
        if position == at && c == '\n' {
            cursor = (rows.len(), row.width);
        }
        if is_full {
            rows.push(std::mem::replace(&mut row, indented(indent)));
        }
        if position == at && c != '\n' {
            cursor = (rows.len(), row.width);
        }
        if c != '\n' {
            row.text.push_str(&shown);
            row.width += next;
        }
    }
    if at >= text.len() {
        if row.width >= width {
            rows.push(std::mem::replace(&mut row, indented(indent)));
        }
        cursor = (rows.len(), row.width);
    }
    rows.push(row);
    (rows, cursor)
}

fn indented(columns: usize) -> Row {
    Row {
        text: " ".repeat(columns),
        width: columns,
    }
}

/// Returns the visible form of a character of the prompt. Control characters are replaced.
fn shown(c: char) -> String {
    match c {
        '\t' => TAB.to_owned(),
        c if c.is_control() => char::REPLACEMENT_CHARACTER.to_string(),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER.to_string()
        }
        c if char_width(c) == 0 => c.to_string(),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(lines: &[&str], prompt: &str, at: usize, columns: usize, rows: usize) -> Area {
        let content = AreaContent {
            lines: lines
                .iter()
                .map(|it| (Paint::Plain, (*it).to_owned()))
                .collect(),
            mark: (Paint::Plain, "> "),
            prompt: (prompt, at),
            footer: "foot".to_owned(),
        };
        layout(&content, ColorMode::Never, columns, rows)
    }

    fn texts(area: &Area) -> Vec<&str> {
        area.rows.iter().map(|it| it.text.as_str()).collect()
    }

    #[test]
    fn prompt_wraps_and_the_cursor_follows() {
        let shown = area(&["busy"], "abcdefgh\nx漢字", 0, 8, 20);
        assert_eq!(
            texts(&shown),
            ["busy", "> abcde", "  fgh", "  x漢字", "foot"]
        );
        assert_eq!(shown.cursor, (1, 2));
        let end = area(&[], "abcde", 5, 8, 20);
        assert_eq!(
            (texts(&end), end.cursor),
            (vec!["> abcde", "  ", "foot"], (1, 2))
        );
        let newline = area(&[], "ab\n", 2, 8, 20);
        assert_eq!(newline.cursor, (0, 4));
        let after = area(&[], "ab\n", 3, 8, 20);
        assert_eq!(after.cursor, (1, 2));
    }

    #[test]
    fn rows_fit_the_terminal() {
        for columns in [1, 2, 10, 40] {
            for rows in [1, 2, 5, 24] {
                let lines = ["a long line that is cut"; 9];
                let text = "word ".repeat(30);
                for at in 0..=text.len() {
                    let shown = area(&lines, &text, at, columns, rows);
                    assert!(
                        shown.rows.len() <= rows.max(3),
                        "{columns} {rows} {shown:?}"
                    );
                    assert!(shown.cursor.0 < shown.rows.len());
                }
            }
        }
    }

    #[test]
    fn escape_sequences_are_not_drawn() {
        let shown = area(&["\x1b[2Jx"], "a\x1b[31mb\t", 0, 40, 20);
        assert_eq!(texts(&shown), ["x", "> a\u{fffd}[31mb    ", "foot"]);
    }
}
