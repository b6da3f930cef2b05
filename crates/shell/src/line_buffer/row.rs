//! The line that a program is writing.
//!
//! As long as it only adds to the end, the line is its bytes. The first time it writes elsewhere,
//! the line becomes cells with a pen each, and is written out anew when it is finished.

use super::pen::Pen;
use super::scanner::Token;
use super::{Line, LineLimits};

/// Cells that one sequence may touch or skip. Wider than any terminal; it keeps a sequence of a few
/// bytes from costing more than a few.
const REACH: usize = 512;

/// Bytes of text and SGR sequences kept for each character of the longest line.
const BYTES_PER_CHARACTER: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Cell {
    character: char,
    pen: Pen,
}

impl Cell {
    const fn blank(pen: Pen) -> Self {
        Self {
            character: ' ',
            pen,
        }
    }

    fn is_nothing(&self) -> bool {
        self.character == ' ' && self.pen == Pen::default()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    limits: LineLimits,
    /// The line while it only grows.
    text: String,
    /// The pen that `text` leaves behind.
    text_pen: Pen,
    /// The line once it was edited.
    cells: Option<Vec<Cell>>,
    /// Columns that the line has, with those over the limit.
    length: usize,
    cursor: usize,
    /// Where the terminal's row begins that the cursor is on.
    start: usize,
    pen_at_start: Pen,
    pen: Pen,
}

impl Row {
    pub(super) fn new(limits: LineLimits) -> Self {
        Self {
            limits,
            text: String::new(),
            text_pen: Pen::default(),
            cells: None,
            length: 0,
            cursor: 0,
            start: 0,
            pen_at_start: Pen::default(),
            pen: Pen::default(),
        }
    }

    pub(super) fn set_columns(&mut self, columns: Option<u16>) {
        self.limits.columns = columns;
    }

