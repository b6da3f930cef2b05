//! Throughput of a child's output to a client: bytes, and the frames that carry them.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use bowline_transport::{Attachment, Piece, Stream, TerminationPolicy};

use super::served::{Endpoint, Served, hidden};
use super::{Plan, Row, bare, child};
use crate::terminal::{median, megabytes};

/// Bytes, pieces and time.
type Carried = (usize, usize, Duration);

pub(super) async fn rows(served: &Served, plan: &Plan) -> Result<Vec<Row>> {
    let mut figures = vec![Vec::new(); 1 + Endpoint::ALL.len()];
    for _ in 0..plan.rounds {
        let bare = bare::copy(plan.bytes).await?;
        let mut carried = vec![bare];
        for endpoint in Endpoint::ALL {
            carried.push(through(served, endpoint, plan.bytes).await?);
        }
        for (figures, carried) in figures.iter_mut().zip(carried) {
            let (bytes, pieces, took) = carried;
            ensure!(
                bytes == plan.bytes,
                "received {bytes} of {} bytes",
                plan.bytes
            );
            figures.push((megabytes(bytes, took), pieces as f64 / took.as_secs_f64()));
        }
    }
    let middles = figures.into_iter().map(|figures| {
        let (speeds, frames): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
        (median(speeds), median(frames))
    });
    let middles: Vec<(f64, f64)> = middles.collect();
    let names = ["a pipe copied to TCP"].into_iter();
    let names = names.chain(Endpoint::ALL.map(Endpoint::name));
    let rows = names
        .zip(&middles)
        .enumerate()
        .map(|(at, (contender, (speed, frames)))| Row {
            what: "output of a child on pipes",
            contender,
            figure: format!("{speed:.0} MB/s, {frames:.0} frames/s"),
            ratio: (at > 0).then(|| speed / middles[0].0),
            goal: None,
        });
    Ok(rows.collect())
}

/// Reads the output of a child that waits for input, so that nothing is written before the reader
/// is attached.
async fn through(served: &Served, endpoint: Endpoint, bytes: usize) -> Result<Carried> {
    let what = hidden(&[child::FLOOD_ASKED, &bytes.to_string()])?;
    let id = served.make(what, false).await?;
    let session = served.join(endpoint, id, Attachment::default()).await?;
    let mut output = session.reader(Stream::Output);
    let (mut came, mut pieces) = (0, 0);
    let started = Instant::now();
    session.write("g".into()).await?;
    while let Some(piece) = output.next().await {
        let Piece::Bytes { bytes, .. } = piece else {
            bail!("{piece:?} in the output");
        };
        came += bytes.len();
        pieces += 1;
    }
    let took = started.elapsed();
    session.terminate(TerminationPolicy::AT_ONCE).await;
    Ok((came, pieces, took))
}
