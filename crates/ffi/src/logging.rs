//! The library's log lines, handed to the host.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::error::{BowlineError, Outcome};
use crate::runtime::call;

/// Lines that may wait for the host; one more and it is dropped and counted.
const QUEUE: usize = 1024;

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, uniffi::Enum)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// What may be wrong, too.
    Warn,
    /// What happens, too.
    Info,
    /// What helps to find faults, too.
    Debug,
    /// Everything.
    Trace,
}

/// One log line.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LogLine {
    /// How grave it is.
    pub level: LogLevel,
    /// The part of the library that says it.
    pub target: String,
    /// What it says, with its values.
    pub text: String,
    /// Lines that were dropped before this one, because the host was too slow.
    pub dropped: u64,
}

/// Takes log lines. They come from one thread, in order; what it throws is ignored.
#[uniffi::export(foreign)]
pub trait LogSink: Send + Sync {
    /// Takes the next line.
    ///
    /// # Errors
    ///
    /// The host could not take it.
    fn log(&self, line: LogLine) -> Result<(), BowlineError>;
}

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Off as u8);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static SINK: Mutex<Option<Arc<dyn LogSink>>> = Mutex::new(None);
static LINES: OnceLock<Option<SyncSender<LogLine>>> = OnceLock::new();

/// Hands log lines of this level and graver ones to `sink`, in the place of the one before; without
/// one, nothing is told any more.
///
/// # Errors
///
/// [`BowlineError::Busy`] when the process has a log of its own for this library, as a host in Rust
/// may.
#[uniffi::export(default(sink = None))]
pub fn set_logging(level: LogLevel, sink: Option<Arc<dyn LogSink>>) -> Outcome<()> {
    call(|| {
        if sink.is_some() && LINES.get_or_init(install).is_none() {
            return Err(BowlineError::Busy {
                reason: "log: the process has a log of its own for it, use that one".to_owned(),
            });
        }
        let level = if sink.is_some() { level } else { LogLevel::Off };
        let before = {
            let mut current = SINK.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, sink)
        };
        // Letting go of it calls the host, which is done under no lock.
        drop(before);
        LEVEL.store(level as u8, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
        Ok(())
    })
}

/// Begins to listen; none when somebody else does.
fn install() -> Option<SyncSender<LogLine>> {
    let (lines, queue) = sync_channel(QUEUE);
    let thread = std::thread::Builder::new().name("bowline-log".to_owned());
    thread.spawn(move || deliver(&queue)).ok()?;
    tracing::subscriber::set_global_default(Listener).ok()?;
    Some(lines)
}

fn deliver(queue: &Receiver<LogLine>) {
    while let Ok(mut line) = queue.recv() {
        line.dropped = DROPPED.swap(0, Ordering::Relaxed);
        // Cloned, so that the host is called under no lock.
        let sink = SINK.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            // A host that cannot take a log line has nowhere to be told so.
            let _ = sink.log(line);
        }
    }
}

/// Hears events and no spans.
struct Listener;

const fn level(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        Level::DEBUG => LogLevel::Debug,
        Level::TRACE => LogLevel::Trace,
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && level(*metadata.level()) as u8 <= LEVEL.load(Ordering::Relaxed)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let line = LogLine {
            level: level(*event.metadata().level()),
            target: event.metadata().target().to_owned(),
            text: text.message + &text.values,
            dropped: 0,
        };
        let lines = LINES.get().and_then(Option::as_ref);
        if lines.is_some_and(|lines| lines.try_send(line).is_err()) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event as one line: the message, then its values.
#[derive(Default)]
struct Text {
    message: String,
    values: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.values, " {}={value:?}", field.name())
        };
    }
}
