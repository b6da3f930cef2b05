//! A broker in memory, for tests: everything is stored at once, and faults are requested.

mod fate;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::bus::{
    Bucket, Bus, BusError, Delivery, Entry, FileStore, KeyStore, LogStore, Messages, StoredMessage,
};
use crate::directory::LEASE_AGE;
use crate::log::{LastMessage, Positions};
use fate::FakeConnection;

pub use fate::Fate;

/// Maximum number of messages that a subscriber has not read.
const QUEUE: usize = 4096;

/// A connection to a broker in memory. Clones are the same connection.
#[derive(Clone, Debug)]
pub struct FakeBus {
    broker: Arc<Mutex<Broker>>,
    connection: Arc<FakeConnection>,
    started: Instant,
}

#[derive(Debug, Default)]
struct Broker {
    /// The last sequence of the log, and the last revision of the keys.
    sequence: u64,
    revision: u64,
    log: Vec<(StoredMessage, Positions)>,
    keys: BTreeMap<(Bucket, String), (Entry, Instant)>,
    files: BTreeMap<String, Bytes>,
    watchers: Vec<(Bucket, mpsc::Sender<Entry>)>,
    subscribers: Vec<(String, mpsc::Sender<Delivery>)>,
    replies: BTreeMap<String, oneshot::Sender<Bytes>>,
    inboxes: u64,
    losses: usize,
    lag: (usize, usize),
    faults: VecDeque<BusError>,
}

impl Default for FakeBus {
    fn default() -> Self {
        Self {
            broker: Arc::default(),
            connection: Arc::default(),
            started: Instant::now(),
        }
    }
}

impl FakeBus {
    /// Returns another connection to the same broker, which fails by itself.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            connection: Arc::default(),
            ..self.clone()
        }
    }

    /// Lets every request of this connection fail until [`connect`](Self::connect).
    pub fn cut(&self) {
        self.connection.cut();
    }

    /// Lets requests succeed again, on a new connection.
    pub fn connect(&self) {
        self.connection.connect();
    }

    /// Decides what happens to each request of this connection for the log, the keys and the files, by the subject or the
    /// key that it names.
    pub fn set_fates(&self, fates: impl FnMut(&str) -> Fate + Send + 'static) {
        self.connection.set_fates(Box::new(fates));
    }

    /// Lets the next append fail, and the ones after it, in this order.
    pub fn fail_appends(&self, faults: impl IntoIterator<Item = BusError>) {
        self.broker.lock().faults.extend(faults);
    }

    /// Loses the next messages to subscribers.
    pub fn lose_messages(&self, count: usize) {
        self.broker.lock().losses = count;
    }

    /// Lets the next readings of the log lack its newest messages, as those of a server that was just started again.
    pub fn lag(&self, readings: usize, messages: usize) {
        self.broker.lock().lag = (readings, messages);
    }

    /// Removes everything that is stored.
    pub fn wipe(&self) {
        let mut broker = self.broker.lock();
        broker.log.clear();
        broker.keys.clear();
        broker.files.clear();
        (broker.sequence, broker.revision) = (0, 0);
    }

    /// Removes the newest messages of the log.
    pub fn lose_tail(&self, count: usize) {
        let mut broker = self.broker.lock();
        let length = broker.log.len().saturating_sub(count);
        broker.log.truncate(length);
        broker.sequence = broker.log.last().map_or(0, |it| it.0.sequence);
    }

    /// Returns the messages of a subject.
    #[must_use]
    pub fn log(&self, subject: &str) -> Vec<StoredMessage> {
        let broker = self.broker.lock();
        let found = broker
            .log
            .iter()
            .filter(|it| matches(subject, &it.0.subject));
        found.map(|it| it.0.clone()).collect()
    }

    fn broker(&self) -> Result<parking_lot::MutexGuard<'_, Broker>, BusError> {
        if self.connection.is_cut() {
            return Err(BusError::Unanswered);
        }
        Ok(self.stored())
    }

    /// Returns what is stored, after keys have expired.
    fn stored(&self) -> parking_lot::MutexGuard<'_, Broker> {
        let mut broker = self.broker.lock();
        broker
            .keys
            .retain(|(bucket, _), (_, at)| *bucket != Bucket::Runners || at.elapsed() < LEASE_AGE);
        broker
    }

    fn now_ms(&self) -> u64 {
        Duration::as_millis(&self.started.elapsed()) as u64
    }

    fn put(
        &self,
        bucket: Bucket,
        key: &str,
        revision: u64,
        value: Option<Bytes>,
    ) -> Result<u64, BusError> {
        let written_ms = self.now_ms();
        let mut broker = self.stored();
        let id = (bucket, key.to_owned());
        let found = broker.keys.get(&id).map_or(0, |it| it.0.revision);
        if found != revision {
            return Err(BusError::WrongLast);
        }
        broker.revision += 1;
        let entry = Entry {
            key: key.to_owned(),
            revision: broker.revision,
            value,
            written_ms,
        };
        broker.keys.insert(id, (entry.clone(), Instant::now()));
        broker
            .watchers
            .retain(|(of, to)| *of != bucket || to.try_send(entry.clone()).is_ok());
        Ok(entry.revision)
    }
}

