//! Reads recordings of agents: their output as lines, traces of both directions, and journals.
//!
//! [`RecordingSource`] reads the output of a file or a folder, plain or gzip, in pieces;
//! [`RecordedTranscript`] folds its lines in the dialect of the first of them. Both block. A [`Bundle`] is a session as
//! one file for a report, [redacted](Redactor); it is read as a recording.
//!
//! ```no_run
//! use bowline_jsonl::Framer;
//! use bowline_lifecycle::Piece;
//! use bowline_lifecycle::journal::Merged;
//! use bowline_recording::{RecordedTranscript, RecordingSource, meta};
//!
//! let mut source = RecordingSource::open("session.jsonl".as_ref())?;
//! let (mut framer, mut recorded) = (Framer::default(), RecordedTranscript::new(None));
//! while let Some(piece) = source.next_piece()? {
//!     // An agent whose requests and responses make sense only together also needs its input.
//!     let Merged::Output(output) = piece else { continue };
//!     let at = meta(output.arrival);
//!     match output.piece {
//!         Piece::Bytes { bytes, .. } => framer.push(bytes),
//!         Piece::Gap { to, .. } => framer.skip_to(to),
//!     }
//!     while let Some(frame) = framer.next_frame() {
//!         frame.items().for_each(|item| recorded.apply(&item, at));
//!     }
//! }
//! println!("{}", recorded.transcript().to_json());
//! # Ok::<(), std::io::Error>(())
//! ```

mod archive;
mod bundle;
mod chunks;
mod journal;
mod redact;
mod source;
mod streams;
mod trace;
mod transcript;

pub use bundle::Bundle;
pub use journal::{JournalSummary, damage_message};
pub use redact::{Redaction, Redactor, Secrets};
pub use source::{RecordingSource, meta};
pub use streams::SessionStreams;
pub use trace::TraceLine;
pub use transcript::RecordedTranscript;
