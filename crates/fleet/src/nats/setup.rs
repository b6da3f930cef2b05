//! Creates the stream and the buckets of a fleet.

use std::time::Duration;

use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, RequestError, RequestErrorKind,
};
use async_nats::jetstream::{self, ErrorCode, kv, stream};
use tokio::time::sleep;

use super::connect::Connection;
use super::credentials::LogLimits;
use crate::bus::{Bucket, FILE_STORE, LOG_STREAM};
use crate::directory::LEASE_AGE;

/// The `max_bytes` of a stream without a limit.
const UNLIMITED: i64 = -1;

/// Replicas where the servers can have them.
pub(super) const REPLICAS: usize = 3;

/// Interval between two looks for a missing stream or bucket.
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// Pause before servers that could not create them are asked again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// How the servers keep a fleet's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of replicas of the stream of logs.
    pub replicas: usize,
    /// Name of the server that leads the stream of logs; `None` of a server alone, or during an election.
    pub leader: Option<String>,
    /// Limits of the stream of logs.
    pub limits: LogLimits,
    /// Bytes that each replica of it has.
    pub bytes: u64,
}

impl From<&stream::Info> for Layout {
    fn from(info: &stream::Info) -> Self {
        let config = &info.config;
        let days = config.max_age.as_secs().div_ceil(DAY);
        Self {
            replicas: config.num_replicas,
            leader: info.cluster.as_ref().and_then(|it| it.leader.clone()),
            limits: LogLimits {
                days: u32::try_from(days).ok().filter(|it| *it > 0),
                bytes: u64::try_from(config.max_bytes).ok().filter(|it| *it > 0),
            },
            bytes: info.state.bytes,
        }
    }
}

/// Why the stream and the buckets cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The servers have no JetStream.
    #[error(
        "the NATS servers have no JetStream for this account; enable it, as in the configuration of `bowline fleet init`"
    )]
    NoJetStream,
    /// The stream exists, and has fewer replicas than asked for.
    #[error(
        "the stream {LOG_STREAM} has {found} replicas, and {wanted} are asked for; `nats stream edit {LOG_STREAM} --replicas {wanted}` adds them"
    )]
    Replicas {
        /// The number that it has.
        found: usize,
        /// The number that is wanted.
        wanted: usize,
    },
    /// Another failure.
    #[error("create {what} at the NATS servers: {reason}")]
    Failed {
        /// The stream or bucket.
        what: &'static str,
        /// The reason.
        reason: String,
    },
}

impl Connection {
    /// Creates the stream and the buckets that do not exist: with three replicas, or with one if the server is
    /// alone. `replicas` asks for a number of them, by default that of the credentials. A stream of logs that exists
    /// keeps its limits.
    ///
    /// # Errors
    ///
    /// The servers have no JetStream, lack the replicas, or refuse.
    pub async fn set_up(&self, replicas: Option<usize>) -> Result<Layout, SetupError> {
        let replicas = replicas.or(self.settings.replicas);
        let layout = match self.create_log(replicas.unwrap_or(REPLICAS)).await {
            Err(error) if replicas.is_none() && is_alone(&error) => self.create_log(1).await,
            created => created,
        };
        let layout = layout.map_err(|error| failed(LOG_STREAM, &error))?;
        let found = layout.replicas;
        if let Some(wanted) = replicas.filter(|wanted| found < *wanted) {
            return Err(SetupError::Replicas { found, wanted });
        }
        for bucket in Bucket::ALL {
            self.create_bucket(bucket, found).await?;
        }
        self.create_files(found).await?;
        Ok(layout)
    }

    /// Creates the stream and the buckets again whenever they are missing, with this number of replicas: servers
    /// that lost their disks come back without them. Looks after each connect and once a minute, until it is
    /// dropped.
    pub async fn keep_set_up(&self, replicas: usize) {
        let mut connects = self.reports.connects();
        loop {
            tokio::select! {
                _ = connects.changed() => {}
                () = sleep(CHECK_EVERY) => {}
            }
            while self.set_up(Some(replicas)).await.is_err() {
                sleep(RETRY_AFTER).await;
            }
        }
    }

