//! Permission requests that an agent does not pass on (`crates/jsonl/PROTOCOL-acp.md`, Sub-agents).

use bowline_jsonl::RawJson;
use bowline_reducer::{ToolCall, Transcript};

use crate::watchdog::SilenceCause;

/// The agent that asks for the permissions of the main session only, by the name that it states.
pub(super) const AGENT: &str = "OpenCode";

/// An argument that only its call of a sub-agent has.
const ARGUMENT: &str = "subagent_type";

/// Returns what a silence may be due to, and the remedy, while a sub-agent works. What a sub-agent of this
/// agent does cannot be seen, so one that waits cannot be distinguished from one that works.
pub(super) fn cause(transcript: &Transcript) -> Option<SilenceCause> {
    let calls = transcript.main().tool_calls().iter().rev();
    let open = calls.filter(|call| call.state().is_open());
    let mut open = open.take(transcript.open_work().calls);
    let call = open.find(|call| is_subagent(*call))?;
    Some(SilenceCause::HiddenPermission {
        agent: "opencode".to_owned(),
        task: call.shown().title.unwrap_or_default().into_owned(),
    })
}

fn is_subagent(call: ToolCall<'_>) -> bool {
    let input = call.input().map(|it| it.text());
    let input = input.as_deref().and_then(RawJson::parse);
    input.is_some_and(|it| it.get(ARGUMENT).is_some())
}
