//! Time to reattach to a session, with little and with much history.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use bowline_runner::wire::Lease;
use bowline_transport::{
    Attachment, Configuration, Piece, StartPosition, Stream, TerminationPolicy,
};

use super::served::{Endpoint, Served, on_terminal};
use super::{Plan, Row, child};
use crate::terminal::median;

/// Where a reattached client continues.
#[derive(Clone, Copy, Debug)]
enum Resumption {
    /// At its offset; nothing is missing.
    Resumed,
    /// With a snapshot of the screen.
    Screen,
}

pub(super) async fn rows(served: &Served, plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for history in plan.histories {
        let (shell, id, end) = begun(served, history).await?;
        for endpoint in [Endpoint::WebSocket, Endpoint::Grpc] {
            for (way, what) in [
                (Resumption::Resumed, "reattach at an offset"),
                (Resumption::Screen, "reattach with the screen"),
            ] {
                let mut times = Vec::new();
                for _ in 0..plan.attaches {
                    times.push(joined(served, endpoint, id, way, end).await?);
                }
                times.sort_unstable();
                let worst = times.last().copied().unwrap_or_default();
                let middle = median(times);
                let ms = |time: Duration| time.as_secs_f64() * 1000.0;
                let mib = history >> 20;
                rows.push(Row {
                    what,
                    contender: endpoint.name(),
                    figure: format!("{mib} MiB: {:.2} ms, worst {:.2} ms", ms(middle), ms(worst)),
                    ratio: None,
                    goal: None,
                });
            }
        }
        shell.terminate(TerminationPolicy::AT_ONCE).await;
    }
    rows.sort_by_key(|row| (row.what, row.contender));
    Ok(rows)
}

/// Starts a terminal session with a journal and this much output.
async fn begun(
    served: &Served,
    history: usize,
) -> Result<(
    bowline_transport::TerminalSession,
    bowline_transport::SessionId,
    u64,
)> {
    let mut what = on_terminal(Configuration::new("/bin/sh"));
    let program = std::env::current_exe()?;
    let program = program.to_string_lossy();
    let script = format!("\"{program}\" {} {history}; exec cat", child::FLOOD);
    what.args = vec!["-c".into(), script.into()];
    let id = served.make(what, true).await?;
    let session = served
        .join(Endpoint::WebSocket, id, Attachment::default())
        .await?;
    let mut output = session.reader(Stream::Output);
    let mut end = 0;
    while end < history as u64 {
        end = match output.next().await {
            Some(Piece::Bytes { offset, bytes }) => offset + bytes.len() as u64,
            Some(Piece::Gap { to, .. }) => to,
            None => bail!("the output ends at {end}"),
        };
    }
    Ok((session, id, end))
}

/// Measures the time until the attachment is complete, with the screen if requested.
async fn joined(
    served: &Served,
    endpoint: Endpoint,
    id: bowline_transport::SessionId,
    way: Resumption,
    end: u64,
) -> Result<Duration> {
    let start = match way {
        Resumption::Resumed => StartPosition::At {
            output: end,
            errors: 0,
            input: 0,
        },
        Resumption::Screen => StartPosition::Screen,
    };
    let attachment = Attachment {
        lease: Lease::Read,
        start,
        ..Attachment::default()
    };
    let started = Instant::now();
    let session = served.join(endpoint, id, attachment).await?;
    if matches!(way, Resumption::Screen) {
        let mut screens = session.screens();
        let screen = screens.wait_for(Option::is_some).await?;
        ensure!(
            screen.as_ref().is_some_and(|it| it.offset <= end),
            "the offset of the screen is past the end of the output"
        );
    }
    let took = started.elapsed();
    session.detach();
    Ok(took)
}
