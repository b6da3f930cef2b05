//! A connection that records what the servers acknowledged, to be compared with what they have later.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_fleet::{
    Bucket, Bus, BusError, Connection, Delivery, Entry, FileStore, KeyStore, LastMessage, LogStore,
    Messages, Positions, StoredMessage,
};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

/// The messages that the servers have acknowledged, by subject and sequence.
#[derive(Debug)]
pub struct Acknowledged {
    messages: HashMap<String, BTreeMap<u64, Bytes>>,
    keeps_bodies: bool,
    times: Vec<Duration>,
    last: Instant,
    longest_pause: Duration,
}

impl Acknowledged {
    /// Returns how many messages of a subject were acknowledged, and how many of these the servers do not have or
    /// have with another content.
    #[must_use]
    pub fn lost(&self, subject: &str, stored: &[StoredMessage]) -> (usize, usize) {
        let Some(messages) = self.messages.get(subject) else {
            return (0, 0);
        };
        let stored: HashMap<_, _> = stored.iter().map(|it| (it.sequence, &it.body)).collect();
        let is_lost = |it: &(&u64, &Bytes)| stored.get(it.0) != Some(&it.1);
        (messages.len(), messages.iter().filter(is_lost).count())
    }

    /// Begins to measure pauses anew, and returns the longest time without an acknowledgement since the last call.
    pub fn take_pause(&mut self) -> Duration {
        self.last = Instant::now();
        std::mem::take(&mut self.longest_pause)
    }

    /// Takes the times from each request to its acknowledgement.
    pub fn take_times(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.times)
    }

    fn add(&mut self, subject: &str, sequence: u64, body: Bytes, sent: Instant) {
        let now = Instant::now();
        self.longest_pause = self.longest_pause.max(now - self.last);
        self.last = now;
        self.times.push(now - sent);
        if self.keeps_bodies {
            let messages = self.messages.entry(subject.to_owned()).or_default();
            messages.insert(sequence, body);
        }
    }
}

/// A connection that records acknowledgements.
#[derive(Clone, Debug)]
pub struct RecordedBus {
    bus: Connection,
    acknowledged: Arc<Mutex<Acknowledged>>,
}

impl RecordedBus {
    /// Records what passes a connection.
    #[must_use]
    pub fn new(bus: Connection) -> Self {
        Self::with_bodies(bus, true)
    }

    /// Records only the times.
    #[must_use]
    pub fn without_bodies(bus: Connection) -> Self {
        Self::with_bodies(bus, false)
    }

    fn with_bodies(bus: Connection, keeps_bodies: bool) -> Self {
        let acknowledged = Acknowledged {
            messages: HashMap::new(),
            keeps_bodies,
            times: Vec::new(),
            last: Instant::now(),
            longest_pause: Duration::ZERO,
        };
        Self {
            bus,
            acknowledged: Arc::new(Mutex::new(acknowledged)),
        }
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.bus
    }

    /// Looks at what was acknowledged.
    pub fn with<T>(&self, look: impl FnOnce(&mut Acknowledged) -> T) -> T {
        look(&mut self.acknowledged.lock())
    }
}

impl LogStore for RecordedBus {
    async fn append(
        &self,
        subject: &str,
        expected: u64,
        begin: &Positions,
        body: Bytes,
    ) -> Result<u64, BusError> {
        let sent = Instant::now();
        let stored = self.bus.append(subject, expected, begin, body.clone());
        let sequence = stored.await?;
        self.with(|it| it.add(subject, sequence, body, sent));
        Ok(sequence)
    }

    async fn last(&self, subject: &str) -> Result<Option<LastMessage>, BusError> {
        self.bus.last(subject).await
    }

    async fn read(
        &self,
        subject: &str,
        from: u64,
    ) -> Result<mpsc::Receiver<Result<StoredMessage, BusError>>, BusError> {
        self.bus.read(subject, from).await
    }
}

impl KeyStore for RecordedBus {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Entry>, BusError> {
        self.bus.get(bucket, key).await
    }

    async fn cas(
        &self,
        bucket: Bucket,
        key: &str,
        revision: u64,
        value: Bytes,
    ) -> Result<u64, BusError> {
        self.bus.cas(bucket, key, revision, value).await
    }

    async fn delete(&self, bucket: Bucket, key: &str, revision: u64) -> Result<(), BusError> {
        self.bus.delete(bucket, key, revision).await
    }

    async fn entries(&self, bucket: Bucket) -> Result<Vec<Entry>, BusError> {
        self.bus.entries(bucket).await
    }

    async fn watch(&self, bucket: Bucket) -> Result<mpsc::Receiver<Entry>, BusError> {
        self.bus.watch(bucket).await
    }
}

impl FileStore for RecordedBus {
    async fn put_file(&self, name: &str, content: Bytes) -> Result<(), BusError> {
        self.bus.put_file(name, content).await
    }

    async fn file(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        self.bus.file(name).await
    }
}

impl Messages for RecordedBus {
    fn inbox(&self) -> String {
        self.bus.inbox()
    }

    async fn subscribe(&self, subject: &str) -> Result<mpsc::Receiver<Delivery>, BusError> {
        self.bus.subscribe(subject).await
    }

    async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        self.bus.publish(subject, payload).await
    }

    async fn request(&self, subject: &str, payload: Bytes) -> Result<Bytes, BusError> {
        self.bus.request(subject, payload).await
    }
}

impl Bus for RecordedBus {
    fn connects(&self) -> watch::Receiver<u64> {
        self.bus.connects()
    }
}
