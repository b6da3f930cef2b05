//! What hosts have changed of a session's record since its start: name, labels and metadata (`host.json`).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use bowline_transport::{MAX_METADATA, RESERVED_LABELS, SessionUpdate, sync_file};

use super::{SessionDir, SessionInfo};

/// Maximum size of a name and labels together, in bytes.
const MAX_LABELS: usize = 64 << 10;

/// Why a change of a session's record was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpdateError {
    /// The metadata is too large.
    #[error("the metadata has {bytes} bytes, of at most {MAX_METADATA}")]
    Metadata {
        /// Its size.
        bytes: usize,
    },
    /// The name and the labels are too large.
    #[error("the name and the labels have {bytes} bytes, of at most {MAX_LABELS}")]
    Labels {
        /// Their size.
        bytes: usize,
    },
    /// A label has a name that only Bowline sets.
    #[error("the label {label} is reserved")]
    Reserved {
        /// The label.
        label: String,
    },
    /// The file could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl SessionDir {
    /// Merges a change into those so far, and syncs them. Callers do so one after the other.
    ///
    /// # Errors
    ///
    /// The change is refused, or the error of the system. Nothing has changed then.
    pub(crate) fn update(&self, change: SessionUpdate) -> Result<(), UpdateError> {
        let merged = merge(self.host_data(), change);
        check(&merged)?;
        let new = self.path().join("host.json.new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&new)?;
        file.write_all(&serde_json::to_vec(&merged).map_err(io::Error::from)?)?;
        sync_file(&file)?;
        fs::rename(new, self.host_data_path())?;
        Ok(sync_file(&File::open(self.path())?)?)
    }

    /// Returns all changes so far. A damaged file has none: the record of the start stays valid.
    pub(crate) fn host_data(&self) -> SessionUpdate {
        let read = fs::read(self.host_data_path()).unwrap_or_default();
        serde_json::from_slice(&read).unwrap_or_default()
    }

    fn host_data_path(&self) -> PathBuf {
        self.path().join("host.json")
    }
}

impl SessionInfo {
    /// Returns the record with the changes of name and labels.
    pub(crate) fn with(mut self, changes: SessionUpdate) -> Self {
        self.name = changes.name.unwrap_or(self.name);
        for (label, value) in changes.labels {
            match value {
                Some(value) => self.labels.insert(label, value),
                None => self.labels.remove(&label),
            };
        }
        self
    }
}

fn merge(mut earlier: SessionUpdate, later: SessionUpdate) -> SessionUpdate {
    earlier.name = later.name.or(earlier.name);
    earlier.metadata = later.metadata.or(earlier.metadata);
    earlier.labels.extend(later.labels);
    earlier
}

fn check(update: &SessionUpdate) -> Result<(), UpdateError> {
    let text = |it: &Option<Option<String>>| it.iter().flatten().map(String::len).sum::<usize>();
    let metadata = text(&update.metadata);
    let labels = text(&update.name) + size(&update.labels);
    let reserved = update
        .labels
        .keys()
        .find(|it| it.starts_with(RESERVED_LABELS));
    match reserved {
        Some(label) => Err(UpdateError::Reserved {
            label: label.clone(),
        }),
        None if metadata > MAX_METADATA => Err(UpdateError::Metadata { bytes: metadata }),
        None if labels > MAX_LABELS => Err(UpdateError::Labels { bytes: labels }),
        None => Ok(()),
    }
}

fn size(labels: &BTreeMap<String, Option<String>>) -> usize {
    let sizes = labels.iter();
    sizes
        .map(|(label, value)| label.len() + value.as_ref().map_or(0, String::len))
        .sum()
}

#[cfg(test)]
mod tests {
    use bowline_transport::SessionId;

    use super::*;

    #[test]
    fn changes_are_merged_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionDir::at(SessionId::random(), folder.path().into());
        let update = |text| session.update(serde_json::from_str(text).unwrap());
        update(r#"{"name":"a","labels":{"x":"1","y":"2"},"metadata":"draft"}"#).unwrap();
        update(r#"{"labels":{"x":null}}"#).unwrap();
        let mut info = SessionInfo::of_damaged(session.id(), false, 0);
        info.labels.insert("x".into(), "0".into());
        let info = info.with(session.host_data());
        assert_eq!(info.name.as_deref(), Some("a"));
        assert_eq!(info.labels, [("y".into(), "2".into())].into());
        assert_eq!(session.host_data().metadata, Some(Some("draft".into())));
        let too_long = format!(r#"{{"metadata":"{}"}}"#, "m".repeat(MAX_METADATA + 1));
        assert!(matches!(
            update(&too_long),
            Err(UpdateError::Metadata { bytes }) if bytes == MAX_METADATA + 1
        ));
        let reserved = update(r#"{"labels":{"bowline.driver":"daemon"}}"#);
        assert!(matches!(reserved, Err(UpdateError::Reserved { .. })));
        let too_many = format!(r#"{{"labels":{{"l":"{}"}}}}"#, "m".repeat(MAX_LABELS));
        assert!(matches!(update(&too_many), Err(UpdateError::Labels { .. })));
        assert_eq!(session.host_data().metadata, Some(Some("draft".into())));
    }
}
