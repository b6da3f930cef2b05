//! All streams of a session in memory.

use std::collections::BTreeMap;

use bowline_lifecycle::journal::{Arrived, encode_segment};
use bowline_lifecycle::{Diagnostics, Piece, StreamId};
use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Value, json};

use crate::redact::Redactor;

/// The reason of the gaps in a journal that is made from streams.
const NOT_KEPT: &str = "not kept";

/// The bytes of a session's streams, with their offsets, and when and where they arrived.
#[derive(Clone, Debug, Default)]
pub struct SessionStreams {
    /// When the session started, in milliseconds since the Unix epoch, if it is known.
    pub(crate) started_ms: Option<u64>,
    /// Whether they are lines of output alone, without offsets, times or an end.
    pub(crate) is_lines: bool,
    pieces: BTreeMap<StreamId, Vec<Arrived>>,
}

impl SessionStreams {
    /// Creates streams without bytes, of a session that started at a time, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn new(started_ms: Option<u64>) -> Self {
        Self {
            started_ms,
            ..Self::default()
        }
    }

    /// Creates the streams of a recording of lines.
    pub(crate) fn of_lines() -> Self {
        Self {
            is_lines: true,
            ..Self::default()
        }
    }

    /// Appends a piece of a stream, which follows the last one of that stream.
    pub fn push(&mut self, stream: StreamId, piece: Arrived) {
        self.pieces.entry(stream).or_default().push(piece);
    }

    /// Encodes the streams as a journal, or as lines if they come from a recording of lines.
    pub(crate) fn encode(&self) -> Vec<u8> {
        if self.is_lines {
            let pieces = self.pieces.get(&StreamId::STDOUT).into_iter().flatten();
            let mut lines = Vec::new();
            for piece in pieces {
                if let Piece::Bytes { bytes, .. } = &piece.piece {
                    lines.extend_from_slice(bytes);
                }
            }
            return lines;
        }
        // Input comes before the output that follows it, and the exit last.
        let order = |stream: &StreamId| match *stream {
            StreamId::INPUT => 0,
            StreamId::CONTROL => 1,
            StreamId::LIFECYCLE => 3,
            _ => 2,
        };
        let mut streams: Vec<_> = self.pieces.iter().collect();
        streams.sort_by_key(|(stream, _)| order(stream));
        let pieces = streams
            .into_iter()
            .flat_map(|(stream, pieces)| pieces.iter().map(|piece| (*stream, piece.clone())));
        let started_ms = self.started_ms.unwrap_or(0);
        encode_segment(started_ms, NOT_KEPT, pieces)
    }

    /// Redacts all streams. Offsets stay valid.
    pub(crate) fn redact(&mut self, redactor: &Redactor) {
        for pieces in self.pieces.values_mut() {
            let mut first = 0;
            while first < pieces.len() {
                let run = pieces[first..].iter();
                let length = run.take_while(|piece| is_bytes(piece)).count();
                redact_run(&mut pieces[first..first + length], redactor);
                // A gap, in which a line may end.
                first += length + 1;
            }
        }
    }

    /// Describes each stream: its bytes, its gaps, and the times of its first and last byte.
    pub(crate) fn summary(&self) -> Value {
        let streams = self.pieces.iter().map(|(stream, pieces)| {
            let times = || pieces.iter().filter_map(|it| it.arrival.at_ms);
            let mut gaps = Vec::new();
            let (mut bytes, mut end) = (0, 0);
            for piece in pieces {
                let begin = match &piece.piece {
                    Piece::Bytes { offset, bytes: it } => {
                        bytes += it.len();
                        *offset
                    }
                    Piece::Gap { to, .. } => *to,
                };
                if begin > end {
                    gaps.push([end, begin]);
                }
                end = piece.end();
            }
            let summary = json!({
                "bytes": bytes, "end": end, "gaps": gaps,
                "first_ms": times().min(), "last_ms": times().max(),
            });
            (stream.to_string(), summary)
        });
        Value::Object(streams.collect())
    }
}

/// The streams of a running session.
impl From<Diagnostics> for SessionStreams {
    fn from(diagnostics: Diagnostics) -> Self {
        Self {
            started_ms: Some(diagnostics.started_ms),
            is_lines: false,
            pieces: diagnostics.streams,
        }
    }
}

fn is_bytes(piece: &Arrived) -> bool {
    matches!(piece.piece, Piece::Bytes { .. })
}

/// Redacts bytes that follow each other.
fn redact_run(run: &mut [Arrived], redactor: &Redactor) {
    let mut all = BytesMut::new();
    for piece in run.iter() {
        if let Piece::Bytes { bytes, .. } = &piece.piece {
            all.put_slice(bytes);
        }
    }
    redactor.redact(&mut all);
    let mut rest: Bytes = all.freeze();
    for piece in run {
        if let Piece::Bytes { bytes, .. } = &mut piece.piece {
            *bytes = rest.split_to(bytes.len());
        }
    }
}
