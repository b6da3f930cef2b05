//! Sub-agents as sessions of their own.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_reducer::model::ThreadState;

use crate::api::acp::update::{Progress, Stop, Update};

/// The child sessions that an editor knows, by thread.
#[derive(Debug, Default)]
pub(super) struct Children {
    known: HashMap<String, (Option<String>, Option<ThreadState>)>,
}

impl Children {
    /// Returns the id of a thread's session.
    pub(super) fn session(parent: &str, thread: &str) -> Arc<str> {
        format!("{parent}:{thread}").into()
    }

    pub(super) fn is_known(&self, thread: &str) -> bool {
        self.known.contains_key(thread)
    }

    /// Returns the update that announces a child session or reports its changes; `None` if nothing changed.
    pub(super) fn update(
        &mut self,
        parent: &str,
        thread: &str,
        title: Option<&str>,
        state: Option<ThreadState>,
    ) -> Option<Update> {
        let new = (title.map(str::to_owned), state);
        let old = self.known.insert(thread.to_owned(), new.clone());
        if old.as_ref() == Some(&new) {
            return None;
        }
        let known_title = old.and_then(|(title, _)| title);
        Some(Update::Child {
            session: Self::session(parent, thread),
            title: new.0.filter(|title| known_title.as_ref() != Some(title)),
            progress: progress(state.unwrap_or(ThreadState::Running)),
        })
    }
}

const fn progress(state: ThreadState) -> Progress {
    match state {
        ThreadState::RequiresAction => Progress::RequiresAction,
        ThreadState::Idle => Progress::Idle(None),
        ThreadState::Completed => Progress::Idle(Some(Stop::EndTurn)),
        ThreadState::Failed => Progress::Idle(Some(Stop::Failed(String::new()))),
        ThreadState::Interrupted | ThreadState::Lost => Progress::Idle(Some(Stop::Cancelled)),
        _ => Progress::Running,
    }
}
