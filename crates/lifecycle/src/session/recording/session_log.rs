//! The recording of a session, which may begin at any time, and what is kept for it.

use std::path::PathBuf;

use bowline_reducer::dialect::DialectName;
use bowline_transport::{Stream, TerminalSession};
use bytes::Bytes;
use parking_lot::Mutex;

use super::journal::unix_ms;
use super::kept_input::KeptInput;
use super::note::RecordedOutput;
use super::recorder::{Recorder, Recording};
use crate::error::RecordError;

/// Where output that the transcript does not keep is read again.
#[derive(Debug)]
pub(in crate::session) struct OutputSources {
    /// The recording and what is kept for one.
    pub(in crate::session) log: SessionLog,
    /// The past conversation, which is the first run of the transcript.
    pub(in crate::session) history: Option<Bytes>,
    /// The protocol of both.
    pub(in crate::session) dialect: DialectName,
    /// When this host began the session, in milliseconds since the Unix epoch.
    pub(in crate::session) started_ms: u64,
    /// The settings that the session was started with, for a report: JSON as text, which takes a third of the memory.
    pub(in crate::session) settings: Box<str>,
}

/// What a session writes to its recording. The streams of the agent come from the logs of its terminal.
#[derive(Debug)]
pub(in crate::session) struct SessionLog(Mutex<State>);

#[derive(Debug)]
struct State {
    input: KeptInput,
    recording: Option<Recording>,
    recorded: Option<RecordedOutput>,
    has_ended: bool,
}

impl SessionLog {
    /// Creates the log of a session, which keeps `limit` bytes of the newest input.
    pub(in crate::session) fn new(limit: usize) -> Self {
        Self(Mutex::new(State {
            input: KeptInput::new(limit),
            recording: None,
            recorded: None,
            has_ended: false,
        }))
    }

    /// Starts the recording, from the oldest byte that is kept. Returns the offset of that byte in the
    /// output.
    pub(in crate::session) fn record(
        &self,
        recorder: Recorder,
        terminal: &TerminalSession,
    ) -> Result<u64, RecordError> {
        let mut state = self.0.lock();
        state.check()?;
        let (recording, recorded) = recorder.start(terminal, &state.input);
        let begin = recorded.begin;
        state.recording = Some(recording);
        state.recorded = Some(recorded);
        Ok(begin)
    }

    /// Returns whether a recording can begin.
    pub(in crate::session) fn check(&self) -> Result<(), RecordError> {
        self.0.lock().check()
    }

    /// Notes a line of input. To be called before it is written, so that its answer comes after it.
    pub(in crate::session) fn input(&self, line: Bytes, terminal: &TerminalSession) {
        let mut state = self.0.lock();
        let line = state
            .input
            .push(line, terminal.end(Stream::Output), unix_ms());
        if let Some(recording) = &state.recording {
            recording.notes().input(line);
        }
    }

    /// Returns where the output can be read, once it is recorded.
    pub(in crate::session) fn recorded(&self) -> Option<RecordedOutput> {
        self.0.lock().recorded.clone()
    }

    /// Returns the input that is kept.
    pub(in crate::session) fn kept_input(&self) -> KeptInput {
        self.0.lock().input.clone()
    }

    /// Takes the recording at the end of the session, after which none can begin.
    pub(in crate::session) fn end(&self) -> Option<Recording> {
        let mut state = self.0.lock();
        state.has_ended = true;
        state.recording.take()
    }
}

impl State {
    fn check(&self) -> Result<(), RecordError> {
        let path: Option<PathBuf> = self.recorded.as_ref().map(|it| it.path.clone());
        match path {
            Some(path) => Err(RecordError::AlreadyRecorded { path }),
            None if self.has_ended => Err(RecordError::Ended),
            None => Ok(()),
        }
    }
}
