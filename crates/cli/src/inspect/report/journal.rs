//! What a journal holds besides the agent's lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::input::Journal;

/// The journal as a JSON object.
pub(super) fn json(journal: &Journal) -> Value {
    let streams: BTreeMap<_, _> = journal
        .streams
        .iter()
        .map(|(stream, kept)| {
            (
                stream.to_string(),
                json!({ "start": kept.start, "end": kept.end }),
            )
        })
        .collect();
    json!({
        "started_ms": journal.started_ms,
        "streams": streams,
        "broken": journal.broken,
    })
}

/// The journal as lines of text.
pub(super) fn text(journal: &Journal) -> String {
    let mut out = String::new();
    for (stream, kept) in &journal.streams {
        let (stream, start, end) = (stream.to_string(), kept.start, kept.end);
        // Writing into a string cannot fail.
        let _ = writeln!(out, "stream         {stream}, bytes {start} to {end}");
    }
    if let Some(why) = journal.broken {
        let _ = writeln!(out, "journal        {why}");
    }
    out
}
