//! Sessions of sub-agents.

use bowline_jsonl::acp::{SessionMessage, Subagent};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::acp::Acp;
use crate::dialect::acp::host::shown;
use crate::dialect::acp::update::owned;
use crate::fold::primitives::{CallEnd, CallUpdate, Prompt};
use crate::model::ThreadState;
use crate::state::CallState;
use crate::transcript::Fold;

impl Acp {
    /// A sub-agent's session is announced, or changes.
    pub(super) fn subagent(&mut self, subagent: &Subagent<'_>, fold: &mut Fold<'_>) {
        let Some(session) = subagent.session_id.map(Str::decode) else {
            return fold.unknown("subagent_update without session");
        };
        let thread = fold.thread(&session);
        if let Some(title) = subagent.title {
            fold.set_thread_title(thread, &title.decode());
        }
        if let Some(kind) = subagent.description {
            fold.set_thread_type(thread, &kind.decode());
        }
        let state = owned(subagent.state.state);
        let reason = subagent.state.stop_reason.map(Str::decode);
        let (state, call) = match (&*state, reason.as_deref()) {
            ("running", _) => (ThreadState::Running, None),
            ("requires_action", _) => (ThreadState::RequiresAction, None),
            ("idle", None) => (ThreadState::Idle, None),
            ("idle", Some("end_turn")) => (ThreadState::Completed, Some(CallState::Succeeded)),
            ("idle", Some("cancelled")) => (ThreadState::Interrupted, Some(CallState::Interrupted)),
            ("idle", Some(_)) => (ThreadState::Failed, Some(CallState::Failed)),
            _ => return,
        };
        fold.set_thread_state(thread, state);
        if let Some(state) = call {
            fold.close_message(thread);
            self.end_holder(&session, state, None, fold);
        }
    }

    /// A message between a session and its sub-agent's. The first one stands for the call that starts
    /// the sub-agent, one back for its result, and the copy in the sub-agent's session for its prompt.
    pub(super) fn session_message(
        &mut self,
        session: Option<Str<'_>>,
        message: &SessionMessage<'_>,
        fold: &mut Fold<'_>,
    ) {
        let thread = self.thread(session, fold);
        let parts: Vec<_> = message.content().map(|part| shown(&part)).collect();
        let text = parts.join("\n");
        let sender = owned(message.sender);
        if message.sender == session {
            let name = self.call_name(session, message.message_id.unwrap_or_default());
            let child = fold.thread(&owned(message.recipient));
            let input = serde_json::json!({ "prompt": text }).to_string();
            let update = CallUpdate {
                name: Some("Agent"),
                input: RawJson::parse(&input),
                state: Some(CallState::Running),
                ..CallUpdate::default()
            };
            fold.upsert_call(thread, &name, update);
            fold.hold_thread(child, &name);
            self.holders.insert(owned(message.recipient), name);
        } else if self.holders.contains_key(&sender) {
            self.end_holder(&sender, CallState::Succeeded, Some(&text), fold);
        } else {
            let prompt = Prompt {
                text: &text,
                ..Prompt::default()
            };
            fold.close_message(thread);
            fold.prompt(thread, prompt);
        }
    }

    fn end_holder(&self, session: &str, state: CallState, text: Option<&str>, fold: &mut Fold<'_>) {
        let Some(name) = self.holders.get(session) else {
            return;
        };
        if let Some(call) = fold.transcript().find_call(name) {
            fold.end_call(
                call,
                CallEnd {
                    state,
                    text,
                    raw: None,
                },
            );
        }
    }
}
