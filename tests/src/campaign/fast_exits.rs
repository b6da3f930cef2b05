//! Children that write and exit immediately.

use bowline_transport::{Drained, ExitStatus, Piece, PtyMode, Stream};

use super::support::{hidden, in_lanes, on_pty, start, within};
use super::{Job, Random, Report};

/// More than a child writes here, so that a terminal session drops nothing.
const LOG_BYTES: usize = 2 << 20;

pub(super) fn run(job: &Job) -> Report {
    in_lanes(job, 6, one)
}

async fn one(number: u64, mut random: Random) -> Result<(), String> {
    // Sizes are distributed evenly over the orders of magnitude.
    let magnitude = random.below(21);
    let size = (1 << magnitude) + random.below(1 << magnitude);
    let size = size.min(1 << 20);
    let (seed, code) = (random.draw(), random.below(99));
    let args = [seed, size, code].map(|number| number.to_string());
    let mut configuration = hidden(super::hidden::EMIT, &args);
    configuration.limits.output_bytes = LOG_BYTES;
    let is_pty = number % 2 == 1;
    if is_pty {
        configuration = on_pty(configuration, PtyMode::Raw);
    }
    let session = start(configuration)?;
    let exit = within("exit", session.exited()).await?;
    let wrong = |what: &str| {
        Err(format!(
            "{what}: seed {seed} size {size} pty {is_pty}: {exit:?}"
        ))
    };
    if (exit.status, exit.drained) != (ExitStatus::Code(code as i32), Drained::Clean) {
        return wrong("ended otherwise");
    }
    if exit.output_end != size {
        return wrong("exit reported before the last byte");
    }
    // All output must be available without waiting.
    let mut output = session.reader(Stream::Output);
    let mut got = Vec::new();
    while let Some(Piece::Bytes { bytes, .. }) = output.try_next() {
        got.extend_from_slice(&bytes);
    }
    if got != Random::new(seed).bytes(size as usize) {
        return wrong("other bytes");
    }
    if within("exit again", session.exited()).await? != exit {
        return wrong("exit reported twice, with different contents");
    }
    Ok(())
}
