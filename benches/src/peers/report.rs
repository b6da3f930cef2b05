//! Results and their formats.

use std::fmt::Write as _;

use serde::Serialize;

use super::Sample;
use crate::contenders::Contender;

/// One contender on one stream.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The stream.
    pub corpus: String,
    /// The contender.
    pub contender: &'static str,
    /// Megabytes per second of CPU time.
    pub mb_s: f64,
    /// CPU time per line in nanoseconds.
    pub ns_per_event: f64,
    /// Speed relative to the base contender.
    pub ratio: f64,
}

/// Contenders that decode into the same borrowed structs as Bowline.
const TYPED_PEERS: [Contender; 4] = [
    Contender::SerdeJson,
    Contender::SonicRs,
    Contender::SimdJson,
    Contender::Jiter,
];

/// Contenders of the same job, ours first: all members of an event; each string decoded; each as written. The last one
/// reads less than ours does.
const PAIRS: [(&str, &str); 4] = [
    ("bowline", "serde_json_event"),
    ("bowline_decoded", "simdjson_decoded"),
    ("bowline", "simdjson_raw"),
    ("bowline", "simdjson_envelope"),
];

impl Row {
    /// Returns the row of a contender that was measured apart from `base`, on the same stream: the median of the
    /// times of its processes. `size` is the number of bytes and of lines.
    pub(super) fn beside(
        base: &Self,
        contender: &'static str,
        nanos: Vec<f64>,
        [bytes, events]: [u64; 2],
    ) -> Self {
        let nanos = median(nanos);
        let mb_s = bytes as f64 * 1e3 / nanos;
        Self {
            corpus: base.corpus.clone(),
            contender,
            mb_s: rounded(mb_s, 10.0),
            ns_per_event: rounded(nanos / events as f64, 10.0),
            ratio: rounded(mb_s / base.mb_s, 1000.0),
        }
    }

    /// Returns the medians over the processes for the contender at `place`, relative to the one at
    /// `base`.
    pub(super) fn median(
        corpus: &str,
        contender: &'static str,
        [place, base]: [usize; 2],
        samples: &[Sample],
    ) -> Self {
        let of = |figure: &dyn Fn(&Sample, f64) -> f64| {
            let figures = samples.iter().map(|it| figure(it, it.nanos[place]));
            median(figures.collect())
        };
        Self {
            corpus: corpus.into(),
            contender,
            mb_s: rounded(of(&|it, nanos| it.bytes as f64 * 1e3 / nanos), 10.0),
            ns_per_event: rounded(of(&|it, nanos| nanos / it.events as f64), 10.0),
            ratio: rounded(of(&|it, nanos| it.nanos[base] / nanos), 1000.0),
        }
    }
}

fn rounded(value: f64, digits: f64) -> f64 {
    (value * digits).round() / digits
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Formats the rows as one JSON object per line.
#[must_use]
pub fn json(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        // A row has only strings and finite numbers, so that serialisation cannot fail.
        out.push_str(&serde_json::to_string(row).unwrap_or_default());
        out.push('\n');
    }
    out
}

/// Formats the rows of one stream as a table.
#[must_use]
pub fn table(rows: &[Row], sample: &Sample) -> String {
    let mut out = String::new();
    let name = rows.first().map_or("", |row| &row.corpus);
    let megabytes = sample.bytes as f64 / 1e6;
    let events = sample.events;
    let _ = writeln!(out, "\n{name}: {megabytes:.1} MB, {events} events");
    if sample.unfit > 0 {
        let unfit = sample.unfit;
        let _ = writeln!(out, "left out: {unfit} lines that serde_json does not take");
    }
    let _ = writeln!(
        out,
        "{:<20}{:>10}{:>14}{:>10}",
        "contender", "MB/s", "ns/event", "ratio"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "{:<20}{:>10.0}{:>14.1}{:>10.2}",
            row.contender, row.mb_s, row.ns_per_event, row.ratio
        );
    }
    if let Some((ratio, peer)) = over_best_peer(rows) {
        let _ = writeln!(out, "bowline over the best typed peer, {peer}: {ratio:.2}");
    }
    for (ours, theirs, ratio) in over_others(rows) {
        let _ = writeln!(out, "{ours} over {theirs}: {ratio:.2}");
    }
    out
}

/// Returns the speed of ours relative to the others', where both were measured.
fn over_others(rows: &[Row]) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
    let speed = |name: &str| {
        let mut rows = rows.iter();
        rows.find(|row| row.contender == name).map(|row| row.mb_s)
    };
    PAIRS
        .into_iter()
        .filter_map(move |(ours, theirs)| Some((ours, theirs, speed(ours)? / speed(theirs)?)))
}

fn over_best_peer(rows: &[Row]) -> Option<(f64, &'static str)> {
    let ours = rows.iter().find(|row| row.contender == "bowline")?;
    let best = rows
        .iter()
        .filter(|row| TYPED_PEERS.iter().any(|it| it.name() == row.contender))
        .max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    Some((ours.ratio / best.ratio, best.contender))
}

/// Returns the instruction sets that the compiler may use. `sonic-rs` depends on them; Bowline and
/// `simd-json` detect them at run time.
#[must_use]
pub fn build_features() -> String {
    let features = [
        ("sse2", cfg!(target_feature = "sse2")),
        ("sse4.2", cfg!(target_feature = "sse4.2")),
        ("pclmulqdq", cfg!(target_feature = "pclmulqdq")),
        ("avx2", cfg!(target_feature = "avx2")),
        ("bmi2", cfg!(target_feature = "bmi2")),
        ("avx512f", cfg!(target_feature = "avx512f")),
        ("neon", cfg!(target_feature = "neon")),
    ];
    let names: Vec<_> = features
        .into_iter()
        .filter_map(|(name, on)| on.then_some(name))
        .collect();
    format!("{} with {}", std::env::consts::ARCH, names.join(", "))
}
