//! A client that stops reading while the child writes continuously.
//!
//! The child writes in rounds. The client's link is stalled in one round and reads in the next; the
//! keystroke latency of another session is measured in both, so that the load of the machine
//! affects both. Checked: the runner and the session's shim grow by at most 8 MiB; the latency does
//! not increase; and when the client resumes, it receives every byte, or a gap with the missing
//! range and the screen at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_runner::SessionScreen;
use bowline_runner::wire::{Lease, SessionKind};
use bowline_transport::{
    Attachment, LogReader, Piece, PtyMode, SessionRequest, Stream, TerminalEngine, TerminalSession,
    WindowSize,
};

use super::super::support::{hidden, on_pty, runtime, within};
use super::super::{Job, Report};
use super::daemon::Daemon;
use super::echo::{Echo, median, percentile};
use super::flood::{self, LINE};
use super::memory;
use super::network::Detour;
use crate::chaos::{Address, ChaosProxy, Faults};

/// Number of rounds of each kind.
const ROUNDS: u64 = 5;

/// Maximum growth of the runner, and of the shim.
const GROWTH: u64 = 8 << 20;

/// Maximum slowdown of a keystroke.
const LATER: f64 = 1.10;

/// Number of lines that fill any screen.
const SCREENFUL: u64 = 2_000;

/// Minimum number of keystrokes measured in each round.
const KEYS: usize = 200;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(measure(job, &mut report)) {
        report.violation(error);
    }
    report
}

async fn measure(job: &Job, report: &mut Report) -> Result<(), String> {
    let daemon = Daemon::start()?;
    let mut stage = Stage::set(&daemon, job.seed).await?;
    let lines = (job.count << 20) / (LINE as u64 * 2 * ROUNDS);
    // Buffers that any flood allocates exist before memory is measured.
    stage.round(lines.min(64 << 10), false).await?;
    let before = stage.memory();
    let (mut stuck, mut along) = (Vec::new(), Vec::new());
    let mut most = before;
    for _ in 0..ROUNDS {
        for is_stuck in [false, true] {
            let round = stage.round(lines, is_stuck).await?;
            most = [most[0].max(round.memory[0]), most[1].max(round.memory[1])];
            let p99s = if is_stuck { &mut stuck } else { &mut along };
            p99s.push(round.p99);
        }
    }
    report.done = job.count;
    judge(report, before, most);
    compare(report, along, stuck);
    report.note(format!(
        "{} gaps of {} MiB in all, each with the exact screen at its end",
        stage.gaps,
        stage.missing >> 20
    ));
    if stage.gaps == 0 {
        report.violation("the client has missed nothing: it was not slow".to_owned());
    }
    Ok(())
}

fn judge(report: &mut Report, before: [u64; 2], most: [u64; 2]) {
    for (process, (before, most)) in ["runner", "shim"].iter().zip(before.iter().zip(most)) {
        let grown = most.saturating_sub(*before);
        let (kib, had) = (grown >> 10, before >> 10);
        report.note(format!("the {process} grows by {kib} KiB, from {had} KiB"));
        if grown > GROWTH {
            report.violation(format!("the {process} grows by {kib} KiB"));
        }
    }
}

/// Compares the medians; the spread of equal rounds is the measurement error.
fn compare(report: &mut Report, mut along: Vec<f64>, mut stuck: Vec<f64>) {
    let (calm, slow) = (median(&mut along), median(&mut stuck));
    let spread = along.last().unwrap_or(&calm) - along.first().unwrap_or(&calm);
    report.note(format!(
        "a key of another client: p99 {slow:.2} ms beside a client that is stuck, {calm:.2} ms beside \
         one that reads ({:+.0} %; its rounds lie {spread:.2} ms apart)",
        (slow / calm - 1.0) * 100.0
    ));
    if slow > calm * LATER + spread {
        report.late(format!("p99 {slow:.2} ms beside {calm:.2} ms"));
    }
}

/// A flood, a client that reads it, a client that stalls, and an interactive client.
struct Stage<'a> {
    daemon: &'a Daemon,
    shim: u32,
    proxy: ChaosProxy,
    writer: TerminalSession,
    whole: LogReader,
    slow: TerminalSession,
    part: LogReader,
    echo: Echo,
    written: u64,
    gaps: u64,
    missing: u64,
}

struct Round {
    p99: f64,
    memory: [u64; 2],
}

