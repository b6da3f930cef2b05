//! Terminals whose child writes continuously and never reads.

use std::time::Duration;

use bowline_transport::{InputLimits, PtyMode, Stream, TerminationPolicy, WriteError};

use super::support::{in_lanes, on_pty, shell, start, within};
use super::{Job, Random, Report};

const DEADLINE: Duration = Duration::from_millis(100);

pub(super) fn run(job: &Job) -> Report {
    in_lanes(job, 8, |_, random| one(random))
}

async fn one(mut random: Random) -> Result<(), String> {
    let mut configuration = on_pty(shell("exec yes"), PtyMode::Raw);
    configuration.input = InputLimits {
        deadline: Some(DEADLINE),
        ..InputLimits::default()
    };
    let session = start(configuration)?;
    let length = 100_000 + random.below(1 << 20) as usize;
    let written = session.write(vec![b'x'; length].into());
    match within("the deadline", written).await? {
        Err(WriteError::Stalled { taken, .. }) if taken < length => {}
        other => return Err(format!("a write of {length} bytes: {other:?}")),
    }
    // The input queue is full now; output must still be delivered.
    let mut output = session.reader_at(Stream::Output, u64::MAX);
    let before = session.end(Stream::Output);
    while session.end(Stream::Output) < before + (256 << 10) {
        within("output", output.next()).await?;
    }
    let report = within("terminate", session.terminate(TerminationPolicy::AT_ONCE)).await?;
    if report.survivors.is_empty() {
        return Ok(());
    }
    Err(format!("{report:?}"))
}
