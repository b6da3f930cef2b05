//! What the fleet needs of a message broker. The connection to NATS implements it, and so does a fake for tests.

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use crate::log::{LastMessage, Positions};

/// Why a request to the broker failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BusError {
    /// The key or the subject was changed by another writer.
    #[error("changed by another writer meanwhile")]
    WrongLast,
    /// Another message of the subject is in process (10164).
    #[error("another message of the subject is in process")]
    InProcess,
    /// There is no stream or bucket, or it has no leader.
    #[error("the NATS servers have no {0}, or no leader for it; run `bowline fleet doctor`")]
    NoStream(String),
    /// The stream of logs has reached its limit.
    #[error(
        "the stream {LOG_STREAM} is full; raise its limit (`nats stream edit {LOG_STREAM} --max-bytes`), or wait until old logs expire"
    )]
    Full,
    /// Nothing listens on the subject.
    #[error("nothing listens on {0}")]
    NoResponders(String),
    /// No reply in time, or the connection was lost.
    #[error(
        "no reply from the NATS servers in time; check the network, or run `bowline fleet doctor`"
    )]
    Unanswered,
    /// The account lacks the right.
    #[error(
        "the credentials have no right to {0}; use others, or change the rights (`bowline fleet init`)"
    )]
    Denied(String),
    /// The servers refuse the connection since it was made: the user was removed, or its credentials expired.
    #[error(
        "the NATS servers refuse the credentials, which were revoked or have expired; pass others with --creds"
    )]
    Refused,
    /// A reply that cannot be parsed.
    #[error("{0}")]
    Other(String),
}

/// A message of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// Its subject.
    pub subject: String,
    /// Its sequence in the stream.
    pub sequence: u64,
    /// Its body.
    pub body: Bytes,
}

/// A key of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The revision to name in a write that replaces the value.
    pub revision: u64,
    /// The value; `None` of a key that was deleted.
    pub value: Option<Bytes>,
    /// When it was written, in milliseconds since the Unix epoch, by the server's clock.
    pub written_ms: u64,
}

/// A message to a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where to reply to, if a reply is expected.
    pub reply: Option<String>,
    /// The payload.
    pub payload: Bytes,
}

/// A bucket of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bucket {
    /// Runners that are alive; keys expire.
    Runners,
    /// When runners were seen last.
    Seen,
    /// Sessions.
    Sessions,
    /// Claims of conversations.
    Claims,
}

impl Bucket {
    /// All buckets.
    pub const ALL: [Self; 4] = [Self::Runners, Self::Seen, Self::Sessions, Self::Claims];

    /// Returns its name at the servers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runners => "BL_RUNNERS",
            Self::Seen => "BL_SEEN",
            Self::Sessions => "BL_SESSIONS",
            Self::Claims => "BL_CLAIMS",
        }
    }
}

/// The subject on which the servers report their settings to the accounts of `bowline fleet init`.
pub const SERVERS_SUBJECT: &str = "bl.servers";

/// Name of the stream of logs.
pub const LOG_STREAM: &str = "BL_LOG";

/// The stream of logs.
pub trait LogStore: Clone + Send + Sync + 'static {
    /// Appends a message to a subject whose last sequence is `expected`, and returns the message's sequence once
    /// it is stored.
    fn append(
        &self,
        subject: &str,
        expected: u64,
        begin: &Positions,
        body: Bytes,
    ) -> impl Future<Output = Result<u64, BusError>> + Send;

    /// Returns the last message of a subject, from the stream's leader.
    fn last(
        &self,
        subject: &str,
    ) -> impl Future<Output = Result<Option<LastMessage>, BusError>> + Send;

    /// Returns the messages of a subject, which may end with the wildcard `>`, from a sequence of the stream on up
    /// to the last one at present. The channel is bounded: a slow reader delays the broker.
    fn read(
        &self,
        subject: &str,
        from: u64,
    ) -> impl Future<Output = Result<mpsc::Receiver<Result<StoredMessage, BusError>>, BusError>> + Send;
}

/// Buckets of keys, whose values are replaced by comparing revisions.
pub trait KeyStore: Clone + Send + Sync + 'static {
    /// Returns a key from the leader; `None` if it was never written or has expired.
    fn get(
        &self,
        bucket: Bucket,
        key: &str,
    ) -> impl Future<Output = Result<Option<Entry>, BusError>> + Send;

    /// Replaces the value that has a revision, 0 for a key that does not exist. Returns the new revision.
    fn cas(
        &self,
        bucket: Bucket,
        key: &str,
        revision: u64,
        value: Bytes,
    ) -> impl Future<Output = Result<u64, BusError>> + Send;

    /// Deletes a key that has a revision.
    fn delete(
        &self,
        bucket: Bucket,
        key: &str,
        revision: u64,
    ) -> impl Future<Output = Result<(), BusError>> + Send;

    /// Returns the keys that have values.
    fn entries(&self, bucket: Bucket) -> impl Future<Output = Result<Vec<Entry>, BusError>> + Send;

    /// Returns the keys that have values, then each change. The channel ends when the watch is lost; a key that
    /// expires is not a change.
    fn watch(
        &self,
        bucket: Bucket,
    ) -> impl Future<Output = Result<mpsc::Receiver<Entry>, BusError>> + Send;
}

/// Name of the store of the files of conversations.
pub const FILE_STORE: &str = "BL_FILES";

/// Files that are too large for a message.
pub trait FileStore: Clone + Send + Sync + 'static {
    /// Stores a file, which replaces an earlier one of its name.
    fn put_file(
        &self,
        name: &str,
        content: Bytes,
    ) -> impl Future<Output = Result<(), BusError>> + Send;

    /// Returns a file; `None` if there is none of the name.
    fn file(&self, name: &str) -> impl Future<Output = Result<Option<Bytes>, BusError>> + Send;
}

/// Messages that are not stored: each is delivered at most once.
pub trait Messages: Clone + Send + Sync + 'static {
    /// Returns a subject that only this connection receives.
    fn inbox(&self) -> String;

    /// Receives the messages of a subject. Messages that the receiver is too slow for are dropped. The channel
    /// ends if the account has no right to receive them, which the servers report later.
    fn subscribe(
        &self,
        subject: &str,
    ) -> impl Future<Output = Result<mpsc::Receiver<Delivery>, BusError>> + Send;

    /// Sends a message.
    fn publish(
        &self,
        subject: &str,
        payload: Bytes,
    ) -> impl Future<Output = Result<(), BusError>> + Send;

    /// Sends a message and returns the reply.
    fn request(
        &self,
        subject: &str,
        payload: Bytes,
    ) -> impl Future<Output = Result<Bytes, BusError>> + Send;
}

/// A connection to the broker.
pub trait Bus: LogStore + KeyStore + FileStore + Messages {
    /// Returns how often the connection was made. It changes with each reconnect.
    fn connects(&self) -> watch::Receiver<u64>;
}