impl<'a> Stage<'a> {
    async fn set(daemon: &'a Daemon, seed: u64) -> Result<Self, String> {
        let proxy =
            ChaosProxy::start(Address::Tcp(daemon.address()), seed, Faults::default()).await;
        let proxy = proxy.map_err(|error| error.to_string())?;
        proxy.be_kind();
        let mut order = SessionRequest::new(
            SessionKind::Terminal,
            on_pty(hidden(flood::MODE, &[]), PtyMode::Raw),
        );
        // With a journal, the client would receive everything.
        order.journal = false;
        let writer = daemon.make_with(&order).await?;
        let remote = daemon.remote_over(Arc::new(Detour(proxy.address())));
        let attachment = Attachment {
            lease: Lease::Read,
            ..Attachment::default()
        };
        let slow = TerminalEngine.attach_remote(&remote, writer.id(), attachment);
        let slow = within("an attach", slow).await?;
        let slow = slow.map_err(|error| error.to_string())?;
        let info = daemon.info(writer.id()).ok_or("no such session")?;
        Ok(Self {
            daemon,
            shim: info.shim_pid,
            proxy,
            whole: writer.reader(Stream::Output),
            writer,
            part: slow.reader(Stream::Output),
            slow,
            echo: Echo::start(daemon).await?,
            written: 0,
            gaps: 0,
            missing: 0,
        })
    }

    fn memory(&self) -> [u64; 2] {
        [self.daemon.pid(), self.shim].map(memory::private)
    }

    /// Writes a part of the flood, and measures every client meanwhile.
    async fn round(&mut self, lines: u64, is_stuck: bool) -> Result<Round, String> {
        let end = self.written + lines * LINE as u64;
        self.proxy.freeze(is_stuck);
        let order = self.writer.write(format!("{lines}\n").into());
        within("an order", order)
            .await?
            .map_err(|error| error.to_string())?;
        let pids = [self.daemon.pid(), self.shim];
        let is_done = AtomicBool::new(false);
        let (echo, whole, part, slow) =
            (&mut self.echo, &mut self.whole, &mut self.part, &self.slow);
        let work = async {
            let mut times = Vec::new();
            let mut most = [0; 2];
            while !is_done.load(Ordering::Relaxed) || times.len() < KEYS {
                let beat = echo.beat().await?;
                times.push(beat);
                if times.len() % 16 == 0 {
                    let now = pids.map(memory::private);
                    most = [most[0].max(now[0]), most[1].max(now[1])];
                }
            }
            Ok::<_, String>(Round {
                p99: percentile(&mut times, 99),
                memory: most,
            })
        };
        let mut missed = (0, 0);
        let reading = async {
            if is_stuck {
                let all = read(whole, None, end).await.map(drop);
                is_done.store(true, Ordering::Relaxed);
                return all;
            }
            let (all, some) = tokio::join!(read(whole, None, end), read(part, Some(slow), end));
            is_done.store(true, Ordering::Relaxed);
            missed = some?;
            all.map(drop)
        };
        let (round, reading) = tokio::join!(work, reading);
        reading?;
        if is_stuck {
            self.proxy.freeze(false);
            missed = read(&mut self.part, Some(&self.slow), end).await?;
        }
        self.gaps += missed.0;
        self.missing += missed.1;
        self.written = end;
        round
    }
}

/// Reads up to an offset and verifies every byte. Returns the number of gaps and the bytes in them.
/// The screen, if there is one, is checked at each gap.
async fn read(
    reader: &mut LogReader,
    session: Option<&TerminalSession>,
    end: u64,
) -> Result<(u64, u64), String> {
    let (mut gaps, mut missing) = (0, 0);
    let mut next = None;
    while next.is_none_or(|next| next < end) {
        match within("output", reader.next()).await? {
            Some(Piece::Bytes { offset, bytes }) => {
                if next.is_some_and(|next| next != offset) {
                    return Err(format!("{offset} comes, and {next:?} was next"));
                }
                if flood::bytes(offset, bytes.len()) != bytes {
                    return Err(format!("the output at {offset} is another one"));
                }
                next = Some(offset + bytes.len() as u64);
            }
            Some(Piece::Gap { from, to }) => {
                if next.is_some_and(|next| next != from) || to <= from {
                    return Err(format!("a gap {from}..{to}, and {next:?} was next"));
                }
                gaps += 1;
                missing += to - from;
                next = Some(to);
                if let Some(session) = session {
                    looks_right(session, to)?;
                }
            }
            other => return Err(format!("{other:?} before {end}")),
        }
    }
    Ok((gaps, missing))
}

/// Whether the screen at the end of a gap is that of the child's output.
fn looks_right(session: &TerminalSession, to: u64) -> Result<(), String> {
    let screen = session.screen().ok_or("a gap without a screen")?;
    if screen.offset < to {
        return Err(format!(
            "the screen is of {}, the gap ends at {to}",
            screen.offset
        ));
    }
    let from = (screen.offset / LINE as u64).saturating_sub(SCREENFUL) * LINE as u64;
    let mut expected = SessionScreen::new(WindowSize::default());
    expected.feed(from, &flood::bytes(from, (screen.offset - from) as usize));
    let expected = expected.snapshot();
    if expected.bytes != screen.bytes {
        return Err(format!("the screen at {} is another one", screen.offset));
    }
    Ok(())
}
