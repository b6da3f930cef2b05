//! What a conversation was about, kept when it ends for the lists of later daemons (`activity.json`).

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use bowline_transport::SessionActivity;

use super::SessionDir;

impl SessionDir {
    /// Keeps what the conversation was about. It is not synced: a file that is missing or damaged is made anew from
    /// the log.
    pub(crate) fn keep_activity(&self, activity: &SessionActivity) -> io::Result<()> {
        let new = self.path().join("activity.json.new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&new)?;
        file.write_all(&serde_json::to_vec(activity)?)?;
        fs::rename(new, self.activity_path())
    }

    /// Returns what the conversation was about, if that is kept.
    pub(crate) fn activity(&self) -> Option<SessionActivity> {
        let read = fs::read(self.activity_path()).ok()?;
        serde_json::from_slice(&read).ok()
    }

    fn activity_path(&self) -> PathBuf {
        self.path().join("activity.json")
    }
}
