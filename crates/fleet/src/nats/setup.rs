//! Creates the stream and the buckets of a fleet.

use std::time::Duration;

use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::{self, ErrorCode, kv, stream};
use tokio::time::sleep;

use super::connect::Connection;
use crate::bus::{Bucket, LOG_STREAM};
use crate::directory::LEASE_AGE;

/// Replicas where the servers can have them.
pub(super) const REPLICAS: usize = 3;

/// Interval between two looks for a missing stream or bucket.
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// Pause before servers that could not create them are asked again.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// How the servers keep a fleet's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of replicas of the stream of logs.
    pub replicas: usize,
    /// Name of the server that leads the stream of logs; `None` of a server alone, or during an election.
    pub leader: Option<String>,
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
        "the stream {LOG_STREAM} has {found} replicas, and {wanted} are asked for; run `bowline fleet doctor`"
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
    /// alone. `replicas` asks for a number of them.
    ///
    /// # Errors
    ///
    /// The servers have no JetStream, lack the replicas, or refuse.
    pub async fn set_up(&self, replicas: Option<usize>) -> Result<Layout, SetupError> {
        let found = match self.create_log(replicas.unwrap_or(REPLICAS)).await {
            Err(error) if replicas.is_none() && is_alone(&error) => self.create_log(1).await,
            created => created,
        };
        let found = found.map_err(|error| failed(LOG_STREAM, &error))?;
        if let Some(wanted) = replicas.filter(|wanted| found < *wanted) {
            return Err(SetupError::Replicas { found, wanted });
        }
        for bucket in Bucket::ALL {
            self.create_bucket(bucket, found).await?;
        }
        self.create_files(found).await?;
        Ok(Layout {
            replicas: found,
            leader: None,
        })
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

    /// Creates the stream of logs unless it exists, and returns its number of replicas.
    async fn create_log(&self, replicas: usize) -> Result<usize, CreateStreamError> {
        let context = jetstream::new(self.client.clone());
        let config = stream::Config {
            name: LOG_STREAM.to_owned(),
            subjects: vec!["bl.log.>".to_owned()],
            storage: stream::StorageType::File,
            num_replicas: replicas,
            allow_direct: true,
            ..stream::Config::default()
        };
        let created = context.get_or_create_stream(config).await?;
        Ok(created.cached_info().config.num_replicas)
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
        let info = found.cached_info();
        Ok(Layout {
            replicas: info.config.num_replicas,
            leader: info.cluster.as_ref().and_then(|it| it.leader.clone()),
        })
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
