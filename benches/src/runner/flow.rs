//! How fast a child's output comes to a host: bytes, and the frames they come in.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use bowline_transport::{Attachment, Ladder, Piece, Stream};

use super::served::{Door, Served, hidden};
use super::{Plan, Row, bare, child};
use crate::terminal::{median, megabytes};

/// Bytes, pieces and time.
type Carried = (usize, usize, Duration);

pub(super) async fn rows(served: &Served, plan: &Plan) -> Result<Vec<Row>> {
    let mut figures = vec![Vec::new(); 1 + Door::ALL.len()];
    for _ in 0..plan.rounds {
        let bare = bare::copy(plan.bytes).await?;
        let mut carried = vec![bare];
        for door in Door::ALL {
            carried.push(through(served, door, plan.bytes).await?);
        }
        for (figures, carried) in figures.iter_mut().zip(carried) {
            let (bytes, pieces, took) = carried;
            ensure!(bytes == plan.bytes, "{bytes} of {} bytes came", plan.bytes);
            figures.push((megabytes(bytes, took), pieces as f64 / took.as_secs_f64()));
        }
    }
    let middles = figures.into_iter().map(|figures| {
        let (speeds, frames): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
        (median(speeds), median(frames))
    });
    let middles: Vec<(f64, f64)> = middles.collect();
    let names = ["a pipe copied to TCP"].into_iter();
    let names = names.chain(Door::ALL.map(Door::name));
    let rows = names
        .zip(&middles)
        .enumerate()
        .map(|(at, (who, (speed, frames)))| Row {
            what: "output of a child on pipes",
            who,
            figure: format!("{speed:.0} MB/s, {frames:.0} frames/s"),
            ratio: (at > 0).then(|| speed / middles[0].0),
            goal: None,
        });
    Ok(rows.collect())
}

/// The output of a child that waits until it is asked, so that nothing is written before somebody
/// reads.
async fn through(served: &Served, door: Door, bytes: usize) -> Result<Carried> {
    let what = hidden(&[child::FLOOD_ASKED, &bytes.to_string()])?;
    let id = served.make(what, false).await?;
    let session = served.join(door, id, Attachment::default()).await?;
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
    session.terminate(Ladder::AT_ONCE).await;
    Ok((came, pieces, took))
}
