//! The inbox: the permission requests of all sessions of this process, and what else needs attention, as a stream.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use bowline_transport::SessionId;
use tokio::sync::watch;

use super::list::{SessionPermission, TerminalRegistry};
use crate::attention::Attention;
use crate::permission::{PermissionRecord, RequestState};

/// What happened to the sessions of this process.
///
/// See [`TerminalRegistry::inbox`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InboxEvent {
    /// A permission request waits for an answer.
    Opened(SessionPermission),
    /// A permission request that waited is closed: [`state`](PermissionRecord::state) says how, and
    /// [`answered_by`](PermissionRecord::answered_by) by which client.
    Closed(SessionPermission),
    /// A session needs attention, for another reason than before.
    Attention {
        /// Id of the session.
        session: SessionId,
        /// Why.
        attention: Attention,
    },
}

/// The inbox of all sessions of this process, local and remote, from [`TerminalRegistry::inbox`].
///
/// It begins with the requests that wait. It keeps no session alive and delays none; a request that was closed before the
/// reader took it is left out.
#[derive(Debug)]
pub struct Inbox {
    registry: TerminalRegistry,
    changed: watch::Receiver<u64>,
    /// The requests that were reported and wait, in the order of the sessions.
    open: BTreeMap<(SessionId, String), Arc<PermissionRecord>>,
    /// The last attention of each session, by its id.
    attention: HashMap<SessionId, String>,
    events: VecDeque<InboxEvent>,
}

impl TerminalRegistry {
    /// Returns the inbox of all sessions of this process, later ones included. Answer with
    /// [`answer_permission`](Self::answer_permission).
    ///
    /// ```
    /// use bowline_lifecycle::{Decision, Inbox, InboxEvent, TerminalRegistry};
    ///
    /// /// Allows everything, and returns what needs attention first.
    /// async fn allow_all(mut inbox: Inbox) -> String {
    ///     loop {
    ///         match inbox.next().await {
    ///             InboxEvent::Opened(asked) => {
    ///                 let registry = TerminalRegistry::shared();
    ///                 let (id, by) = (&asked.record.request_id, Some("me".to_owned()));
    ///                 let answer = registry.answer_permission(asked.session, id, Decision::allow(), by);
    ///                 if let Err(error) = answer.await {
    ///                     println!("too late: {error}");
    ///                 }
    ///             }
    ///             InboxEvent::Closed(closed) => println!("{:?}", closed.record.answered_by),
    ///             InboxEvent::Attention { attention, .. } => return attention.id,
    ///             _ => {}
    ///         }
    ///     }
    /// }
    /// # let _ = allow_all(TerminalRegistry::default().inbox());
    /// ```
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        Inbox {
            registry: self.clone(),
            changed: self.inner.changed.subscribe(),
            open: BTreeMap::new(),
            attention: HashMap::new(),
            events: VecDeque::new(),
        }
        .started()
    }
}

impl Inbox {
    /// Has the first read look at what is there.
    fn started(mut self) -> Self {
        self.changed.mark_changed();
        self
    }

    /// Waits for the next event.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> InboxEvent {
        loop {
            if let Some(event) = self.try_next() {
                return event;
            }
            if self.changed.changed().await.is_err() {
                // The registry that this holds has the sender.
                std::future::pending::<()>().await;
            }
            self.changed.mark_changed();
        }
    }

    /// Returns the next event if there is one.
    pub fn try_next(&mut self) -> Option<InboxEvent> {
        if self.events.is_empty() && self.changed.has_changed().unwrap_or(false) {
            self.changed.mark_unchanged();
            self.read();
        }
        self.events.pop_front()
    }

    /// Compares what is there with what was reported.
    fn read(&mut self) {
        let now: BTreeMap<_, _> = self
            .registry
            .permissions()
            .into_iter()
            .map(|it| ((it.session, it.record.request_id.clone()), it.record))
            .collect();
        let events = &mut self.events;
        self.open.retain(|(session, id), record| {
            let record = match now.get(&(*session, id.clone())) {
                Some(now) if now.state.is_open() => return true,
                Some(now) => Arc::clone(now),
                // The session ended with it.
                None => Arc::new(PermissionRecord {
                    state: RequestState::Orphaned,
                    ..PermissionRecord::clone(record)
                }),
            };
            let session = *session;
            events.push_back(InboxEvent::Closed(SessionPermission { session, record }));
            false
        });
        for ((session, id), record) in now {
            if record.state.is_open() && !self.open.contains_key(&(session, id.clone())) {
                self.open.insert((session, id), Arc::clone(&record));
                events.push_back(InboxEvent::Opened(SessionPermission { session, record }));
            }
        }
        self.read_attention();
    }

    fn read_attention(&mut self) {
        let present = self.registry.attention();
        self.attention
            .retain(|id, _| present.iter().any(|(session, _)| session == id));
        for (session, attention) in present {
            let Some(attention) = attention else {
                continue;
            };
            let known = self.attention.insert(session, attention.id.clone());
            if known.as_ref() != Some(&attention.id) {
                self.events
                    .push_back(InboxEvent::Attention { session, attention });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use bowline_transport::SessionId;

    use super::InboxEvent;
    use crate::attention::{Attention, AttentionReason};
    use crate::registry::{TerminalRegistry, TerminalTag, Tombstone};

    fn ended(id: SessionId, cause: &str) -> Tombstone {
        Tombstone {
            id,
            tag: TerminalTag::AgentDialogue,
            pid: None,
            started: SystemTime::UNIX_EPOCH,
            ended: SystemTime::UNIX_EPOCH,
            status: None,
            expected: true,
            reason: String::new(),
            attention: Some(Attention {
                id: cause.to_owned(),
                reason: AttentionReason::Finished { text: None },
            }),
        }
    }

    #[test]
    fn reattached_session_has_its_newest_attention_once() {
        let registry = TerminalRegistry::default();
        let id = SessionId::random();
        for cause in ["first", "second"] {
            registry.lock().add_tombstone(ended(id, cause));
        }
        let mut inbox = registry.inbox();
        match inbox.try_next() {
            Some(InboxEvent::Attention { session, attention }) => {
                assert_eq!((session, attention.id.as_str()), (id, "second"));
            }
            other => panic!("{other:?}"),
        }
        registry.note_change();
        assert_eq!(inbox.try_next(), None);
    }
}
