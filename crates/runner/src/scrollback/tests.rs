//! The rebuilt lines compared with those of another terminal, `alacritty_terminal`, that reads the same
//! output uninterrupted.

use std::collections::VecDeque;
use std::io;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::Config;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, Processor, StdSyncHandler};
use bowline_transport::{Piece, WindowSize};
use bytes::Bytes;

use super::*;

/// A step of a program.
enum Step {
    Write(String),
    Resize(u16, u16),
}

struct Size(WindowSize);

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        usize::from(self.0.rows)
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.0.rows)
    }

    fn columns(&self) -> usize {
        usize::from(self.0.cols)
    }
}

/// What is seen of a cell, and whether its row continues on the next one.
#[derive(Debug, PartialEq)]
struct Seen {
    c: char,
    colors: [Color; 2],
    flags: Flags,
    link: Option<String>,
}

fn seen(cell: &Cell) -> Seen {
    // The first sixteen colours have numbers and names.
    let plain = |color| match color {
        Color::Named(name) if (name as usize) < 16 => Color::Indexed(name as u8),
        other => other,
    };
    Seen {
        c: cell.c,
        colors: [plain(cell.fg), plain(cell.bg)],
        flags: cell.flags,
        link: cell.hyperlink().map(|link| link.uri().to_owned()),
    }
}

/// Compares all rows of two terminals.
fn same_rows(found: &Terminal, expected: &Terminal) {
    let (found, expected) = (found.rows(), expected.rows());
    assert_eq!(found.len(), expected.len());
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        for (col, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "row {row} col {col}");
        }
    }
}

/// A terminal that keeps many lines.
struct Terminal {
    term: Term<VoidListener>,
    parser: Processor<StdSyncHandler>,
}

