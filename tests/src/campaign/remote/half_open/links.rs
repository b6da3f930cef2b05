//! Real links that go down and come back.

use std::time::{Duration, Instant};

use bowline_transport::{
    Configuration, ConnectionState, LogReader, Piece, PtyMode, Stream, TerminalSession,
};

use super::super::super::Report;
use super::super::super::support::{on_pty, runtime, within};
use super::super::daemon::Daemon;
use super::namespace::Namespace;

/// Longest time in which both sides detect the failure.
const FOUND_OUT: Duration = Duration::from_secs(15);

/// Longest time in which the host reconnects.
const BACK: Duration = Duration::from_secs(1);

/// Tolerance for a busy machine.
const LATE: Duration = Duration::from_millis(1_000);

/// Polling interval for the runner's client count.
const LOOK: Duration = Duration::from_millis(50);

/// Metric of the runner: number of attached clients.
const ATTACHED: &str = "bowline_attached{endpoint=\"frames\"}";

/// Kind of link failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// The link is taken down, and both machines see it.
    Down,
    /// All packets are dropped silently.
    Blackhole,
}

pub(super) fn run(links: u64, report: &mut Report) -> Result<(), String> {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(unavailable) => {
            report.note(format!("real links are left out: {unavailable}"));
            return Ok(());
        }
    };
    runtime().block_on(async {
        let daemon = Daemon::serve_in(namespace.name(), namespace.address())?;
        let child = on_pty(Configuration::new("/bin/cat"), PtyMode::Raw);
        let session = daemon.make(child).await?;
        let mut output = session.reader(Stream::Output);
        expect_output(&session, &mut output, "before ").await?;
        for number in 0..links {
            for failure in [Failure::Down, Failure::Blackhole] {
                let seen = fail(&namespace, &daemon, &session, failure).await?;
                report.note(format!("{number}, {failure:?}: {seen}"));
                let is_late = seen.host > FOUND_OUT || seen.runner > FOUND_OUT;
                // This machine does not notice that packets pass again, so that the pauses between
                // reconnects, and those of the kernel, count.
                let is_late = is_late || failure == Failure::Down && seen.back > BACK + LATE;
                if is_late {
                    report.late(format!("{failure:?}: {seen}"));
                }
                expect_output(&session, &mut output, "after ").await?;
            }
        }
        Ok(())
    })
}

/// Measured durations.
struct Seen {
    host: Duration,
    runner: Duration,
    back: Duration,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [host, runner, back] = [self.host, self.runner, self.back].map(|it| it.as_secs_f64());
        write!(
            f,
            "the host finds out after {host:.1} s, the runner after {runner:.1} s; back {back:.2} s \
             after the link"
        )
    }
}

async fn fail(
    namespace: &Namespace,
    daemon: &Daemon,
    session: &TerminalSession,
    failure: Failure,
) -> Result<Seen, String> {
    let mut link = session.connection();
    let broken = Instant::now();
    match failure {
        Failure::Down => namespace.set_link(false)?,
        Failure::Blackhole => namespace.set_blackhole(true)?,
    }
    let host = async {
        let down = link.wait_for(|state| !state.is_up());
        let state = within("the host finds out", down).await?;
        state.map_err(|error| error.to_string())?;
        Ok::<_, String>(broken.elapsed())
    };
    let runner = async {
        while daemon.metric(ATTACHED).await? > 0 {
            tokio::time::sleep(LOOK).await;
        }
        Ok::<_, String>(broken.elapsed())
    };
    let (host, runner) = tokio::join!(host, within("the runner finds out", runner));
    let (host, runner) = (host?, runner??);
    let mended = Instant::now();
    match failure {
        Failure::Down => namespace.set_link(true)?,
        Failure::Blackhole => namespace.set_blackhole(false)?,
    }
    let mut link = session.connection();
    let up = link.wait_for(ConnectionState::is_up);
    let up = within("the host is back", up).await?;
    up.map_err(|error| error.to_string())?;
    let back = mended.elapsed();
    Ok(Seen { host, runner, back })
}

/// Writes input and reads exactly its echo.
async fn expect_output(
    session: &TerminalSession,
    output: &mut LogReader,
    what: &'static str,
) -> Result<(), String> {
    let written = within("a write", session.write(what.into())).await?;
    written.map_err(|error| error.to_string())?;
    let mut received = Vec::new();
    while received.len() < what.len() {
        match within("an echo", output.next()).await? {
            Some(Piece::Bytes { bytes, .. }) => received.extend_from_slice(&bytes),
            other => return Err(format!("the echo is {other:?}")),
        }
    }
    let is_same = received == what.as_bytes();
    is_same
        .then_some(())
        .ok_or_else(|| format!("{received:?} is no {what:?}"))
}
