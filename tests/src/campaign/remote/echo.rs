//! An interactive client that measures the latency of its keystrokes.

use std::time::{Duration, Instant};

use bowline_transport::{Configuration, LogReader, Piece, PtyMode, Stream, TerminalSession};

use super::super::support::{on_pty, within};
use super::daemon::Daemon;

/// A terminal whose child echoes its input.
#[derive(Debug)]
pub(super) struct Echo {
    session: TerminalSession,
    output: LogReader,
}

impl Echo {
    pub(super) async fn start(daemon: &Daemon) -> Result<Self, String> {
        let session = daemon
            .make(on_pty(Configuration::new("/bin/cat"), PtyMode::Raw))
            .await?;
        let output = session.reader(Stream::Output);
        let mut echo = Self { session, output };
        // The first keystroke allocates what all need.
        echo.beat().await?;
        Ok(echo)
    }

    /// Time from a keystroke to its echo.
    pub(super) async fn beat(&mut self) -> Result<Duration, String> {
        let pressed = Instant::now();
        let written = within("a key", self.session.write("k".into())).await?;
        written.map_err(|error| error.to_string())?;
        match within("an echo", self.output.next()).await? {
            Some(Piece::Bytes { bytes, .. }) if &bytes[..] == b"k" => Ok(pressed.elapsed()),
            other => Err(format!("the echo is {other:?}")),
        }
    }
}

/// A percentile of some times, in milliseconds.
pub(super) fn percentile(times: &mut [Duration], share: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * share / 100).min(times.len().saturating_sub(1));
    times
        .get(at)
        .map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

/// The median of some numbers.
pub(super) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
