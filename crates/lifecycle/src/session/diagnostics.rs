//! What is known of a session, for a report of a problem.

use std::collections::BTreeMap;
use std::io;

use bowline_reducer::dialect::DialectName;
use bowline_transport::journal::{Arrival, Arrived};
use bowline_transport::wire::StreamId;
use bowline_transport::{Piece, Stream};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tracing::warn;

use super::handle::DialogueSession;
use super::raw_output::RawOutput;
use super::recorded_output::OutputSource;
use super::recording::{RecordedOutput, exit_line, output_stream};

/// Bytes per read of the recording.
const CHUNK: usize = 256 << 10;

/// What is known of a session. It contains everything that was said; `bowline_recording::Bundle` redacts it and
/// writes it as one file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnostics {
    /// When this host started or attached to the session, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// The agent's protocol.
    pub dialect: DialectName,
    /// The session's id, settings, limits, state and end: a JSON object.
    pub facts: Value,
    /// The streams so far: output, standard error, input, and the exit. What is no longer kept is a gap.
    pub streams: BTreeMap<StreamId, Vec<Arrived>>,
}

impl DialogueSession {
    /// Returns what is known of the session until now, whether it runs or has ended. The streams come from the
    /// recording or from what is [kept](crate::DialogueConfiguration::kept_output), and are in memory. Of a
    /// session at a runner the input is that of this host, and `bowline bundle ID` has that of all.
    pub async fn diagnostics(&self) -> Diagnostics {
        let output = output_stream(self.terminal.kind());
        let mut streams = BTreeMap::new();
        for (id, stream) in [(output, Stream::Output), (StreamId::STDERR, Stream::Errors)] {
            let reader = self.raw_output(stream, 0);
            let pieces = pieces_until(reader, self.raw_end(stream)).await;
            streams.insert(id, pieces);
        }
        streams.insert(StreamId::INPUT, self.input().await);
        if self.has_ended() {
            let exit = self.ended().await.exit;
            let piece = Piece::Bytes {
                offset: 0,
                bytes: exit_line(&exit, output),
            };
            streams.insert(StreamId::LIFECYCLE, vec![piece.into()]);
        }
        streams.retain(|_, pieces| !pieces.is_empty());
        Diagnostics {
            started_ms: self.sources.started_ms,
            dialect: self.dialect(),
            facts: self.facts().await,
            streams,
        }
    }

    /// Returns the input from the recording, or what is kept of it.
    async fn input(&self) -> Vec<Arrived> {
        let recorded = self.sources.log.recorded().filter(|it| it.is_journal);
        if let Some(recorded) = recorded {
            let read = spawn_blocking(move || recorded_input(&recorded)).await;
            match read.map_err(io::Error::other).flatten() {
                Ok(pieces) => return pieces,
                Err(error) => warn!(%error, "cannot read the recording"),
            }
        }
        let kept = self.sources.log.kept_input();
        let lines = kept.lines().map(|line| Arrived {
            arrival: Arrival::at(line.at_ms).beside(line.output_end),
            piece: Piece::Bytes {
                offset: line.offset,
                bytes: line.line.clone(),
            },
        });
        lines.collect()
    }

    async fn facts(&self) -> Value {
        let (phase, reason) = self
            .inspect(|it| {
                let status = it.status();
                (json!(status.phase), status.reason.into_owned())
            })
            .await;
        let end = match self.has_ended() {
            true => Some(self.ended().await),
            false => None,
        };
        let end = end.map(|end| {
            json!({
                "status": format!("{:?}", end.exit.status),
                "reason": end.reason,
                "is_expected": end.expected,
                "containment": format!("{:?}", end.report.level),
                "survivors": end.report.survivors.len(),
                "recording_failed": end.recording_failed,
            })
        });
        json!({
            "id": self.id().to_string(),
            "dialect": self.dialect().to_string(),
            "pid": self.pid(),
            "stdio": format!("{:?}", self.terminal.kind()),
            "containment": format!("{:?}", self.terminal.containment()),
            "connection": format!("{:?}", *self.connection().borrow()),
            "phase": phase,
            "reason": reason,
            "usage": self.terminal.resource_usage().map(|usage| format!("{usage:?}")),
            "settings": serde_json::from_str::<Value>(&self.sources.settings).unwrap_or_default(),
            "end": end,
        })
    }
}

/// Reads the pieces before an offset, all of which are there.
async fn pieces_until(mut reader: RawOutput, end: u64) -> Vec<Arrived> {
    let mut pieces = Vec::new();
    while reader.offset() < end
        && let Some(piece) = reader.next().await
    {
        pieces.push(piece.into());
    }
    pieces
}

fn recorded_input(recorded: &RecordedOutput) -> io::Result<Vec<Arrived>> {
    let mut source = OutputSource::open(recorded, StreamId::INPUT)?;
    let (mut pieces, mut at) = (Vec::new(), 0);
    while let Some(piece) = source.read(at, CHUNK)? {
        at = piece.end();
        pieces.push(piece);
    }
    Ok(pieces)
}
