//! Round trip of a key to a child and back.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bowline_transport::{Attachment, Configuration, Piece, Stream, TerminationPolicy};

use super::served::{Endpoint, Served, on_terminal};
use super::{Plan, Row, bare};
use crate::terminal::median;

pub(super) async fn rows(served: &Served, plan: &Plan) -> Result<Vec<Row>> {
    let mut all = vec![Vec::new(); 1 + Endpoint::ALL.len()];
    for _ in 0..plan.rounds {
        all[0].extend(bare::echo(plan.keys).await?);
        for (endpoint, times) in Endpoint::ALL.into_iter().zip(&mut all[1..]) {
            times.extend(through(served, endpoint, plan.keys).await?);
        }
    }
    let first = median(all[0].clone()).as_secs_f64();
    let names = ["a byte over TCP and back"].into_iter();
    let names = names.chain(Endpoint::ALL.map(Endpoint::name));
    let rows = names
        .zip(all)
        .enumerate()
        .map(|(at, (contender, mut times))| {
            times.sort_unstable();
            let late = times[times.len() * 99 / 100].as_secs_f64();
            let middle = median(times).as_secs_f64();
            Row {
                what: "a key to a terminal and back",
                contender,
                figure: format!("{:.0} us, p99 {:.0} us", middle * 1e6, late * 1e6),
                ratio: (at > 0).then(|| middle / first),
                goal: None,
            }
        });
    Ok(rows.collect())
}

async fn through(served: &Served, endpoint: Endpoint, keys: usize) -> Result<Vec<Duration>> {
    let what = on_terminal(Configuration::new("/bin/cat"));
    let id = served.make(what, false).await?;
    let session = served.join(endpoint, id, Attachment::default()).await?;
    let mut output = session.reader(Stream::Output);
    let mut times = Vec::with_capacity(keys);
    for _ in 0..keys {
        let pressed = Instant::now();
        session.write("k".into()).await?;
        match output.next().await {
            Some(Piece::Bytes { .. }) => times.push(pressed.elapsed()),
            other => bail!("expected an echo, received {other:?}"),
        }
    }
    session.terminate(TerminationPolicy::AT_ONCE).await;
    Ok(times)
}
