//! A recording as a transcript.

use bowline_jsonl::Framer;
use bowline_reducer::{End, Meta, Transcript};
use bytes::Bytes;

/// Folds the recorded output of an agent, with the code that folds a live session.
///
/// Damaged or incomplete lines become error entries. Arrival times are not part of such a recording and
/// are 0.
///
/// ```
/// let recording = br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Ahoy"}]},"uuid":"1","session_id":"s"}
/// "#;
/// let transcript = bowline::replay(recording.as_slice());
/// assert_eq!(transcript.entries().count(), 1);
/// ```
pub fn replay(recording: impl Into<Bytes>) -> Transcript {
    let mut framer = Framer::default();
    framer.push(recording.into());
    framer.finish();
    let mut transcript = Transcript::new();
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, Meta { at_ms: 0 });
        }
    }
    transcript.end(End::Recording, Meta { at_ms: 0 });
    transcript
}
