//! Watches the directory while faults happen.

use std::collections::BTreeMap;

use bowline_fleet::{Bucket, Entry, FakeBus, KeyStore as _, RunnerId, SessionRecord};
use tokio::sync::mpsc;

/// Checks each record that is written.
#[derive(Debug)]
pub(super) struct Observer {
    entries: mpsc::Receiver<Entry>,
    /// The owners of each session by generation, since the broker lost everything last.
    owners: BTreeMap<String, BTreeMap<u64, RunnerId>>,
}

impl Observer {
    pub(super) async fn begin(bus: &FakeBus) -> Result<Self, String> {
        let entries = bus.watch(Bucket::Sessions).await;
        Ok(Self {
            entries: entries.map_err(|error| error.to_string())?,
            owners: BTreeMap::new(),
        })
    }

    /// Checks what was written since the last call.
    ///
    /// # Errors
    ///
    /// A generation went back, or has two owners.
    pub(super) fn look(&mut self) -> Result<(), String> {
        while let Ok(entry) = self.entries.try_recv() {
            let value = entry.value.as_deref();
            let record = value.and_then(|it| serde_json::from_slice(it).ok());
            if let Some(record) = record {
                self.add(&entry.key, &record)?;
            }
        }
        Ok(())
    }

    /// Forgets what was written: the broker has, too.
    pub(super) fn forget(&mut self) {
        self.owners.clear();
    }

    fn add(&mut self, key: &str, record: &SessionRecord) -> Result<(), String> {
        let generation = record.generation;
        let owners = self.owners.entry(key.to_owned()).or_default();
        let latest = owners.keys().next_back().copied().unwrap_or(0);
        if generation < latest {
            return Err(format!("{key}: generation {generation} after {latest}"));
        }
        let owner = owners.entry(generation);
        let owner = owner.or_insert_with(|| record.runner.clone());
        match *owner == record.runner {
            true => Ok(()),
            false => Err(format!(
                "{key}: {owner} and {} own generation {generation}",
                record.runner
            )),
        }
    }
}