    /// Gives up the short cut for lines that only grow.
    #[cfg(test)]
    pub(super) fn edit_always(&mut self) {
        self.cells();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn apply(&mut self, token: Token<'_>) {
        match token {
            Token::Text(text) => self.write(text),
            Token::Control(b'\t') => self.write("\t"),
            Token::Control(b'\r') => self.cursor = self.start,
            Token::Control(b'\x08') => self.left(1),
            Token::Csi { body, last } if Pen::is_sgr(body, last) => self.sgr(body),
            Token::Csi { body, last } => self.csi(body, last),
            Token::Reset => self.pen = Pen::default(),
            Token::Control(_) => {}
        }
    }

    /// Takes the line out and begins the next one.
    pub(super) fn finish(&mut self) -> Line {
        let mut text = match self.cells.take() {
            Some(cells) => self.render(&cells),
            None => std::mem::take(&mut self.text),
        };
        let cut = self.length.saturating_sub(self.limits.max_line) as u64;
        self.text_pen.write_change(self.pen, &mut text);
        if cut > 0 {
            text.push_str(&format!(" [{cut} characters cut]"));
        }
        *self = Self {
            pen_at_start: self.pen,
            pen: self.pen,
            text_pen: self.pen,
            ..Self::new(self.limits)
        };
        Line { text, cut }
    }

    fn render(&mut self, cells: &[Cell]) -> String {
        // Blanks right of the cursor are what was wiped, not what was written.
        let is_whole = self.length <= self.limits.max_line;
        let wiped =
            |(at, cell): &(usize, &Cell)| is_whole && *at >= self.cursor && cell.is_nothing();
        let wiped = cells.iter().enumerate().rev().take_while(wiped).count();
        let mut text = String::with_capacity(cells.len());
        let mut pen = self.pen_at_start;
        for cell in cells.iter().take(cells.len() - wiped) {
            pen.write_change(cell.pen, &mut text);
            text.push(cell.character);
            pen = cell.pen;
        }
        self.text_pen = pen;
        text
    }

    fn sgr(&mut self, body: &[u8]) {
        let is_adding =
            self.cells.is_none() && self.cursor == self.length && self.text_pen == self.pen;
        self.pen.apply(body);
        let has_room = self.text.len() + body.len() < self.limits.max_line * BYTES_PER_CHARACTER;
        if is_adding && has_room && self.length <= self.limits.max_line {
            self.text.push_str("\x1b[");
            self.text.extend(body.iter().copied().map(char::from));
            self.text.push('m');
            self.text_pen = self.pen;
        }
    }

    fn write(&mut self, text: &str) {
        if self.cells.is_none() && self.cursor == self.length {
            self.add(text);
        } else {
            text.chars().for_each(|character| self.put(character));
        }
    }

    fn add(&mut self, text: &str) {
        // What did not fit as it came, or came while the cursor was elsewhere.
        if self.text_pen != self.pen && self.length < self.limits.max_line {
            self.text_pen.write_change(self.pen, &mut self.text);
            self.text_pen = self.pen;
        }
        let room = self.limits.max_line.saturating_sub(self.length);
        if text.len() <= room {
            self.text.push_str(text);
        } else {
            self.text.extend(text.chars().take(room));
        }
        let count = if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
        self.cursor += count;
        self.length = self.cursor;
        self.wrap();
    }

    /// A full row is left when the next character comes, not before.
    fn wrap(&mut self) {
        if let Some(columns) = self.columns() {
            let behind = self.cursor.saturating_sub(self.start + 1);
            self.start += behind / columns * columns;
        }
    }

    fn put(&mut self, character: char) {
        let (at, pen) = (self.cursor, self.pen);
        if at < self.limits.max_line {
            let cells = self.cells();
            if at >= cells.len() {
                cells.resize(at + 1, Cell::blank(Pen::default()));
            }
            if let Some(cell) = cells.get_mut(at) {
                *cell = Cell { character, pen };
            }
        }
        self.cursor += 1;
        self.length = self.length.max(self.cursor);
        self.wrap();
    }

    /// The line as cells.
    fn cells(&mut self) -> &mut Vec<Cell> {
        let (text, pen) = (&mut self.text, self.pen_at_start);
        self.cells
            .get_or_insert_with(|| parse(&std::mem::take(text), pen))
    }

    fn columns(&self) -> Option<usize> {
        self.limits
            .columns
            .map(|columns| usize::from(columns.max(1)))
    }

    fn csi(&mut self, body: &[u8], last: u8) {
        let Some(number) = parameter(body) else {
            return;
        };
        let count = number.max(1);
        match last {
            b'A' => self.up(count),
            b'C' => self.right(self.cursor.saturating_add(count)),
            b'D' => self.left(count),
            b'G' | b'`' => self.right(self.start.saturating_add(count - 1)),
            b'J' | b'K' if number == 0 => self.erase_right(),
            b'K' if number == 1 => self.erase_left(),
            b'K' if number == 2 => self.erase_row(),
            b'P' => self.delete(count),
            b'@' => self.insert(count),
            _ => {}
        }
    }

    /// Rows of this line only: what is above is handed over already.
    fn up(&mut self, count: usize) {
        if let Some(columns) = self.columns() {
            let up = count.saturating_mul(columns).min(self.start);
            self.start -= up;
            self.cursor = self.cursor.saturating_sub(up);
        }
    }

    fn left(&mut self, count: usize) {
        let last = self.last_column();
        self.cursor = self.cursor.min(last).saturating_sub(count).max(self.start);
    }

    fn right(&mut self, to: usize) {
        let reach = self.length.saturating_add(REACH);
        self.cursor = to.min(self.last_column()).min(reach);
    }

    fn last_column(&self) -> usize {
        self.columns()
            .map_or(usize::MAX, |columns| self.start + columns - 1)
    }

    fn erase_right(&mut self) {
        if self.cursor < self.length {
            let at = self.cursor;
            self.cells().truncate(at);
            self.length = at;
        }
    }

    fn erase_left(&mut self) {
        let from = self.start.max(self.cursor.saturating_sub(REACH));
        let (to, pen) = (self.cursor, self.pen);
        let cells = self.cells();
        let to = (to + 1).min(cells.len());
        if let Some(erased) = cells.get_mut(from..to) {
            erased.fill(Cell::blank(pen));
        }
    }

    fn erase_row(&mut self) {
        let cursor = self.cursor;
        self.cursor = self.start;
        self.erase_right();
        self.cursor = cursor.min(self.length + REACH);
    }

    /// Takes characters out at the cursor; the rest of the terminal's row moves up to it.
    fn delete(&mut self, count: usize) {
        let pen = self.pen;
        let rest = self.rest_of_row();
        let count = count.min(rest.len());
        rest.rotate_left(count);
        let kept = rest.len() - count;
        rest.iter_mut()
            .skip(kept)
            .for_each(|cell| *cell = Cell::blank(pen));
    }

    /// Puts blanks in at the cursor; what leaves the terminal's row is gone.
    fn insert(&mut self, count: usize) {
        let pen = self.pen;
        let rest = self.rest_of_row();
        let count = count.min(rest.len());
        rest.rotate_right(count);
        rest.iter_mut()
            .take(count)
            .for_each(|cell| *cell = Cell::blank(pen));
    }

    fn rest_of_row(&mut self) -> &mut [Cell] {
        let from = self.cursor;
        let columns = self.columns().map(|columns| self.start + columns);
        let end = columns.unwrap_or(usize::MAX).min(from + REACH);
        let cells = self.cells();
        let end = end.min(cells.len());
        cells.get_mut(from..end).unwrap_or_default()
    }
}

/// The first number of a sequence without private marks; 0 if there is none.
fn parameter(body: &[u8]) -> Option<usize> {
    let digits = body.split(|byte| *byte == b';').next().unwrap_or_default();
    let is_plain = body.iter().all(|byte| matches!(byte, b'0'..=b'9' | b';'));
    is_plain.then(|| {
        let add = |sum: usize, digit: &u8| {
            let digit = usize::from(digit - b'0');
            sum.saturating_mul(10).saturating_add(digit)
        };
        digits.iter().fold(0, add)
    })
}

/// Text with SGR sequences, as [`Row::add`] and [`Row::sgr`] wrote it, as cells.
fn parse(text: &str, mut pen: Pen) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(text.len());
    let mut scanner = super::Scanner::default();
    scanner.push(text.as_bytes(), |token| match token {
        Token::Text(text) => {
            cells.extend(text.chars().map(|character| Cell { character, pen }));
        }
        Token::Control(_) => cells.push(Cell {
            character: '\t',
            pen,
        }),
        Token::Csi { body, .. } => pen.apply(body),
        Token::Reset => {}
    });
    cells
}
