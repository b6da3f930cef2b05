//! Files in the servers' object store.

use std::time::Duration;

use async_nats::jetstream::object_store::GetErrorKind;
use async_nats::jetstream::{self, object_store, stream};
use bytes::Bytes;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use super::connect::Connection;
use super::setup::SetupError;
use crate::bus::{BusError, FILE_STORE, FileStore};

/// Longest time for a file.
const FILE_TIMEOUT: Duration = Duration::from_secs(60);

impl Connection {
    /// Creates the store unless it exists.
    pub(super) async fn create_files(&self, replicas: usize) -> Result<(), SetupError> {
        let context = jetstream::new(self.client.clone());
        if context.get_object_store(FILE_STORE).await.is_ok() {
            return Ok(());
        }
        let config = object_store::Config {
            bucket: FILE_STORE.to_owned(),
            storage: stream::StorageType::File,
            num_replicas: replicas,
            max_age: self.log_age(),
            ..object_store::Config::default()
        };
        let created = context.create_object_store(config).await;
        created.map(drop).map_err(|error| SetupError::Failed {
            what: FILE_STORE,
            reason: error.to_string(),
        })
    }

    async fn files(&self) -> Result<object_store::ObjectStore, BusError> {
        let context = jetstream::new(self.client.clone());
        let store = context.get_object_store(FILE_STORE).await;
        store.map_err(|_| BusError::NoStream(FILE_STORE.to_owned()))
    }

    async fn write_file(&self, name: &str, content: &[u8]) -> Result<(), BusError> {
        let written = self.files().await?.put(name, &mut &*content).await;
        written.map(drop).map_err(other)
    }

    async fn read_file(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        let found = self.files().await?.get(name).await;
        let mut object = match found {
            Ok(object) => object,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(other(error)),
        };
        let mut content = Vec::new();
        object.read_to_end(&mut content).await.map_err(other)?;
        Ok(Some(content.into()))
    }
}

fn is_missing(error: &object_store::GetError) -> bool {
    error.kind() == GetErrorKind::NotFound
}

fn other(error: impl std::fmt::Display) -> BusError {
    BusError::Other(error.to_string())
}

impl FileStore for Connection {
    async fn put_file(&self, name: &str, content: Bytes) -> Result<(), BusError> {
        let written = timeout(FILE_TIMEOUT, self.write_file(name, &content)).await;
        written.unwrap_or(Err(BusError::Unanswered))
    }

    async fn file(&self, name: &str) -> Result<Option<Bytes>, BusError> {
        let read = timeout(FILE_TIMEOUT, self.read_file(name)).await;
        read.unwrap_or(Err(BusError::Unanswered))
    }
}
