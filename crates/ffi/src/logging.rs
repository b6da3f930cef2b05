//! Delivers the library's log events to the host.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::error::{BowlineError, Result};
use crate::runtime::call;

/// Log lines that are queued for the host. Further ones are dropped and counted.
const QUEUE_CAPACITY: usize = 1024;

/// Log lines that are kept for a diagnostics bundle.
const RECENT_LINES: usize = 500;

/// The severity of a log line. Each level includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, uniffi::Enum)]
pub enum LogLevel {
    /// Disables logging.
    Off,
    /// Failures.
    Error,
    /// Possible problems.
    Warn,
    /// Normal operation.
    Info,
    /// Details for debugging.
    Debug,
    /// All details.
    Trace,
}

/// A log line.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LogLine {
    /// The severity.
    pub level: LogLevel,
    /// The module that logged the line.
    pub target: String,
    /// The id of the session that the line is about, if it is about one.
    pub session: Option<String>,
    /// The message and its values.
    pub text: String,
    /// The number of lines that were dropped before this one because the host was too slow.
    pub dropped: u64,
}

/// A receiver of log lines.
#[uniffi::export(foreign)]
pub trait LogSink: Send + Sync {
    /// Receives the next line. The library calls it from one thread of its own, in order.
    ///
    /// # Errors
    ///
    /// Errors that it throws are ignored.
    fn log(&self, line: LogLine) -> Result<(), BowlineError>;
}

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Off as u8);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static SINK: Mutex<Option<Arc<dyn LogSink>>> = Mutex::new(None);
/// The newest lines, for a diagnostics bundle.
static RECENT: Mutex<VecDeque<(Option<String>, String)>> = Mutex::new(VecDeque::new());
static QUEUE: OnceLock<Option<SyncSender<LogLine>>> = OnceLock::new();

/// Delivers log lines up to `level` to `sink`, which replaces the previous one. Without a sink,
/// logging stops.
///
/// # Errors
///
/// `Busy` if the process has installed another `tracing` subscriber, as a host in Rust may.
#[uniffi::export(default(sink = None))]
pub fn set_logging(level: LogLevel, sink: Option<Arc<dyn LogSink>>) -> Result<()> {
    call(|| {
        if sink.is_some() && QUEUE.get_or_init(install).is_none() {
            return Err(BowlineError::Busy {
                reason: "install the log sink: the process has a tracing subscriber; use that one"
                    .to_owned(),
            });
        }
        let level = if sink.is_some() { level } else { LogLevel::Off };
        let previous = std::mem::replace(&mut *SINK.lock(), sink);
        // Dropping it calls the host, so the lock must not be held.
        drop(previous);
        LEVEL.store(level as u8, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
        Ok(())
    })
}

/// Installs the subscriber and starts the delivery thread. Returns `None` if there is a subscriber.
fn install() -> Option<SyncSender<LogLine>> {
    let (sender, receiver) = sync_channel(QUEUE_CAPACITY);
    let thread = std::thread::Builder::new().name("bowline-log".to_owned());
    thread.spawn(move || deliver(&receiver)).ok()?;
    tracing::subscriber::set_global_default(Registry::default().with(SinkLayer)).ok()?;
    Some(sender)
}

fn deliver(receiver: &Receiver<LogLine>) {
    while let Ok(mut line) = receiver.recv() {
        line.dropped = DROPPED.swap(0, Ordering::Relaxed);
        // Cloned, so that the host is called without a lock.
        let sink = SINK.lock().clone();
        if let Some(sink) = sink {
            let _ = sink.log(line);
        }
    }
}

const fn level(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        Level::DEBUG => LogLevel::Debug,
        Level::TRACE => LogLevel::Trace,
    }
}

fn remember(line: &LogLine) {
    let text = format!("{:?} {}: {}", line.level, line.target, line.text);
    let mut recent = RECENT.lock();
    if recent.len() == RECENT_LINES {
        recent.pop_front();
    }
    recent.push_back((line.session.clone(), text));
}

/// Returns the newest lines of a session and of no session, one a line.
#[cfg(feature = "full")]
pub(crate) fn recent_lines(session: &str) -> String {
    let recent = RECENT.lock();
    let mut lines = String::new();
    for (of, text) in recent.iter() {
        if of.as_deref().is_none_or(|of| of == session) {
            lines.push_str(text);
            lines.push('\n');
        }
    }
    lines
}

/// Sends events to the queue, with the session of the spans around them.
struct SinkLayer;

/// The session that a span belongs to.
struct SpanSession(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SinkLayer {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let limit = LEVEL.load(Ordering::Relaxed);
        // The session's span is needed at every level: lines inside it take their session from it.
        let limit = if metadata.is_span() && limit > 0 {
            limit.max(LogLevel::Info as u8)
        } else {
            limit
        };
        level(*metadata.level()) as u8 <= limit
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = EventFields::default();
        attributes.record(&mut fields);
        if attributes.metadata().name() == "session" {
            fields.session = fields.session.or(fields.id);
        }
        if let (Some(span), Some(session)) = (context.span(id), fields.session) {
            span.extensions_mut().insert(SpanSession(session));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let session = fields.session.or_else(|| {
            let mut spans = context.event_scope(event)?;
            spans.find_map(|span| Some(span.extensions().get::<SpanSession>()?.0.clone()))
        });
        let line = LogLine {
            level: level(*event.metadata().level()),
            target: event.metadata().target().to_owned(),
            session,
            text: fields.message + &fields.values,
            dropped: 0,
        };
        remember(&line);
        let queue = QUEUE.get().and_then(Option::as_ref);
        if queue.is_some_and(|queue| queue.try_send(line).is_err()) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The fields of an event or span: the message, the other values as text, and the session.
#[derive(Default)]
struct EventFields {
    message: String,
    values: String,
    session: Option<String>,
    id: Option<String>,
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            // Writing to a string cannot fail.
            "message" => drop(write!(self.message, "{value:?}")),
            "session" | "session.id" => self.session = Some(format!("{value:?}")),
            name => {
                if name == "id" {
                    self.id = Some(format!("{value:?}"));
                }
                let _ = write!(self.values, " {name}={value:?}");
            }
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "session" | "session.id" => self.session = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_carries_session_of_enclosing_span() {
        struct Sink(std::sync::mpsc::Sender<LogLine>);

        impl LogSink for Sink {
            fn log(&self, line: LogLine) -> Result<(), BowlineError> {
                // The receiver is gone after the test.
                let _ = self.0.send(line);
                Ok(())
            }
        }

        let (lines, received) = std::sync::mpsc::channel();
        set_logging(LogLevel::Error, Some(Arc::new(Sink(lines)))).expect("no other subscriber");
        let span = tracing::info_span!("session", id = %"s1");
        span.in_scope(|| {
            tracing::debug_span!("tool").in_scope(|| tracing::error!(code = 3, "in a span"));
        });
        tracing::error!(session = %"s2", "in a field");
        tracing::error!("elsewhere");
        let lines = received.iter().take(3);
        let lines: Vec<_> = lines.map(|it| (it.session, it.text)).collect();
        set_logging(LogLevel::Off, None).expect("no fault");
        let expected = [
            (Some("s1"), "in a span code=3"),
            (Some("s2"), "in a field"),
            (None, "elsewhere"),
        ];
        assert_eq!(
            lines,
            expected.map(|(session, text)| (session.map(str::to_owned), text.to_owned()))
        );
    }
}
