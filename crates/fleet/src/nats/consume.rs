//! Reading many messages: the log of a session, the keys of a bucket.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::consumer::{Consumer, DeliverPolicy};
use async_nats::jetstream::{self, Message};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::connect::Connection;
use super::setup::{has_no_jetstream, is_unheard};
use crate::bus::{Bucket, BusError, Entry, LOG_STREAM, StoredMessage};

/// Records of a directory, which are small, that are asked for at once.
const UNLIMITED: i64 = 0;

/// The header of a key that was deleted.
pub(super) const OPERATION: &str = "KV-Operation";

/// Messages that are read ahead.
const READ_AHEAD: usize = 64;

/// Messages of a log that are asked for at once, and again when half of them have come: at most 24 MiB. A server ends a
/// connection to which it has 64 MiB to write (`max_pending`), and it sends a copy of 100 MB faster than it is read.
const LOG_BATCH: i64 = 64;

/// Maximum number of changes that a watcher has not read.
const WATCH_QUEUE: usize = 4096;

/// Longest time without a message while more are known to follow.
const STALL: Duration = Duration::from_secs(15);

/// A consumer, and the number of messages that it has.
struct Opened {
    consumer: Consumer<OrderedConfig>,
    pending: u64,
}

/// Creates a consumer with a name, so that its subject has the filter and rights can be given by it.
async fn open(
    connection: &Connection,
    stream: &str,
    filter: &str,
    deliver_policy: DeliverPolicy,
    max_batch: i64,
) -> Result<Opened, BusError> {
    let name = connection.client.new_inbox();
    let name = name.rsplit('.').next().unwrap_or_default().to_owned();
    let subject = format!("$JS.API.CONSUMER.CREATE.{stream}.{name}.{filter}");
    let mut refusals = connection.reports.refusals();
    let context = jetstream::new(connection.client.clone());
    let config = OrderedConfig {
        name: Some(name),
        filter_subject: filter.to_owned(),
        deliver_policy,
        max_batch,
        ..OrderedConfig::default()
    };
    let created = async {
        let handle = context.get_stream_no_info(stream).await;
        let handle = handle.map_err(|error| BusError::Other(error.to_string()))?;
        let created = handle.create_consumer(config).await;
        created.map_err(|error| {
            use async_nats::jetstream::stream::ConsumerErrorKind as Kind;
            match error.kind() {
                Kind::Request if is_unheard(&error) => BusError::NoStream(stream.to_owned()),
                Kind::TimedOut | Kind::Request => BusError::Unanswered,
                Kind::JetStream(error)
                    if error.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND
                        || has_no_jetstream(&error) =>
                {
                    BusError::NoStream(stream.to_owned())
                }
                _ => BusError::Other(error.to_string()),
            }
        })
    };
    let consumer = tokio::select! {
        created = created => created?,
        error = refusals.of(&subject) => return Err(error),
    };
    let pending = consumer.cached_info().num_pending;
    Ok(Opened { consumer, pending })
}

pub(super) async fn read_log(
    connection: &Connection,
    filter: &str,
    from: u64,
) -> Result<mpsc::Receiver<Result<StoredMessage, BusError>>, BusError> {
    let policy = match from {
        0 | 1 => DeliverPolicy::All,
        start_sequence => DeliverPolicy::ByStartSequence { start_sequence },
    };
    let opened = open(connection, LOG_STREAM, filter, policy, LOG_BATCH).await?;
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    tokio::spawn(async move {
        let mut reading = match Reading::begin(opened).await {
            Ok(reading) => reading,
            Err(error) => return drop(sender.send(Err(error)).await),
        };
        while let Some(next) = reading.next().await.transpose() {
            let stored = next.map(|(message, sequence)| StoredMessage {
                subject: message.subject.to_string(),
                sequence,
                body: message.payload.clone(),
            });
            let has_failed = stored.is_err();
            if sender.send(stored).await.is_err() || has_failed {
                return;
            }
        }
    });
    Ok(receiver)
}

/// The messages up to the last one at present.
struct Reading {
    /// `None` once all were read.
    messages: Option<Ordered>,
}

impl Reading {
    async fn begin(Opened { consumer, pending }: Opened) -> Result<Self, BusError> {
        let messages = match pending {
            0 => None,
            _ => Some(consumer.messages().await.map_err(lost)?),
        };
        Ok(Self { messages })
    }

    /// Returns the next message and its sequence; `None` after the last one.
    async fn next(&mut self) -> Result<Option<(Message, u64)>, BusError> {
        let Some(messages) = &mut self.messages else {
            return Ok(None);
        };
        let next = timeout(STALL, messages.next()).await;
        let message = next.map_err(|_| BusError::Unanswered)?;
        let message = message.ok_or(BusError::Unanswered)?.map_err(lost)?;
        let info = message.info().map_err(lost)?;
        let (sequence, left) = (info.stream_sequence, info.pending);
        if left == 0 {
            self.messages = None;
        }
        Ok(Some((message, sequence)))
    }
}

fn lost(error: impl ToString) -> BusError {
    BusError::Other(error.to_string())
}

/// Returns the value of a key's message; `None` of a deletion.
pub(super) fn key_value(headers: Option<&HeaderMap>, payload: &Bytes) -> Option<Bytes> {
    let operation = headers.and_then(|it| it.get(OPERATION));
    operation.is_none().then(|| payload.clone())
}

fn entry(bucket: Bucket, message: &Message) -> Option<Entry> {
    let info = message.info().ok()?;
    let key = message.subject.strip_prefix("$KV.")?;
    let key = key.strip_prefix(bucket.name())?.strip_prefix('.')?;
    Some(Entry {
        key: key.to_owned(),
        revision: info.stream_sequence,
        value: key_value(message.headers.as_ref(), &message.payload),
        written_ms: (info.published.unix_timestamp_nanos() / 1_000_000) as u64,
    })
}

async fn open_bucket(connection: &Connection, bucket: Bucket) -> Result<Opened, BusError> {
    let name = bucket.name();
    let (stream, filter) = (format!("KV_{name}"), format!("$KV.{name}.>"));
    let policy = DeliverPolicy::LastPerSubject;
    open(connection, &stream, &filter, policy, UNLIMITED).await
}

pub(super) async fn entries(
    connection: &Connection,
    bucket: Bucket,
) -> Result<Vec<Entry>, BusError> {
    let mut reading = Reading::begin(open_bucket(connection, bucket).await?).await?;
    let mut entries = Vec::new();
    while let Some((message, _)) = reading.next().await? {
        entries.extend(entry(bucket, &message).filter(|it| it.value.is_some()));
    }
    Ok(entries)
}

pub(super) async fn watch(
    connection: &Connection,
    bucket: Bucket,
) -> Result<mpsc::Receiver<Entry>, BusError> {
    let Opened { consumer, .. } = open_bucket(connection, bucket).await?;
    let messages = consumer.messages().await;
    let mut messages = messages.map_err(|error| BusError::Other(error.to_string()))?;
    let (sender, receiver) = mpsc::channel(WATCH_QUEUE);
    tokio::spawn(async move {
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                () = sender.closed() => return,
            };
            let Some(Ok(message)) = message else { return };
            if let Some(entry) = entry(bucket, &message)
                && sender.send(entry).await.is_err()
            {
                return;
            }
        }
    });
    Ok(receiver)
}
