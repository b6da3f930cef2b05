//! A command on a terminal whose screen is kept by a terminal emulator that is not ours.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::Config;
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::vte::ansi::{Processor, StdSyncHandler};
use bowline_transport::{
    Configuration, ExitStatus, LogReader, Piece, PtyMode, Signal, Stdio, Stream, TerminalEngine,
    TerminalSession, WindowSize,
};

use crate::support::{BOWLINE, TIMEOUT};

/// Columns and rows.
#[derive(Clone, Copy)]
struct Size(usize, usize);

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        self.1
    }

    fn screen_lines(&self) -> usize {
        self.1
    }

    fn columns(&self) -> usize {
        self.0
    }
}

/// A command, and what its terminal shows.
pub(crate) struct ScreenCommand {
    terminal: TerminalSession,
    reader: LogReader,
    term: Term<VoidListener>,
    parser: Processor<StdSyncHandler>,
}

async fn within<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(TIMEOUT, future).await.ok()
}

impl ScreenCommand {
    /// Runs `bowline` on a terminal of this size.
    pub(crate) fn bowline(
        line: Vec<String>,
        set: Vec<(OsString, OsString)>,
        cwd: Option<PathBuf>,
        (columns, rows): (u16, u16),
    ) -> Self {
        let mut configuration = Configuration::new(BOWLINE);
        configuration.args = line.into_iter().map(Into::into).collect();
        configuration.cwd = cwd;
        configuration.stdio = Stdio::Pty {
            size: WindowSize::new(rows, columns),
            mode: PtyMode::Cooked,
        };
        let env = &mut configuration.env;
        env.set("BOWLINE", BOWLINE).set("TERM", "xterm");
        env.set("USER", "ann").remove("NO_COLOR");
        for (name, value) in set {
            env.set(name, value);
        }
        let terminal = TerminalEngine.make_session(configuration).unwrap();
        let size = Size(columns.into(), rows.into());
        Self {
            reader: terminal.reader(Stream::Output),
            terminal,
            term: Term::new(Config::default(), &size, VoidListener),
            parser: Processor::new(),
        }
    }

    /// Waits until the text, with what has scrolled away, satisfies a condition; returns it.
    #[track_caller]
    pub(crate) fn until(
        &mut self,
        what: &str,
        has: impl Fn(&str) -> bool,
    ) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            let read = within(async {
                while !has(&self.text()) {
                    assert!(
                        self.read().await,
                        "{caller}: {what}: ended\n{}",
                        self.text()
                    );
                }
            });
            assert!(read.await.is_some(), "{caller}: {what}:\n{}", self.text());
            self.text()
        }
    }

    /// Waits until the text contains this.
    #[track_caller]
    pub(crate) fn shows(&mut self, wanted: &str) -> impl Future<Output = String> {
        self.until(wanted, move |text| text.contains(wanted))
    }

    async fn read(&mut self) -> bool {
        match self.reader.next().await {
            Some(Piece::Bytes { bytes, .. }) => self.parser.advance(&mut self.term, &bytes),
            Some(Piece::Gap { .. }) => {}
            None => return false,
        }
        true
    }

    pub(crate) async fn keys(&self, keys: &str) {
        let written = within(self.terminal.write(keys.to_owned().into())).await;
        written.unwrap().unwrap();
    }

    /// Resizes the terminal, which wraps its lines anew.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.term.resize(Size(columns.into(), rows.into()));
        let size = WindowSize::new(rows, columns);
        self.terminal.resize(size).unwrap();
    }

    pub(crate) fn kill(&self) {
        self.terminal.signal(Signal::Kill).unwrap();
    }

    /// Waits for the end; returns the text and the exit status.
    pub(crate) async fn finish(mut self) -> (String, ExitStatus) {
        let read = within(async { while self.read().await {} });
        assert!(read.await.is_some(), "no end: {}", self.text());
        let exit = within(self.terminal.exited()).await.unwrap();
        (self.text(), exit.status)
    }

    /// Returns the lines of the screen, with those that have scrolled away; wrapped ones are joined.
    pub(crate) fn text(&self) -> String {
        let grid = self.term.grid();
        let (top, bottom) = (self.term.topmost_line().0, self.term.bottommost_line().0);
        let mut text = String::new();
        for line in top..=bottom {
            let row = &grid[Line(line)];
            let cells = (0..self.term.columns()).map(|at| &row[Column(at)]);
            let spacer = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
            let shown = cells.filter(|it| !it.flags.intersects(spacer));
            let shown: String = shown.map(|it| it.c).collect();
            let last = &row[Column(self.term.columns() - 1)];
            if last.flags.contains(Flags::WRAPLINE) {
                text.push_str(&shown);
            } else {
                text.push_str(shown.trim_end());
                text.push('\n');
            }
        }
        text.trim_end().to_owned()
    }
}

/// Returns the marks in the order in which a screen shows them; each is there once at most.
#[track_caller]
pub(crate) fn order<'a>(text: &str, marks: &[&'a str]) -> Vec<&'a str> {
    for mark in marks {
        assert!(text.matches(mark).count() < 2, "{mark}: {text}");
    }
    let found = marks
        .iter()
        .filter_map(|mark| Some((text.find(mark)?, *mark)));
    let mut found: Vec<_> = found.collect();
    found.sort_unstable();
    found.into_iter().map(|(_, mark)| mark).collect()
}
