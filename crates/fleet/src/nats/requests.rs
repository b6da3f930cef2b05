//! Requests with their replies: the log, the buckets and messages.

use std::time::Duration;

use async_nats::header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use async_nats::{HeaderMap, Request, RequestErrorKind, jetstream};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::{mpsc, watch};

use super::connect::Connection;
use super::consume;
use super::setup::{has_no_jetstream, is_unheard};
use crate::bus::{
    Bucket, Bus, BusError, Delivery, Entry, KeyStore, LOG_STREAM, LogStore, Messages, StoredMessage,
};
use crate::log::{LastMessage, Positions};
use crate::replies::stored_sequence;

/// Time for a reply. A leader is elected within 4 to 9 s, and requests are repeated.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for the reply to a question about the last message. It is short: a question that comes during an election is
/// never answered, and only delays the next one.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);

/// The header with the position of each stream before a message.
const POSITIONS: &str = "B-At";

/// Maximum number of messages that a receiver has not read.
const QUEUE: usize = 4096;

impl Connection {
    /// Sends a request. A refusal for lack of rights is returned at once.
    async fn ask(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Bytes, BusError> {
        let mut request = Request::new().payload(payload).timeout(Some(REPLY_TIMEOUT));
        if let Some(headers) = headers {
            request = request.headers(headers);
        }
        let mut refusals = self.reports.refusals();
        let sent = self.client.send_request(subject.to_owned(), request);
        tokio::select! {
            reply = sent => match reply {
                Ok(reply) => Ok(reply.payload),
                Err(error) => Err(match error.kind() {
                    RequestErrorKind::NoResponders => BusError::NoResponders(subject.to_owned()),
                    RequestErrorKind::TimedOut => BusError::Unanswered,
                    _ => BusError::Other(error.to_string()),
                }),
            },
            error = refusals.of(subject) => Err(error),
        }
    }

    /// Stores a message whose subject has the last sequence `expected`.
    async fn store(
        &self,
        subject: &str,
        expected: u64,
        mut headers: HeaderMap,
        payload: Bytes,
    ) -> Result<u64, BusError> {
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.to_string());
        let reply = self.ask(subject, Some(headers), payload).await;
        let reply = reply.map_err(no_stream_of(subject))?;
        stored_sequence(&reply)
    }

    /// Returns the last message of a subject, from the leader of its stream.
    async fn last_of(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, BusError> {
        let api = format!("$JS.API.STREAM.MSG.GET.{stream}");
        let mut refusals = self.reports.refusals();
        let mut context = jetstream::new(self.client.clone());
        context.set_timeout(LAST_TIMEOUT);
        let name = stream;
        let found = async {
            let stream = context.get_stream_no_info(name).await;
            let stream = stream.map_err(|error| BusError::Other(error.to_string()))?;
            let found = stream.get_last_raw_message_by_subject(subject).await;
            match found {
                Ok(message) => Ok(Some(message)),
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Ok(None),
                    LastRawMessageErrorKind::JetStream(error) => Err(stream_error(&error)),
                    _ if is_unheard(&error) => Err(BusError::NoStream(name.to_owned())),
                    _ => Err(BusError::Unanswered),
                },
            }
        };
        tokio::select! {
            found = found => found,
            error = refusals.of(&api) => Err(error),
        }
    }
}

/// Maps the error that nothing listens on a stream's subject: there is no stream.
fn no_stream_of(subject: &str) -> impl Fn(BusError) -> BusError {
    move |error| match error {
        BusError::NoResponders(_) => {
            let stream = match subject.strip_prefix("$KV.") {
                Some(key) => key.split('.').next().unwrap_or_default(),
                None => LOG_STREAM,
            };
            BusError::NoStream(stream.to_owned())
        }
        error => error,
    }
}

pub(super) fn stream_error(error: &jetstream::Error) -> BusError {
    match error.error_code() {
        jetstream::ErrorCode::STREAM_NOT_FOUND => BusError::NoStream(LOG_STREAM.to_owned()),
        _ if has_no_jetstream(error) => BusError::NoStream(LOG_STREAM.to_owned()),
        _ => BusError::Other(error.to_string()),
    }
}

