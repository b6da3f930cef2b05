//! The transcript as JSON, a part at a time.

use std::fmt;

use serde::Serialize;

use crate::json::{Head, In, Tail};
use crate::list::ListIter;
use crate::record::{CallId, EntryId, ListEnds, ThreadId};
use crate::schema::Schema;
use crate::snapshot::Snapshot;

/// Length at which a chunk is complete, in bytes. The last entry or tool call of a chunk is whole.
const CHUNK: usize = 64 << 10;

impl Snapshot {
    /// Returns the JSON of [`Transcript::json`](crate::Transcript::json) in chunks of 64 KiB and up to one
    /// more entry or tool call, so that a slow consumer does not need memory for all of it.
    ///
    /// ```
    /// # use bowline_reducer::{Schema, Transcript};
    /// let mut transcript = Transcript::new();
    /// let chunks = transcript.snapshot().json_chunks(Schema::Two);
    /// let json = transcript.json(Schema::Two).to_string();
    /// assert_eq!(chunks.collect::<Vec<_>>().concat(), json.into_bytes());
    /// ```
    #[must_use]
    pub fn json_chunks(&self, schema: Schema) -> JsonChunks {
        JsonChunks {
            snapshot: self.clone(),
            schema,
            next: Part::Head,
            is_first: true,
        }
    }
}

/// Iterator over the JSON of a transcript. See [`Snapshot::json_chunks`].
pub struct JsonChunks {
    snapshot: Snapshot,
    schema: Schema,
    next: Part,
    /// Whether no entry, or no tool call, was written yet.
    is_first: bool,
}

/// What is written next.
#[derive(Clone, Copy, Debug)]
enum Part {
    Head,
    Entries(ListEnds<EntryId>),
    Calls(ListEnds<CallId>),
    Tail,
    Nothing,
}

impl JsonChunks {
    /// Writes the next part, and returns what follows it.
    fn write(&mut self, out: &mut Vec<u8>) -> Part {
        let main = &self.snapshot.threads[ThreadId::MAIN];
        let schema = self.schema;
        match self.next {
            Part::Head => {
                append(out, &In(Head(&self.snapshot), schema));
                // The entries follow in the same object.
                out.pop();
                out.extend_from_slice(b",\"entries\":[");
                Part::Entries(main.entries)
            }
            Part::Entries(ends) => {
                let mut entries = ListIter::new(&self.snapshot.entries, ends);
                let Some(id) = entries.next() else {
                    out.extend_from_slice(b"],\"tool_calls\":{");
                    self.is_first = true;
                    return Part::Calls(main.calls);
                };
                let rest = entries.ends();
                if let Some(entry) = self.snapshot.entry_by_id(id) {
                    separate(out, &mut self.is_first);
                    append(out, &In(entry, schema));
                }
                Part::Entries(rest)
            }
            Part::Calls(ends) => {
                let mut calls = ListIter::new(&self.snapshot.calls, ends);
                let Some(id) = calls.next() else {
                    out.extend_from_slice(b"},");
                    return Part::Tail;
                };
                let rest = calls.ends();
                if let Some(call) = self.snapshot.tool_call_by_id(id) {
                    separate(out, &mut self.is_first);
                    append(out, call.id());
                    out.push(b':');
                    append(out, &In(call, schema));
                }
                Part::Calls(rest)
            }
            Part::Tail => {
                let start = out.len();
                append(out, &In(Tail(&self.snapshot), schema));
                out.remove(start);
                Part::Nothing
            }
            Part::Nothing => Part::Nothing,
        }
    }
}

impl Iterator for JsonChunks {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut chunk = Vec::with_capacity(CHUNK);
        while chunk.len() < CHUNK && !matches!(self.next, Part::Nothing) {
            self.next = self.write(&mut chunk);
        }
        (!chunk.is_empty()).then_some(chunk)
    }
}

impl fmt::Debug for JsonChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonChunks")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// Writes a comma except before the first member.
fn separate(out: &mut Vec<u8>, is_first: &mut bool) {
    if !std::mem::replace(is_first, false) {
        out.push(b',');
    }
}

fn append(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value).expect("a transcript holds strings, numbers and valid JSON");
}
