//! Sub-agents as sessions of their own.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    ErrorStopReason, IdleStateUpdate, IdleStopReason, RequiresActionStateUpdate,
    RunningStateUpdate, SessionId, StateUpdate, SubagentUpdate,
};
use bowline_reducer::model::ThreadState;

/// The child sessions that an editor knows, by thread.
#[derive(Debug, Default)]
pub(super) struct Children {
    known: HashMap<String, (Option<String>, Option<ThreadState>)>,
}

impl Children {
    /// Returns the id of a thread's session.
    pub(super) fn session(parent: &SessionId, thread: &str) -> SessionId {
        SessionId::new(format!("{parent}:{thread}"))
    }

    pub(super) fn is_known(&self, thread: &str) -> bool {
        self.known.contains_key(thread)
    }

    /// Announces a child session, or tells what changed; `None` if nothing did.
    pub(super) fn update(
        &mut self,
        parent: &SessionId,
        thread: &str,
        title: Option<&str>,
        state: Option<ThreadState>,
    ) -> Option<SubagentUpdate> {
        let new = (title.map(str::to_owned), state);
        let old = self.known.insert(thread.to_owned(), new.clone());
        if old.as_ref() == Some(&new) {
            return None;
        }
        let mut update = SubagentUpdate::new(Self::session(parent, thread));
        if let (Some(title), true) = (
            new.0,
            old.as_ref().map(|old| old.0.as_deref()) != Some(title),
        ) {
            update = update.title(title);
        }
        Some(update.state(progress(state.unwrap_or(ThreadState::Running))))
    }
}

fn progress(state: ThreadState) -> StateUpdate {
    let idle = |reason| StateUpdate::Idle(IdleStateUpdate::new().stop_reason(Some(reason)));
    match state {
        ThreadState::RequiresAction => {
            StateUpdate::RequiresAction(RequiresActionStateUpdate::new())
        }
        ThreadState::Idle => StateUpdate::Idle(IdleStateUpdate::new()),
        ThreadState::Completed => idle(IdleStopReason::EndTurn),
        ThreadState::Failed => idle(IdleStopReason::Error(ErrorStopReason::new())),
        ThreadState::Interrupted | ThreadState::Lost => idle(IdleStopReason::Cancelled),
        _ => StateUpdate::Running(RunningStateUpdate::new()),
    }
}
