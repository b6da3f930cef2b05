//! Another terminal emulator, and the comparison of two of them.

use std::cell::RefCell;
use std::rc::Rc;

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::{Cursor, Dimensions};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::{Color, CursorStyle, Processor, Rgb, StdSyncHandler};
use bowline_transport::WindowSize;

/// Events that a terminal has sent to its window and its program.
#[derive(Clone, Debug, Default)]
pub(super) struct TerminalEvents(Rc<RefCell<(Option<String>, Vec<String>)>>);

impl EventListener for TerminalEvents {
    fn send_event(&self, event: Event) {
        let mut events = self.0.borrow_mut();
        match event {
            Event::Title(title) => events.0 = Some(title).filter(|title| !title.is_empty()),
            Event::ResetTitle => events.0 = None,
            Event::PtyWrite(reply) => events.1.push(reply),
            Event::ColorRequest(..) | Event::TextAreaSizeRequest(_) | Event::ClipboardLoad(..) => {
                events.1.push(format!("{event:?}"));
            }
            Event::ClipboardStore(..) => events.1.push("clipboard".to_owned()),
            _ => {}
        }
    }
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

pub(super) struct Oracle {
    term: Term<TerminalEvents>,
    parser: Processor<StdSyncHandler>,
    events: TerminalEvents,
}

impl Oracle {
    pub(super) fn new(size: WindowSize) -> Self {
        let events = TerminalEvents::default();
        let config = Config {
            kitty_keyboard: true,
            scrolling_history: 100,
            ..Config::default()
        };
        let term = Term::new(config, &Size(size), events.clone());
        Self {
            term,
            parser: Processor::new(),
            events,
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    pub(super) fn resize(&mut self, size: WindowSize) {
        self.term.resize(Size(size));
    }

    /// Takes the terminal's replies.
    pub(super) fn replies(&self) -> Vec<String> {
        std::mem::take(&mut self.events.0.borrow_mut().1)
    }

    pub(super) fn title(&self) -> Option<String> {
        self.events.0.borrow().0.clone()
    }

    /// Returns the cursor's row and column, from 1.
    pub(super) fn cursor(&self) -> (u16, u16) {
        let point = self.term.grid().cursor.point;
        (point.line.0 as u16 + 1, point.column.0 as u16 + 1)
    }

    pub(super) fn text(&self) -> String {
        let lines = self.rows().map(|row| {
            let cells = self.row(row).map(|cell| cell.c);
            cells.collect::<String>().trim_end().to_owned() + "\n"
        });
        lines.collect()
    }

    fn rows(&self) -> impl Iterator<Item = Line> + use<> {
        (0..self.term.screen_lines() as i32).map(Line)
    }

    fn row(&self, row: Line) -> impl Iterator<Item = &Cell> {
        (0..self.term.columns()).map(move |col| &self.term.grid()[row][Column(col)])
    }
}

/// The visible properties of a cell, or of the pen.
#[derive(Debug, PartialEq)]
struct Seen {
    c: char,
    accents: Vec<char>,
    colors: (Color, Color, Option<Color>),
    flags: Flags,
    link: Option<String>,
}

fn seen(cell: &Cell) -> Seen {
    Seen {
        // This terminal remembers where a tab was, which is not visible.
        c: if cell.c == '\t' { ' ' } else { cell.c },
        accents: cell.zerowidth().unwrap_or_default().to_vec(),
        colors: (
            plain(cell.fg),
            plain(cell.bg),
            cell.underline_color().map(plain),
        ),
        // Where a long line was wrapped affects only selections.
        flags: cell.flags - Flags::WRAPLINE,
        link: cell.hyperlink().map(|link| link.uri().to_owned()),
    }
}

/// The first sixteen colours have numbers and names.
fn plain(color: Color) -> Color {
    match color {
        Color::Named(name) if (name as usize) < 16 => Color::Indexed(name as u8),
        other => other,
    }
}

#[derive(Debug, PartialEq)]
struct State {
    row: i32,
    col: usize,
    is_pending: bool,
    pen: Seen,
    charsets: String,
    mode: TermMode,
    style: CursorStyle,
    title: Option<String>,
}

fn state(oracle: &Oracle) -> State {
    let Cursor {
        point,
        template,
        charsets,
        input_needs_wrap,
    } = &oracle.term.grid().cursor;
    State {
        row: point.line.0,
        col: point.column.0,
        is_pending: *input_needs_wrap,
        pen: seen(template),
        charsets: format!("{charsets:?}"),
        mode: *oracle.term.mode(),
        style: oracle.term.cursor_style(),
        title: oracle.title(),
    }
}

/// Compares contents and state of two terminals; returns the first difference.
pub(super) fn same(one: &Oracle, other: &Oracle) -> Result<(), String> {
    for row in one.rows() {
        for (col, (a, b)) in one.row(row).zip(other.row(row)).enumerate() {
            if a == b {
                continue;
            }
            let (a, b) = (seen(a), seen(b));
            if a != b {
                let texts = format!("{}---\n{}", one.text(), other.text());
                return Err(format!("row {row} col {col}: {a:?} is {b:?}\n{texts}"));
            }
        }
    }
    if is_alike(one, other) {
        return Ok(());
    }
    let (a, b) = (state(one), state(other));
    if a == b {
        Ok(())
    } else {
        Err(difference(&a, &b))
    }
}

/// Whether two terminals are certainly equal: for others, ids of links and the like may differ.
fn is_alike(one: &Oracle, other: &Oracle) -> bool {
    one.term.grid().cursor == other.term.grid().cursor
        && one.term.mode() == other.term.mode()
        && one.term.cursor_style() == other.term.cursor_style()
        && one.events.0.borrow().0 == other.events.0.borrow().0
}

/// Compares the palettes of two terminals.
pub(super) fn same_colors(one: &Oracle, other: &Oracle) -> Result<(), String> {
    let colors = |oracle: &Oracle| {
        (0..269)
            .map(|at| oracle.term.colors()[at])
            .collect::<Vec<_>>()
    };
    let (a, b): (Vec<Option<Rgb>>, Vec<_>) = (colors(one), colors(other));
    let place = a.iter().zip(&b).position(|(a, b)| a != b);
    place.map_or(Ok(()), |at| {
        Err(format!("colour {at}: {:?} is {:?}", a[at], b[at]))
    })
}

fn difference(a: &State, b: &State) -> String {
    let (a, b) = (format!("{a:#?}"), format!("{b:#?}"));
    let lines = a.lines().zip(b.lines()).filter(|(a, b)| a != b);
    let lines: Vec<_> = lines
        .map(|(a, b)| format!("{} is {}", a.trim(), b.trim()))
        .collect();
    lines.join("; ")
}