impl LogStore for Connection {
    async fn append(
        &self,
        subject: &str,
        expected: u64,
        begin: &Positions,
        body: Bytes,
    ) -> Result<u64, BusError> {
        let mut headers = HeaderMap::new();
        headers.insert(POSITIONS, begin.to_string());
        self.store(subject, expected, headers, body).await
    }

    async fn last(&self, subject: &str) -> Result<Option<LastMessage>, BusError> {
        let found = self.last_of(LOG_STREAM, subject).await?;
        Ok(found.map(|message| LastMessage {
            sequence: message.sequence,
            begin: message
                .headers
                .get(POSITIONS)
                .and_then(|it| it.as_str().parse().ok()),
            body: message.payload,
        }))
    }

    async fn read(
        &self,
        subject: &str,
        from: u64,
    ) -> Result<mpsc::Receiver<Result<StoredMessage, BusError>>, BusError> {
        consume::read_log(self, subject, from).await
    }
}

/// Returns the subject of a key.
fn key_subject(bucket: Bucket, key: &str) -> String {
    format!("$KV.{}.{key}", bucket.name())
}

impl KeyStore for Connection {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Entry>, BusError> {
        let stream = format!("KV_{}", bucket.name());
        let found = self.last_of(&stream, &key_subject(bucket, key)).await?;
        Ok(found.map(|message| Entry {
            key: key.to_owned(),
            revision: message.sequence,
            value: consume::key_value(Some(&message.headers), &message.payload),
            written_ms: (message.time.unix_timestamp_nanos() / 1_000_000) as u64,
        }))
    }

    async fn cas(
        &self,
        bucket: Bucket,
        key: &str,
        revision: u64,
        value: Bytes,
    ) -> Result<u64, BusError> {
        self.store(&key_subject(bucket, key), revision, HeaderMap::new(), value)
            .await
    }

    async fn delete(&self, bucket: Bucket, key: &str, revision: u64) -> Result<(), BusError> {
        let mut headers = HeaderMap::new();
        headers.insert(consume::OPERATION, "DEL");
        let subject = key_subject(bucket, key);
        self.store(&subject, revision, headers, Bytes::new())
            .await
            .map(drop)
    }

    async fn entries(&self, bucket: Bucket) -> Result<Vec<Entry>, BusError> {
        consume::entries(self, bucket).await
    }

    async fn watch(&self, bucket: Bucket) -> Result<mpsc::Receiver<Entry>, BusError> {
        consume::watch(self, bucket).await
    }
}

impl Messages for Connection {
    fn inbox(&self) -> String {
        self.client.new_inbox()
    }

    async fn subscribe(&self, subject: &str) -> Result<mpsc::Receiver<Delivery>, BusError> {
        let mut refusals = self.reports.refusals();
        let other = |error: &dyn std::error::Error| BusError::Other(error.to_string());
        let subscriber = self.client.subscribe(subject.to_owned()).await;
        let mut subscriber = subscriber.map_err(|error| other(&error))?;
        self.client.flush().await.map_err(|error| other(&error))?;
        let subject = subject.to_owned();
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = subscriber.next() => message,
                    () = sender.closed() => return,
                    _ = refusals.of(&subject) => return,
                };
                let Some(message) = message else { return };
                let delivery = Delivery {
                    reply: message.reply.map(|it| it.to_string()),
                    payload: message.payload,
                };
                if sender.send(delivery).await.is_err() {
                    return;
                }
            }
        });
        Ok(receiver)
    }

    async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        let published = self.client.publish(subject.to_owned(), payload).await;
        published.map_err(|error| BusError::Other(error.to_string()))
    }

    async fn request(&self, subject: &str, payload: Bytes) -> Result<Bytes, BusError> {
        self.ask(subject, None, payload).await
    }
}

impl Bus for Connection {
    fn connects(&self) -> watch::Receiver<u64> {
        self.reports.connects()
    }
}