/// Returns whether a subject matches a filter.
fn matches(filter: &str, subject: &str) -> bool {
    match filter.strip_suffix('>') {
        Some(front) => subject.starts_with(front),
        None => subject == filter,
    }
}

impl LogStore for FakeBus {
    async fn append(
        &self,
        subject: &str,
        expected: u64,
        begin: &Positions,
        body: Bytes,
    ) -> Result<u64, BusError> {
        let (name, begin) = (subject.to_owned(), begin.clone());
        let request = move |bus: &Self| bus.stored().append(name, expected, begin, body);
        self.perform(subject, request).await
    }

    async fn last(&self, subject: &str) -> Result<Option<LastMessage>, BusError> {
        let name = subject.to_owned();
        let last = move |bus: &Self| {
            let broker = bus.stored();
            let last = broker.log.iter().rfind(|it| it.0.subject == name);
            Ok(last.map(|(message, begin)| LastMessage {
                sequence: message.sequence,
                begin: Some(begin.clone()),
                body: message.body.clone(),
            }))
        };
        self.perform(subject, last).await
    }

    async fn read(
        &self,
        subject: &str,
        from: u64,
    ) -> Result<mpsc::Receiver<Result<StoredMessage, BusError>>, BusError> {
        drop(self.broker()?);
        let mut messages = self.log(subject);
        messages.truncate(messages.len() - self.broker.lock().lacking(messages.len()));
        messages.retain(|it| it.sequence >= from);
        let (sender, receiver) = mpsc::channel(messages.len().max(1));
        for message in messages {
            let _ = sender.try_send(Ok(message));
        }
        Ok(receiver)
    }
}

impl KeyStore for FakeBus {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Entry>, BusError> {
        let id = (bucket, key.to_owned());
        let request = move |bus: &Self| Ok(bus.stored().keys.get(&id).map(|it| it.0.clone()));
        self.perform(key, request).await
    }

    async fn cas(
        &self,
        bucket: Bucket,
        key: &str,
        revision: u64,
        value: Bytes,
    ) -> Result<u64, BusError> {
        let name = key.to_owned();
        let request = move |bus: &Self| bus.put(bucket, &name, revision, Some(value));
        self.perform(key, request).await
    }

    async fn delete(&self, bucket: Bucket, key: &str, revision: u64) -> Result<(), BusError> {
        let name = key.to_owned();
        let request = move |bus: &Self| bus.put(bucket, &name, revision, None).map(drop);
        self.perform(key, request).await
    }