    /// Creates the stream of logs unless it exists. A full one takes no more, rather than drop what another runner
    /// copied: that may be the only copy there is, while the runner that copies has its journal.
    async fn create_log(&self, replicas: usize) -> Result<Layout, CreateStreamError> {
        let context = jetstream::new(self.client.clone());
        let bytes = self.settings.log.bytes;
        let bytes = bytes.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let config = stream::Config {
            name: LOG_STREAM.to_owned(),
            subjects: vec!["bl.log.>".to_owned()],
            storage: stream::StorageType::File,
            num_replicas: replicas,
            allow_direct: true,
            max_age: self.log_age(),
            max_bytes: bytes.unwrap_or(UNLIMITED),
            discard: stream::DiscardPolicy::New,
            ..stream::Config::default()
        };
        let created = context.get_or_create_stream(config).await?;
        Ok(created.cached_info().into())
    }

    /// Returns how long logs, and the files of conversations, are kept; 0 for ever.
    pub(super) fn log_age(&self) -> Duration {
        Duration::from_secs(u64::from(self.settings.log.days.unwrap_or(0)) * DAY)
    }

    /// Returns the bytes that each replica of the files of conversations has; `None` if the account may not ask.
    pub async fn file_bytes(&self) -> Option<u64> {
        let stream = format!("OBJ_{FILE_STORE}");
        let api = format!("$JS.API.STREAM.INFO.{stream}");
        let mut refusals = self.reports.refusals();
        let context = jetstream::new(self.client.clone());
        tokio::select! {
            found = context.get_stream(&stream) => Some(found.ok()?.cached_info().state.bytes),
            _ = refusals.of(&api) => None,
        }
    }

    async fn create_bucket(&self, bucket: Bucket, replicas: usize) -> Result<(), SetupError> {
        let context = jetstream::new(self.client.clone());
        if context.get_key_value(bucket.name()).await.is_ok() {
            return Ok(());
        }
        let max_age = match bucket {
            Bucket::Runners => LEASE_AGE,
            Bucket::Seen | Bucket::Sessions | Bucket::Claims => Duration::ZERO,
        };
        let config = kv::Config {
            bucket: bucket.name().to_owned(),
            history: 1,
            max_age,
            storage: stream::StorageType::File,
            num_replicas: replicas,
            ..kv::Config::default()
        };
        let created = context.create_key_value(config).await;
        created.map(drop).map_err(|error| SetupError::Failed {
            what: bucket.name(),
            reason: error.to_string(),
        })
    }

    /// Returns how the servers keep the data.
    ///
    /// # Errors
    ///
    /// The stream does not exist or cannot be asked for.
    pub async fn layout(&self) -> Result<Layout, SetupError> {
        let context = jetstream::new(self.client.clone());
        let found = context.get_stream(LOG_STREAM).await;
        let found = found.map_err(|error| SetupError::Failed {
            what: LOG_STREAM,
            reason: error.to_string(),
        })?;
        Ok(found.cached_info().into())
    }
}

/// Returns whether the server has no others for replicas. A cluster that lacks some of its servers at present is not
/// alone: its stream would have one replica for ever.
fn is_alone(error: &CreateStreamError) -> bool {
    let CreateStreamErrorKind::JetStream(error) = error.kind() else {
        return false;
    };
    error.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED
}

/// Returns whether the server or the account has no JetStream.
pub(super) fn has_no_jetstream(error: &jetstream::Error) -> bool {
    matches!(
        error.error_code(),
        ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT
    )
}

/// Returns whether a request to JetStream failed since nothing listens: there is no JetStream, or no leader.
pub(super) fn is_unheard(error: &dyn std::error::Error) -> bool {
    let source = error.source();
    let request = source.and_then(|it| it.downcast_ref::<RequestError>());
    request.is_some_and(|it| it.kind() == RequestErrorKind::NoResponders)
}

fn failed(what: &'static str, error: &CreateStreamError) -> SetupError {
    match error.kind() {
        CreateStreamErrorKind::JetStreamUnavailable => SetupError::NoJetStream,
        CreateStreamErrorKind::JetStream(error) if has_no_jetstream(&error) => {
            SetupError::NoJetStream
        }
        _ => SetupError::Failed {
            what,
            reason: error.to_string(),
        },
    }
}
