//! The records of the directory, JSON as the value of a key.

use std::time::Duration;

use bowline_wire::Epoch;
use serde::{Deserialize, Serialize};

use super::claim::ClaimRecord;
use super::index::LogIndex;
use super::names::RunnerId;
use crate::log::Positions;

/// Age at which the record of a runner that does not renew it is removed by the server. Losing the leader of
/// the bucket takes up to 12 s, which must not end a lease.
pub const LEASE_AGE: Duration = Duration::from_secs(30);

/// A runner that is alive: the value of its key in `BL_RUNNERS`, which expires, and in `BL_SEEN`, which does
/// not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerRecord {
    /// Its id: the key.
    pub runner: RunnerId,
    /// Its display name: that of the machine.
    pub name: String,
    /// Identifies the run of its daemon, at random.
    pub boot: String,
    /// Version of Bowline.
    pub version: String,
    /// The subject on which it accepts links.
    pub link: String,
    /// How many sessions run.
    #[serde(default)]
    pub sessions: u64,
}

/// A session: the value of its key in `BL_SESSIONS`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The runner that owns it.
    pub runner: RunnerId,
    /// Fences owners: each takeover increases it, and so does a new epoch at the same runner.
    pub generation: u64,
    /// The incarnation of its child.
    pub epoch: Epoch,
    /// What the owner's REST API lists of it.
    pub summary: serde_json::Value,
    /// The end of each stream at the owner.
    #[serde(default)]
    pub ends: Positions,
    /// What the fleet's stream has.
    #[serde(default)]
    pub copied: Positions,
    /// Whether the servers keep what is copied through a power failure: three replicas that sync at once.
    #[serde(default)]
    pub is_durable: bool,
    /// Where in the stream to begin to read at an offset.
    #[serde(default)]
    pub index: LogIndex,
    /// Earlier epochs and owners, oldest first; all remain readable.
    #[serde(default)]
    pub earlier: Vec<EarlierEpoch>,
    /// The session of another runner that has the claim of this one's conversation; both write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<ClaimRecord>,
    /// The state of the working tree when the files of the conversation were copied. It is not copied itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
}

/// What git reports of a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The address of the remote `origin`, without credentials.
    #[serde(default)]
    pub remote: Option<String>,
    /// The branch; `None` of a detached head.
    #[serde(default)]
    pub branch: Option<String>,
    /// The commit.
    #[serde(default)]
    pub commit: Option<String>,
    /// Whether files differ from the commit, or are not in it.
    pub is_dirty: bool,
}

/// An epoch of a session that another one followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierEpoch {
    /// The runner that owned it.
    pub runner: RunnerId,
    /// Its generation.
    pub generation: u64,
    /// The incarnation of the child.
    pub epoch: Epoch,
    /// What the fleet's stream had of it when it was followed.
    #[serde(default)]
    pub copied: Positions,
}

impl SessionRecord {
    /// Returns whether the session has ended, as its owner has recorded it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let state = self.summary.get("state");
        state.is_some_and(|it| it != "running")
    }

    /// Returns the record's epoch as an earlier one.
    pub(super) fn as_earlier(&self) -> EarlierEpoch {
        EarlierEpoch {
            runner: self.runner.clone(),
            generation: self.generation,
            epoch: self.epoch,
            copied: self.copied.clone(),
        }
    }
}
