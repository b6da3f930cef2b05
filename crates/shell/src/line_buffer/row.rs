//! The line that a program is writing.
//!
//! While the program only appends, the line is a string. With the first edit elsewhere it becomes
//! cells, each with its SGR state, which are serialized when the line is finished.

use super::scanner::Token;
use super::sgr::SgrState;
use super::{Line, LineLimits};

/// Number of cells that one sequence may change or skip. Wider than any terminal; it bounds the work
/// for a sequence of a few bytes.
const MAX_CELLS_PER_SEQUENCE: usize = 512;

/// Bytes of text and SGR sequences kept for each character of the longest line.
const BYTES_PER_CHARACTER: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Cell {
    character: char,
    sgr: SgrState,
}

impl Cell {
    const fn blank(sgr: SgrState) -> Self {
        Self {
            character: ' ',
            sgr,
        }
    }

    fn is_nothing(&self) -> bool {
        self.character == ' ' && self.sgr == SgrState::default()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    limits: LineLimits,
    /// The line while the program only appends.
    text: String,
    /// The SGR state at the end of `text`.
    text_sgr: SgrState,
    /// The line after an edit.
    cells: Option<Vec<Cell>>,
    /// Length in columns, including those over the limit.
    length: usize,
    cursor: usize,
    /// The column at which the wrapped row of the cursor starts.
    start: usize,
    sgr_at_start: SgrState,
    sgr: SgrState,
    /// Number of cells that sequences have moved or erased.
    #[cfg(test)]
    pub(super) work: usize,
}

impl Row {
    pub(super) fn new(limits: LineLimits) -> Self {
        Self {
            limits,
            text: String::new(),
            text_sgr: SgrState::default(),
            cells: None,
            length: 0,
            cursor: 0,
            start: 0,
            sgr_at_start: SgrState::default(),
            sgr: SgrState::default(),
            #[cfg(test)]
            work: 0,
        }
    }

    #[cfg(test)]
    fn count(&mut self, cells: usize) {
        self.work += cells;
    }

    #[cfg(not(test))]
    const fn count(&self, _cells: usize) {}

    pub(super) fn set_columns(&mut self, columns: Option<u16>) {
        self.limits.columns = columns;
    }

    /// Uses cells from the start.
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
            Token::Csi { body, last } if SgrState::is_sgr(body, last) => self.sgr(body),
            Token::Csi { body, last } => self.csi(body, last),
            Token::Reset => self.sgr = SgrState::default(),
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
        self.text_sgr.write_change(self.sgr, &mut text);
        if cut > 0 {
            text.push_str(&format!(" [{cut} characters cut]"));
        }
        *self = Self {
            sgr_at_start: self.sgr,
            sgr: self.sgr,
            text_sgr: self.sgr,
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
        let mut sgr = self.sgr_at_start;
        for cell in cells.iter().take(cells.len() - wiped) {
            sgr.write_change(cell.sgr, &mut text);
            text.push(cell.character);
            sgr = cell.sgr;
        }
        self.text_sgr = sgr;
        text
    }

    fn sgr(&mut self, body: &[u8]) {
        let is_adding =
            self.cells.is_none() && self.cursor == self.length && self.text_sgr == self.sgr;
        self.sgr.apply(body);
        let has_room = self.text.len() + body.len() < self.limits.max_line * BYTES_PER_CHARACTER;
        if is_adding && has_room && self.length <= self.limits.max_line {
            self.text.push_str("\x1b[");
            self.text.extend(body.iter().copied().map(char::from));
            self.text.push('m');
            self.text_sgr = self.sgr;
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
        // SGR that was not appended: over the limit, or while the cursor was elsewhere.
        if self.text_sgr != self.sgr && self.length < self.limits.max_line {
            self.text_sgr.write_change(self.sgr, &mut self.text);
            self.text_sgr = self.sgr;
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

    /// Wraps a full row with the next character, not before it.
    fn wrap(&mut self) {
        if let Some(columns) = self.columns() {
            let offset = self.cursor.saturating_sub(self.start + 1);
            self.start += offset / columns * columns;
        }
    }

    fn put(&mut self, character: char) {
        let (at, sgr) = (self.cursor, self.sgr);
        if at < self.limits.max_line {
            let cells = self.cells();
            if at >= cells.len() {
                cells.resize(at + 1, Cell::blank(SgrState::default()));
            }
            if let Some(cell) = cells.get_mut(at) {
                *cell = Cell { character, sgr };
            }
        }
        self.cursor += 1;
        self.length = self.length.max(self.cursor);
        self.wrap();
    }

    /// Converts the line to cells.
    fn cells(&mut self) -> &mut Vec<Cell> {
        let (text, sgr) = (&mut self.text, self.sgr_at_start);
        self.cells
            .get_or_insert_with(|| parse(&std::mem::take(text), sgr))
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

    /// Moves within the wrapped rows of this line; earlier lines are complete.
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
        let reach = self.length.saturating_add(MAX_CELLS_PER_SEQUENCE);
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
        let from = self
            .start
            .max(self.cursor.saturating_sub(MAX_CELLS_PER_SEQUENCE));
        let (to, sgr) = (self.cursor, self.sgr);
        self.count(to.saturating_sub(from));
        let cells = self.cells();
        let to = (to + 1).min(cells.len());
        if let Some(erased) = cells.get_mut(from..to) {
            erased.fill(Cell::blank(sgr));
        }
    }

    fn erase_row(&mut self) {
        let cursor = self.cursor;
        self.cursor = self.start;
        self.erase_right();
        self.cursor = cursor.min(self.length + MAX_CELLS_PER_SEQUENCE);
    }

    /// Deletes characters at the cursor; the rest of the wrapped row moves left (DCH).
    fn delete(&mut self, count: usize) {
        let sgr = self.sgr;
        let rest = self.rest_of_row();
        let count = count.min(rest.len());
        rest.rotate_left(count);
        let kept = rest.len() - count;
        rest.iter_mut()
            .skip(kept)
            .for_each(|cell| *cell = Cell::blank(sgr));
    }

    /// Inserts blanks at the cursor; characters pushed over the end of the row are lost (ICH).
    fn insert(&mut self, count: usize) {
        let sgr = self.sgr;
        let rest = self.rest_of_row();
        let count = count.min(rest.len());
        rest.rotate_right(count);
        rest.iter_mut()
            .take(count)
            .for_each(|cell| *cell = Cell::blank(sgr));
    }

    fn rest_of_row(&mut self) -> &mut [Cell] {
        let from = self.cursor;
        let columns = self.columns().map(|columns| self.start + columns);
        let end = columns
            .unwrap_or(usize::MAX)
            .min(from + MAX_CELLS_PER_SEQUENCE);
        let end = end.min(self.cells().len());
        self.count(end.saturating_sub(from));
        self.cells().get_mut(from..end).unwrap_or_default()
    }
}

/// Returns the first parameter of a sequence without a private marker; 0 if it is absent.
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

/// Parses text with SGR sequences into cells.
fn parse(text: &str, mut sgr: SgrState) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(text.len());
    let mut scanner = super::Scanner::default();
    scanner.push(text.as_bytes(), |token| match token {
        Token::Text(text) => {
            cells.extend(text.chars().map(|character| Cell { character, sgr }));
        }
        Token::Control(_) => cells.push(Cell {
            character: '\t',
            sgr,
        }),
        Token::Csi { body, .. } => sgr.apply(body),
        Token::Reset => {}
    });
    cells
}