impl Terminal {
    fn new(size: WindowSize) -> Self {
        let config = Config {
            scrolling_history: 300_000,
            ..Config::default()
        };
        let term = Term::new(config, &Size(size), VoidListener);
        Self {
            term,
            parser: Processor::new(),
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    fn resize(&mut self, size: WindowSize) {
        self.term.resize(Size(size));
    }

    /// Returns the rows of the scrollback and of the screen.
    fn rows(&self) -> Vec<Vec<Seen>> {
        let grid = self.term.grid();
        let rows = -(grid.history_size() as i32)..grid.screen_lines() as i32;
        let cell = |row, col| seen(&grid[Line(row)][Column(col)]);
        rows.map(|row| (0..grid.columns()).map(|col| cell(row, col)).collect())
            .collect()
    }

    /// Returns the lines of the scrollback and of the screen as text.
    fn text(&self) -> Vec<String> {
        let mut lines = vec![String::new()];
        for cells in self.rows() {
            let last = lines.len() - 1;
            lines[last].extend(cells.iter().map(|cell| cell.c));
            let wraps = |cell: &Seen| cell.flags.contains(Flags::WRAPLINE);
            if !cells.last().is_some_and(wraps) {
                lines[last] = lines[last].trim_end().to_owned();
                lines.push(String::new());
            }
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

/// A session that records its screen as its owner does, in memory.
struct Recorded {
    screen: SessionScreen,
    log: ScreenLog,
    records: Vec<ScreenRecord>,
    output: Vec<u8>,
}

impl Recorded {
    fn new(size: WindowSize) -> Self {
        let (screen, log) = (SessionScreen::new(size), ScreenLog::new(1 << 20, true));
        let first = log.resized(size, 0, 0);
        Self {
            screen,
            log,
            records: vec![first],
            output: Vec::new(),
        }
    }

    /// Plays steps on the session and on a terminal.
    fn play(size: WindowSize, steps: &[Step]) -> (Self, Terminal) {
        let (mut session, mut terminal) = (Self::new(size), Terminal::new(size));
        for step in steps {
            match step {
                Step::Write(text) => {
                    terminal.feed(text.as_bytes());
                    session.write(text.as_bytes());
                }
                Step::Resize(rows, cols) => {
                    let size = WindowSize::new(*rows, *cols);
                    terminal.resize(size);
                    session.resize(size);
                }
            }
        }
        (session, terminal)
    }

    fn write(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(4000) {
            let offset = self.output.len() as u64;
            self.output.extend(bytes);
            self.screen.feed(offset, bytes);
            if self.log.on_output(offset, bytes) {
                let (snapshot, fed) = (self.screen.snapshot(), self.screen.end());
                self.records.push(self.log.state(snapshot, fed));
            }
        }
    }

    fn resize(&mut self, size: WindowSize) {
        self.screen.resize(size);
        let (at, fed) = (self.screen.at_offset(), self.screen.end());
        self.records.push(self.log.resized(size, at, fed));
    }

    /// Returns a source with one part of the records each.
    fn source(&self) -> Recording {
        let parts = self.records.chunks(3).map(<[_]>::to_vec).collect();
        Recording {
            parts,
            output: self.output.clone().into(),
            read: 0,
            gap: 0..0,
        }
    }

    /// Returns a terminal that joins with this many lines of scrollback, and the bytes of output read.
    fn join(&mut self, lines: u64) -> (Terminal, u64) {
        let screen = self.screen.bare_snapshot().unwrap();
        let mut source = self.source();
        let snapshot = snapshot_with_scrollback(&screen, &mut source, lines).unwrap();
        let snapshot = snapshot.unwrap();
        let mut terminal = Terminal::new(snapshot.size);
        terminal.feed(&snapshot.bytes);
        terminal.feed(&self.output[snapshot.at_offset as usize..]);
        (terminal, source.read)
    }

    fn newest(&self) -> ScreenPlace {
        ScreenPlace {
            offset: self.screen.at_offset(),
            size: self.screen.size(),
        }
    }
}

struct Recording {
    parts: VecDeque<Vec<ScreenRecord>>,
    output: Bytes,
    read: u64,
    /// Output that is not available.
    gap: std::ops::Range<usize>,
}

impl ScrollbackSource for Recording {
    fn older_records(&mut self) -> io::Result<Option<Vec<ScreenRecord>>> {
        // As they are read from a journal.
        let part = self.parts.pop_back();
        let decoded = part.map(|part| {
            let records = part.iter().map(|it| it.encode().unwrap());
            records
                .map(|it| ScreenRecord::decode(it).unwrap())
                .collect()
        });
        Ok(decoded)
    }

    fn read(&mut self, offset: u64) -> io::Result<Option<Piece>> {
        if self.gap.contains(&(offset as usize)) {
            let (from, to) = (offset, self.gap.end as u64);
            return Ok(Some(Piece::Gap { from, to }));
        }
        let rest = self.output.slice(offset as usize..);
        let before_gap = self.gap.start.checked_sub(offset as usize);
        let before_gap = before_gap.filter(|_| !self.gap.is_empty());
        let length = rest.len().min(5000);
        let length = length.min(before_gap.unwrap_or(length));
        let bytes = rest.slice(..length);
        self.read += bytes.len() as u64;
        Ok((!bytes.is_empty()).then_some(Piece::Bytes { offset, bytes }))
    }
}

/// Coloured lines of different lengths, some wider than the screen, with wide characters and backgrounds.
fn lines(range: std::ops::Range<usize>) -> Step {
    let line = |number: usize| match number % 9 {
        0 => format!("\x1b[1;3{}mline {number}\x1b[m plain", number % 8),
        1 => format!("{number} {}", "wrapped text ".repeat(number % 17)),
        2 => format!("\x1b[44m{number} {}\x1b[0m", "on blue ".repeat(number % 23)),
        3 => String::new(),
        4 => format!("{number} {}", "宽字符".repeat(number % 19)),
        5 => format!("\x1b[38;5;{}mcolour\x1b[39m {number}", number % 256),
        6 => format!(" 10%\r 50%\r100% {number}"),
        7 => format!(
            "\x1b]8;;https://example.com/{number}\x1b\\link\x1b]8;;\x1b\\ {}",
            "é".repeat(number % 90)
        ),
        _ => format!("{number}: \x1b[4;7mstyled\x1b[27;24m end"),
    };
    Step::Write(range.map(|number| line(number) + "\r\n").collect())
}

#[test]
fn joining_terminal_has_every_row_of_the_scrollback() {
    let size = WindowSize::new(24, 80);
    let prompt = Step::Write("\x1b[32m$ \x1b[m".to_owned());
    let (mut session, attached) = Recorded::play(size, &[lines(0..3000), prompt]);
    let (joined, _) = session.join(100_000);
    same_rows(&joined, &attached);
}

#[test]
fn past_screen_is_that_of_the_prefix() {
    let size = WindowSize::new(24, 80);
    let clear = Step::Write("\x1b[2J\x1b[12;30Hhere\x1b[3;1H".to_owned());
    let (session, _) = Recorded::play(size, &[lines(0..3000), clear, lines(0..20)]);
    let end = session.output.len();
    let screen = |it: &Terminal| {
        let mut rows = it.rows();
        rows.split_off(rows.len() - 24)
    };
    let mut expected = Terminal::new(size);
    let mut fed = 0;
    // Each byte of the last lines, so that sequences and characters are cut, and some of all before.
    for offset in (0..end - 60).step_by(9_001).chain(end - 60..=end) {
        expected.feed(&session.output[fed..offset]);
        fed = offset;
        let found = screen_at(&mut session.source(), offset as u64);
        let found = found.unwrap().unwrap();
        assert_eq!((found.at, found.size), (offset as u64, size));
        let mut shown = Terminal::new(size);
        shown.feed(&found.bytes);
        assert!(screen(&shown) == screen(&expected), "at {offset}");
    }
}

#[test]
fn past_screen_has_the_size_of_its_time() {
    let (small, large) = (WindowSize::new(24, 80), WindowSize::new(50, 120));
    let steps = [lines(0..30), Step::Resize(50, 120), lines(30..60)];
    let (session, _) = Recorded::play(small, &steps);
    let size = |at: usize| screen_at(&mut session.source(), at as u64).unwrap();
    assert_eq!(size(100).map(|it| it.size), Some(small));
    let end = session.output.len();
    assert_eq!(size(end).map(|it| it.size), Some(large));
}

#[test]
fn newest_lines_are_kept_if_there_are_more() {
    let size = WindowSize::new(24, 80);
    let text: String = (0..100_000).map(|it| format!("line {it}\r\n")).collect();
    let (mut session, attached) = Recorded::play(size, &[Step::Write(text)]);
    let (joined, read) = session.join(10_000);
    let rows = joined.rows();
    assert_eq!(rows.len(), 10_000 + 24);
    assert!(
        rows == attached.rows()[100_001 - 10_024..],
        "the newest rows"
    );
    // The output has 1.2 MB.
    assert!(read < 1_200_000, "{read} bytes were read");
}

#[test]
fn lines_are_complete_after_resizes() {
    let steps = [
        lines(0..400),
        Step::Resize(24, 40),
        lines(400..800),
        Step::Resize(40, 132),
        lines(800..1200),
        Step::Resize(10, 60),
        lines(1200..1500),
    ];
    let (mut session, attached) = Recorded::play(WindowSize::new(24, 80), &steps);
    let (joined, _) = session.join(100_000);
    let (expected, found) = (attached.text(), joined.text());
    for (line, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "line {line}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn line_that_continues_on_the_screen_is_one_line() {
    let size = WindowSize::new(5, 20);
    let long = Step::Write(format!("{}\x1b[41m{}", "a".repeat(130), "b".repeat(90)));
    let (mut session, mut attached) = Recorded::play(size, &[lines(0..50), long]);
    let (mut joined, _) = session.join(100_000);
    same_rows(&joined, &attached);
    // The terminal reflows the line as a whole.
    let wider = WindowSize::new(5, 33);
    joined.resize(wider);
    attached.resize(wider);
    assert_eq!(joined.text(), attached.text());
}

#[test]
fn alternate_screen_hides_the_scrollback() {
    let size = WindowSize::new(24, 80);
    let editor = Step::Write("\x1b[?1049h\x1b[2J\x1b[Heditor\r\n~\r\n~".to_owned());
    let (mut session, mut attached) = Recorded::play(size, &[lines(0..500), editor]);
    let (mut joined, _) = session.join(100_000);
    same_rows(&joined, &attached);
    for terminal in [&mut joined, &mut attached] {
        terminal.feed(b"\x1b[?1049l$ ");
    }
    same_rows(&joined, &attached);
}

/// The rows of a screen that has become higher than what it has shown.
#[test]
fn lines_are_above_a_screen_that_is_not_full() {
    let steps = [lines(0..300), Step::Resize(130, 80)];
    let (mut session, attached) = Recorded::play(WindowSize::new(24, 80), &steps);
    let (joined, _) = session.join(100_000);
    assert_eq!(
        joined.text().join("\n").trim_end(),
        attached.text().join("\n").trim_end()
    );
}

#[test]
fn cleared_lines_do_not_return() {
    let size = WindowSize::new(24, 80);
    for clear in ["\x1b[3J", "\x1bc"] {
        let clear = Step::Write(clear.to_owned());
        let steps = [lines(0..2000), clear, lines(2000..2100)];
        let (mut session, attached) = Recorded::play(size, &steps);
        let (joined, _) = session.join(100_000);
        assert_eq!(joined.text(), attached.text());
    }
}

/// Reads pages until there is nothing older, and returns all lines, oldest first.
fn pages(session: &Recorded, lines: u64) -> (Vec<Vec<u8>>, Older, u64) {
    let (mut place, mut skip) = (session.newest(), 0);
    let (mut all, mut most) = (VecDeque::new(), 0);
    loop {
        let mut source = session.source();
        let request = ScrollbackRequest { place, skip, lines };
        let page = read(&mut source, request).unwrap();
        most = most.max(source.read);
        for line in page.lines.iter().rev() {
            all.push_front(line.to_vec());
        }
        match page.older {
            Older::At {
                place: next,
                skip: more,
            } => (place, skip) = (next, more),
            end => return (all.into(), end, most),
        }
    }
}

#[test]
fn pages_have_each_line_once() {
    let line = |number| format!("line number {number:-<50}");
    let size = WindowSize::new(24, 80);
    let text: String = (0..60_000).map(|it| line(it) + "\r\n").collect();
    let steps = [Step::Write(text), Step::Resize(30, 60), lines(0..100)];
    let (session, attached) = Recorded::play(size, &steps);
    let (found, end, most) = pages(&session, 3_001);
    assert_eq!(end, Older::Nothing);
    let expected = attached.text();
    for (number, found) in found.iter().take(60_000).enumerate() {
        assert_eq!(found, line(number).as_bytes());
    }
    let above = expected.len() - found.len();
    assert!((10..=30).contains(&above), "{above} lines on the screen");
    // A page deep inside costs no more than one near the end; the output has 3.8 MB.
    assert!(most < 3_000_000, "{most} bytes were read for a page");
}

#[test]
fn lines_before_the_recorded_output_are_reported_lost() {
    let size = WindowSize::new(24, 80);
    let text: String = (0..60_000)
        .map(|it| format!("line {it:-<50}\r\n"))
        .collect();
    let (mut session, _) = Recorded::play(size, &[Step::Write(text)]);
    let states: Vec<_> = session.records.drain(..).skip(2).collect();
    session.records = states;
    let (found, end, _) = pages(&session, 5_000);
    assert_eq!(end, Older::Lost);
    assert!(found.len() > 5_000 && found.len() < 60_000);
    assert!(found[found.len() - 1].starts_with(b"line 59976-"));
}

/// The newest lines follow a gap in the recorded output.
#[test]
fn lines_before_a_gap_are_lost() {
    let size = WindowSize::new(24, 80);
    let (mut session, _) = Recorded::play(size, &[lines(0..100)]);
    // As much output again is not recorded.
    let (from, to) = (session.output.len(), session.output.len() * 2);
    session.output.resize(to, b'-');
    session.write(b"after\r\n");
    let text: String = (0..100).map(|it| format!("line {it}\r\n")).collect();
    session.write(text.as_bytes());
    let mut source = session.source();
    source.gap = from..to;
    let request = ScrollbackRequest {
        place: session.newest(),
        skip: 0,
        lines: 1000,
    };
    let page = read(&mut source, request).unwrap();
    assert_eq!(page.older, Older::Lost);
    let found: Vec<_> = page.lines.iter().collect();
    assert!(
        found.contains(&b"line 70".as_slice()) && !found.contains(&b"\x1b[1;36mline 9".as_slice())
    );
    let after = found.iter().position(|it| it.ends_with(b"after")).unwrap();
    assert!(after < 25, "only the rows of a screen are older: {after}");
}

#[test]
fn cut_record_is_damaged() {
    let record = |state| ScreenRecord {
        at: 5,
        fed: 7,
        size: WindowSize::new(24, 80),
        newlines: 3,
        state,
    };
    let [sized, full] = [None, Some(Bytes::from_static(b"state"))].map(record);
    for record in [sized, full] {
        let bytes = record.encode().unwrap();
        for length in 0..bytes.len() {
            assert_eq!(ScreenRecord::decode(bytes.slice(..length)), None);
        }
        assert_eq!(ScreenRecord::decode(bytes), Some(record));
    }
}
