//! The tool calls that an editor knows.

use std::collections::HashMap;

use bowline_reducer::model::ThreadState;
use bowline_reducer::owned::ToolCallValue;
use bowline_reducer::{CallState, TranscriptChange};

use crate::api::acp::tool_call::{CallUpdate, CallView};

#[derive(Debug, Default)]
pub(in crate::api::acp) struct Calls {
    calls: HashMap<String, KnownCall>,
}

#[derive(Debug, Default)]
struct KnownCall {
    thread: Option<String>,
    /// The state that was not sent yet.
    new: Option<Box<ToolCallValue>>,
    /// The state of an open call that the editor has.
    sent: Option<Box<CallView>>,
    is_announced: bool,
    holder: Option<(Option<String>, ThreadState)>,
}

impl Calls {
    /// Updates the states of calls from changes.
    pub(super) fn index(&mut self, changes: &[TranscriptChange]) {
        for change in changes {
            if let TranscriptChange::ToolCall { thread, value, .. } = change {
                let call = self.calls.entry(value.id.clone()).or_default();
                call.thread.clone_from(thread);
                call.holder = holder(value);
                call.new = Some(Box::new(value.clone()));
            }
        }
    }

    /// Returns the thread of a call.
    pub(in crate::api::acp) fn thread(&self, id: &str) -> Option<String> {
        self.calls.get(id)?.thread.clone()
    }

    /// Returns the state of a call that the editor has, unless the call has ended.
    pub(in crate::api::acp) fn sent(&self, id: &str) -> Option<&CallView> {
        self.calls.get(id)?.sent.as_deref()
    }

    /// Returns the title and the progress of the sub-agent that a call started.
    pub(super) fn holder(&self, id: &str) -> Option<(Option<String>, ThreadState)> {
        self.calls.get(id)?.holder.clone()
    }

    /// Returns the thread of a call and the update with its new state, if there is one.
    pub(super) fn update(
        &mut self,
        id: &str,
        is_flat: bool,
    ) -> Option<(Option<String>, CallUpdate)> {
        let call = self.calls.get_mut(id)?;
        let value = call.new.take()?;
        if !call.is_announced && is_nameless(&value) {
            call.new = Some(value);
            return None;
        }
        let parent = call.thread.as_deref().filter(|_| is_flat);
        let new = CallView::of(&value, parent);
        let update = match &call.sent {
            Some(sent) => new.since(sent),
            None => Some(CallUpdate {
                is_new: !call.is_announced,
                ..new.clone().into()
            }),
        };
        call.is_announced = true;
        call.sent = value.state.is_open().then(|| Box::new(new));
        Some((call.thread.clone(), update?))
    }
}

/// Whether the model has not named the tool yet.
fn is_nameless(call: &ToolCallValue) -> bool {
    call.name.is_empty() && call.title.is_none() && call.state.is_open()
}

fn holder(call: &ToolCallValue) -> Option<(Option<String>, ThreadState)> {
    let subagent = call.subagent.as_ref()?;
    let state = subagent.state.unwrap_or(match call.state {
        CallState::Succeeded => ThreadState::Completed,
        CallState::Failed => ThreadState::Failed,
        CallState::Interrupted => ThreadState::Interrupted,
        CallState::Lost => ThreadState::Lost,
        _ => ThreadState::Running,
    });
    let title = subagent.title.clone().or_else(|| call.title.clone());
    Some((title, state))
}
