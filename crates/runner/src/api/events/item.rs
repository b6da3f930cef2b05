//! Events as JSON.

use bowline_lifecycle::Attention;
use bowline_reducer::{Change, ChangeParts, Changes, Phase, Transcript};
use bowline_transport::{SessionId, SessionSummary};
use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::rest::{PermissionRequest, permission_request};

/// The types of events of all sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ItemKind {
    Change,
    Created,
    Phase,
    Permission,
    Ended,
    Removed,
}

impl ItemKind {
    pub(super) const ALL: [Self; 6] = [
        Self::Change,
        Self::Created,
        Self::Phase,
        Self::Permission,
        Self::Ended,
        Self::Removed,
    ];

    /// Returns its name, the `type` of the event.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Created => "created",
            Self::Phase => "phase",
            Self::Permission => "permission",
            Self::Ended => "ended",
            Self::Removed => "removed",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// An event.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// A JSON object. That of a change lacks the members `session` and `type`.
    pub(super) json: Bytes,
    /// The revision at which a reader continues after it; `None` if that is not known.
    pub(super) revision: Option<u64>,
    /// The same for readers of all sessions, if it is another one.
    in_all: Option<Bytes>,
}

impl Item {
    /// A change, as readers of one session get it.
    fn change(change: &Change<'_>, revision: Option<u64>) -> Self {
        let json = serde_json::to_vec(change).unwrap_or_default();
        let in_all = match change {
            // Its member has the name of the session's id.
            Change::Session { session } => {
                let change = json!({"change": "session", "value": session});
                Some(change.to_string().into())
            }
            _ => None,
        };
        Self {
            kind: ItemKind::Change,
            json: json.into(),
            revision,
            in_all,
        }
    }

    #[cfg(test)]
    pub(super) fn blank(bytes: usize) -> Self {
        Self {
            kind: ItemKind::Change,
            json: Bytes::from(vec![b' '; bytes]),
            revision: None,
            in_all: None,
        }
    }
}

/// The session that events are about.
#[derive(Clone, Debug)]
pub(super) struct SessionHead {
    pub(super) id: SessionId,
    pub(super) name: Option<String>,
    /// The name of the agent's program, until the agent names itself.
    pub(super) program: String,
}

/// The activity of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PhaseView {
    pub(super) phase: Phase,
    pub(super) reason: String,
    /// What of the session needs attention.
    pub(super) attention: Option<Attention>,
}

impl PhaseView {
    pub(super) fn of(transcript: &Transcript) -> Self {
        let status = transcript.status();
        Self {
            phase: status.phase,
            reason: status.reason.into_owned(),
            attention: Attention::of(transcript),
        }
    }
}

/// A permission request of one of the sessions.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct SessionPermission {
    /// Id of the session.
    pub(super) session: String,
    /// Display name of the session.
    pub(super) label: Option<String>,
    /// Name of the agent.
    pub(super) agent: String,
    #[serde(flatten)]
    pub(super) request: PermissionRequest,
}

impl SessionHead {
    pub(super) fn of(summary: &SessionSummary) -> Self {
        let program = summary.program.rsplit('/').next();
        Self {
            id: summary.id,
            name: summary.name.clone(),
            program: program.unwrap_or_default().to_owned(),
        }
    }

    /// A session of which only the id is known.
    pub(super) const fn anonymous(id: SessionId) -> Self {
        Self {
            id,
            name: None,
            program: String::new(),
        }
    }

    /// Returns the open permission requests of a transcript.
    pub(super) fn open_permissions(&self, transcript: &Transcript) -> Vec<SessionPermission> {
        let open = transcript.pending_permissions();
        open.map(|it| self.permission(transcript, permission_request(it)))
            .collect()
    }

    fn permission(&self, transcript: &Transcript, request: PermissionRequest) -> SessionPermission {
        let agent = transcript.session().agent_name();
        SessionPermission {
            session: self.id.to_string(),
            label: self.name.clone(),
            agent: agent.unwrap_or(&self.program).to_owned(),
            request,
        }
    }

    pub(super) fn phase_item(&self, view: &PhaseView) -> Item {
        self.item(ItemKind::Phase, view)
    }

    pub(super) fn permission_item(&self, permission: &SessionPermission) -> Item {
        self.item(ItemKind::Permission, permission)
    }

    /// Returns an event with the members of a value.
    pub(super) fn item(&self, kind: ItemKind, value: &impl Serialize) -> Item {
        let mut object = json!({});
        if let Ok(serde_json::Value::Object(members)) = serde_json::to_value(value) {
            object = members.into();
        }
        object["session"] = self.id.to_string().into();
        object["type"] = kind.name().into();
        Item {
            kind,
            json: object.to_string().into(),
            revision: None,
            in_all: None,
        }
    }

    /// Returns an event as readers of all sessions get it.
    pub(super) fn in_all(&self, item: &Item) -> Bytes {
        if item.kind != ItemKind::Change {
            return item.json.clone();
        }
        let json = item.in_all.as_ref().unwrap_or(&item.json);
        let members = json.get(1..).unwrap_or(b"}");
        let head = format!("{{\"session\":\"{}\",\"type\":\"change\",", self.id);
        [head.as_bytes(), members].concat().into()
    }
}

/// Changes of a session that were read, and what else they tell.
#[derive(Debug)]
pub(super) struct ReadChanges {
    changes: Vec<Item>,
    permissions: Vec<SessionPermission>,
    phase: Option<PhaseView>,
}

impl ReadChanges {
    pub(super) fn of(changes: &Changes<'_>, head: &SessionHead) -> Self {
        let transcript = changes.transcript();
        let (mut permissions, mut has_phase) = (Vec::new(), false);
        let items = changes.iter().zip(1..).map(|(change, count)| {
            match &change {
                Change::Permission { value, .. } => {
                    permissions.push(head.permission(transcript, permission_request(*value)));
                }
                Change::Status { .. } | Change::Session { .. } => has_phase = true,
                _ => {}
            }
            let after = changes.cursor_after(count).revision().number();
            let after = (!changes.is_reset()).then_some(after);
            Item::change(&change, after)
        });
        Self {
            changes: items.collect(),
            permissions,
            phase: has_phase.then(|| PhaseView::of(transcript)),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the events: the changes first, so that a reader has what the others refer to.
    pub(super) fn items(self, head: &SessionHead) -> Vec<Item> {
        let permissions = self.permissions.iter().map(|it| head.permission_item(it));
        let phase = self.phase.iter().map(|it| head.phase_item(it));
        let others: Vec<_> = permissions.chain(phase).collect();
        [self.changes, others].concat()
    }
}

/// Returns the events of a part of a whole transcript: those of at most `max_count` changes from one on.
pub(super) fn part_items(
    parts: &ChangeParts,
    from: usize,
    max_count: usize,
    head: &SessionHead,
) -> Vec<Item> {
    let changes = parts.part(from, max_count);
    let read = changes.map(|it| ReadChanges::of(&it, head));
    read.map(|it| it.items(head)).unwrap_or_default()
}
