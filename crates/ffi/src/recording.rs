//! A recorded stream, read as far as somebody wants to know.

mod source;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::jsonl::Framer;
use crate::core::reducer::{End, HostEvent, Meta, Transcript};

use crate::change::{ChangeBatch, batch};
use crate::changes::{ChangeStream, Source};
use crate::counters::Kind;
use crate::error::{BowlineError, Outcome};
use crate::runtime::{Held, call, finish};
use crate::snapshot::TranscriptSnapshot;

use source::Part;

/// A recording has no clock of ours.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// A recorded stream, as `bowline run --record` or the agent's own host writes it: lines or a
/// journal, gzip too.
///
/// It is folded by the same code as a live one, and only as far as its readers ask: a reader that
/// takes one change at a time sees each line by itself.
#[derive(uniffi::Object)]
pub struct Recording {
    tape: Held<Arc<Tape>>,
}

/// The file and what was folded of it.
pub(crate) struct Tape {
    path: String,
    state: Mutex<State>,
}

struct State {
    source: Option<source::Source>,
    framer: Framer,
    transcript: Transcript,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("path", &self.tape.path)
            .finish()
    }
}

impl Recording {
    pub(crate) fn open(path: String) -> Outcome<Arc<Self>> {
        let source =
            source::Source::open(&path).map_err(|error| BowlineError::io("read", &path, &error))?;
        let state = State {
            source: Some(source),
            framer: Framer::default(),
            transcript: Transcript::new(),
        };
        let tape = Arc::new(Tape {
            path,
            state: Mutex::new(state),
        });
        Ok(Arc::new(Self {
            tape: Held::new(Kind::Recording, tape),
        }))
    }
}

#[uniffi::export]
impl Recording {
    /// The changes from the beginning on.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn changes(&self) -> Outcome<Arc<ChangeStream>> {
        call(|| Ok(ChangeStream::new(Source::Recording(Arc::clone(&self.tape)))))
    }

    /// Folds what is left, and gives the transcript as it stands then.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Io`] when the file cannot be read to its end.
    pub async fn snapshot(&self) -> Outcome<Arc<TranscriptSnapshot>> {
        let tape = Arc::clone(&self.tape);
        finish(async move {
            blocking(move || {
                let mut state = tape.lock();
                while tape.step(&mut state)? {}
                Ok(TranscriptSnapshot::new(state.transcript.snapshot()))
            })
            .await
        })
        .await
    }
}

impl Tape {
    /// The next changes; reads on when nobody was told more than `cursor`.
    pub(crate) async fn next(
        self: Arc<Self>,
        cursor: u64,
        most: u32,
    ) -> Outcome<Option<ChangeBatch>> {
        blocking(move || {
            let mut state = self.lock();
            if state.transcript.revision().number() <= cursor {
                for _ in 0..most {
                    if !self.step(&mut state)? {
                        break;
                    }
                }
            }
            loop {
                let batch = batch(&mut state.transcript, cursor, most);
                if batch.is_some() || !self.step(&mut state)? {
                    return Ok(batch);
                }
            }
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds one more line, or a part of one; false when there is no more.
    fn step(&self, state: &mut State) -> Outcome<bool> {
        let failed = |error: io::Error| BowlineError::Io {
            reason: format!("read {}: {error}, copy the file again", self.path),
        };
        let Some(source) = &mut state.source else {
            return Ok(false);
        };
        let part = source.next().map_err(failed)?;
        let is_over = matches!(part, Part::End);
        match part {
            Part::Line(bytes) => state.framer.push(bytes),
            Part::Gap { from, to } => {
                state.framer.skip_to(to);
                let gap = HostEvent::Gap { from, to };
                state.transcript.apply_host(gap, NO_TIME);
            }
            Part::End => {
                state.framer.finish();
                state.source = None;
            }
        }
        while let Some(frame) = state.framer.next_frame() {
            for item in frame.items() {
                state.transcript.apply(&item, NO_TIME);
            }
        }
        if is_over {
            state.transcript.end(End::Recording, NO_TIME);
        }
        Ok(true)
    }
}

/// Runs what may wait for a disk beside the tasks.
async fn blocking<T: Send + 'static>(
    body: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> Outcome<T> {
    match tokio::task::spawn_blocking(body).await {
        Ok(outcome) => outcome,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(BowlineError::Cancelled {
                reason: "read: the library is going down".to_owned(),
            }),
        },
    }
}