    async fn entries(&self, bucket: Bucket) -> Result<Vec<Entry>, BusError> {
        let broker = self.broker()?;
        let of_bucket = broker.keys.iter().filter(|((of, _), _)| *of == bucket);
        let entries = of_bucket.map(|(_, (entry, _))| entry.clone());
        Ok(entries.filter(|it| it.value.is_some()).collect())
    }

    async fn watch(&self, bucket: Bucket) -> Result<mpsc::Receiver<Entry>, BusError> {
        let entries = self.entries(bucket).await?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        for entry in entries {
            let _ = sender.try_send(entry);
        }
        self.broker()?.watchers.push((bucket, sender));
        Ok(receiver)
    }
}

impl FileStore for FakeBus {
    async fn put_file(&self, name: &str, content: Bytes) -> Result<(), BusError> {
        let file = name.to_owned();
        let request = move |bus: &Self| {
            bus.stored().files.insert(file, content);
            Ok(())
        };
        self.perform(name, request).await
    }

    async fn file(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        Ok(self.broker()?.files.get(name).cloned())
    }
}

impl Messages for FakeBus {
    fn inbox(&self) -> String {
        let mut broker = self.broker.lock();
        broker.inboxes += 1;
        format!("_INBOX.{}", broker.inboxes)
    }

    async fn subscribe(&self, subject: &str) -> Result<mpsc::Receiver<Delivery>, BusError> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        self.broker()?
            .subscribers
            .push((subject.to_owned(), sender));
        Ok(receiver)
    }

    async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        let mut broker = self.broker()?;
        if let Some(reply) = broker.replies.remove(subject) {
            let _ = reply.send(payload);
            return Ok(());
        }
        if broker.losses > 0 {
            broker.losses -= 1;
        } else {
            broker.deliver(subject, None, &payload);
        }
        Ok(())
    }

    async fn request(&self, subject: &str, payload: Bytes) -> Result<Bytes, BusError> {
        let inbox = self.inbox();
        let (sender, receiver) = oneshot::channel();
        {
            let mut broker = self.broker()?;
            broker.replies.insert(inbox.clone(), sender);
            if !broker.deliver(subject, Some(inbox), &payload) {
                return Err(BusError::NoResponders(subject.to_owned()));
            }
        }
        receiver.await.map_err(|_| BusError::Unanswered)
    }
}

impl Broker {
    fn append(
        &mut self,
        subject: String,
        expected: u64,
        begin: Positions,
        body: Bytes,
    ) -> Result<u64, BusError> {
        if let Some(fault) = self.faults.pop_front() {
            return Err(fault);
        }
        let last = self.log.iter().rfind(|it| it.0.subject == subject);
        if last.map_or(0, |it| it.0.sequence) != expected {
            return Err(BusError::WrongLast);
        }
        self.sequence += 1;
        let sequence = self.sequence;
        let message = StoredMessage {
            subject,
            sequence,
            body,
        };
        self.log.push((message, begin));
        Ok(sequence)
    }

    /// Returns how many of the newest messages a reading lacks.
    fn lacking(&mut self, length: usize) -> usize {
        let (readings, messages) = &mut self.lag;
        if *readings == 0 {
            return 0;
        }
        *readings -= 1;
        length.min(*messages)
    }

    /// Delivers a message, and returns whether anything listens.
    fn deliver(&mut self, subject: &str, reply: Option<String>, payload: &Bytes) -> bool {
        self.subscribers.retain(|(_, to)| !to.is_closed());
        let mut is_delivered = false;
        for (_, to) in self.subscribers.iter().filter(|it| matches(&it.0, subject)) {
            let delivery = Delivery {
                reply: reply.clone(),
                payload: payload.clone(),
            };
            is_delivered |= to.try_send(delivery).is_ok();
        }
        is_delivered
    }
}

impl Bus for FakeBus {
    fn connects(&self) -> watch::Receiver<u64> {
        self.connection.connects()
    }
}
