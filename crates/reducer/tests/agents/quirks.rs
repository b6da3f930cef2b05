//! What single agents do beside the protocol (`crates/jsonl/PROTOCOL-acp.md`).

use bowline_reducer::model::{
    AnswerKind, Content, QuestionKind, RequestKind, ThreadState, ToolKind,
};
use bowline_reducer::{
    CallState, End, Entry, EntryKind, MessageState, Meta, Outcome, PermissionState, Phase,
    ToolCall, Transcript,
};
use serde_json::{Value, json};

use crate::recording::{Recording, named};
use crate::seen::Seen;

/// The transcript after the first line for which `is_last` holds.
fn until(name: &str, is_last: impl Fn(&Value) -> bool) -> Transcript {
    let mut recording = named(name);
    let messages = recording.messages.iter();
    let at = messages.map(|(_, message)| message).position(is_last);
    recording.messages.truncate(at.expect("the line") + 1);
    recording.fold_open()
}

fn is_permission(message: &Value) -> bool {
    message["method"] == "session/request_permission"
}

fn only_call(transcript: &Transcript) -> ToolCall<'_> {
    let mut calls = transcript.main().tool_calls().iter();
    let call = calls.next().expect("a call");
    assert!(calls.next().is_none());
    call
}

fn call<'t>(transcript: &'t Transcript, id: &str) -> ToolCall<'t> {
    transcript.tool_call(id).expect("the call")
}

fn first_answer(transcript: &Transcript) -> PermissionState {
    transcript.permissions().next().expect("a request").state()
}

#[test]
fn gemini_permission_introduces_call() {
    let name = "gemini/acp.tool.trace.jsonl";
    let asked = until(name, is_permission);
    assert_eq!(only_call(&asked).state(), CallState::AwaitingPermission);
    assert_eq!(asked.status().phase, Phase::AwaitingPermission);
    let request = asked.pending_permissions().next().expect("a request");
    assert_eq!(request.asked().options[0].kind, AnswerKind::AllowAlways);
    let end = named(name).fold();
    assert_eq!(only_call(&end).state(), CallState::Succeeded);
    assert_eq!(first_answer(&end), PermissionState::Allowed);
}

#[test]
fn gemini_rejected_call_without_update_is_failed() {
    let end = named("gemini/acp.reject.trace.jsonl").fold();
    assert_eq!(only_call(&end).state(), CallState::Failed);
    assert_eq!(first_answer(&end), PermissionState::Denied);
}

#[test]
fn opencode_call_waits_while_its_status_is_pending_again() {
    let name = "opencode/acp.tool.trace.jsonl";
    let asked = until(name, is_permission);
    assert_eq!(only_call(&asked).state(), CallState::AwaitingPermission);
    assert_eq!(only_call(&named(name).fold()).state(), CallState::Succeeded);
}

#[test]
fn opencode_diff_of_permission_is_kept() {
    let end = named("opencode/acp.edit.trace.jsonl").fold();
    let call = only_call(&end);
    let content = call.shown().content;
    assert!(
        matches!(&content[..], [Content::Diff { .. }, Content::Text { .. }]),
        "{content:?}"
    );
    assert_eq!(call.shown().kind, Some(ToolKind::Edit));
}

#[test]
fn claude_agent_acp_call_grows_and_has_structured_result() {
    let end = named("claude-agent-acp/acp.perm_allow.trace.jsonl").fold();
    let bash = call(&end, "toolu_rig000003");
    let title = "touch /home/dev/project/perm-a && echo touched";
    assert_eq!(bash.shown().title.as_deref(), Some(title));
    let input = serde_json::to_value(bash.input()).expect("JSON");
    assert_eq!(input["description"], "rig command");
    let result = bash.result().expect("a result");
    assert_eq!(result.text(), "touched");
    let raw = serde_json::to_value(result.raw_parts()).expect("JSON");
    assert_eq!(raw["stdout"], "touched");
    let write = call(&end, "toolu_rig000009");
    assert!(matches!(
        &write.shown().content[..],
        [Content::Diff { old: None, .. }]
    ));
    // Prompt, message with a call, message, result.
    assert_eq!(end.entries().count(), 4);
}

#[test]
fn claude_agent_acp_question_has_choices() {
    let name = "claude-agent-acp/acp.ask.trace.jsonl";
    let asked = until(name, |message| message["method"] == "elicitation/create");
    let request = asked.pending_permissions().next().expect("a request");
    assert_eq!(request.asked().kind, RequestKind::Question);
    let questions = request.asked().questions;
    assert_eq!(questions[0].options[1].value, "Blue");
    assert_eq!(questions[1].kind, QuestionKind::Text);
    assert_eq!(first_answer(&named(name).fold()), PermissionState::Answered);
}

#[test]
fn claude_agent_acp_todo_is_plan() {
    let end = named("claude-agent-acp/acp.todo.trace.jsonl").fold();
    let plan = end.session().plan();
    assert_eq!(plan.len(), 1);
    assert_eq!(plan[0].text, "doing a");
}

#[test]
fn codex_acp_terminal_output_is_appended() {
    let end = named("codex-acp/acp.tool.trace.jsonl").fold();
    let call = only_call(&end);
    let output = call.output().expect("output");
    assert_eq!(output, "out-line\n/home/dev/project\n");
    assert_eq!(call.exit_code(), Some(0));
}

#[test]
fn copilot_partial_output_is_replaced() {
    let end = named("copilot/acp.tool.trace.jsonl").fold();
    assert_eq!(only_call(&end).shown().content.len(), 1);
}

#[test]
fn modes_models_and_options_are_settings() {
    let value = |name: &str, id: &str| {
        let end = named(name).fold();
        let option = end.session().options().iter().find(|it| it.id == id);
        option.expect("the option").value.clone().expect("a value")
    };
    assert_eq!(
        value("claude-agent-acp/acp.perm_allow.trace.jsonl", "mode"),
        "default"
    );
    assert_eq!(
        value("opencode/acp.plain.trace.jsonl", "model"),
        "rig/rig-model"
    );
    assert_eq!(value("gemini/acp.plain.trace.jsonl", "mode"), "default");
}

#[test]
fn loaded_conversation_is_history() {
    let end = named("opencode/acp.tool.load.trace.jsonl").fold();
    let is = |entry: &Entry<'_>, result: bool| match entry.kind() {
        EntryKind::User { .. } => !result,
        EntryKind::Result { .. } => result,
        _ => false,
    };
    let (old, new): (Vec<_>, Vec<_>) = end.entries().partition(|entry| entry.is_history());
    assert!(old.iter().any(|entry| is(entry, false)));
    assert!(new.iter().any(|entry| is(entry, false)));
    assert!(old.iter().all(|entry| !is(entry, true)));
    assert!(new.iter().any(|entry| is(entry, true)));
}

#[test]
fn child_session_is_thread_of_its_call() {
    let end = named("claude-agent-acp/acp.sub_child.trace.jsonl").fold();
    let call = call(&end, "toolu_rig000003");
    assert_eq!(call.state(), CallState::Succeeded);
    let thread = call.subagent().expect("its thread");
    assert_eq!(thread.name(), Some("af4f54b9ec07ebad6"));
    assert_eq!(thread.title().as_deref(), Some("rig agent"));
    assert_eq!(thread.state(), Some(ThreadState::Completed));
}

#[test]
fn codex_thread_is_parked_until_its_call_names_it() {
    let names_thread = |message: &Value| {
        let item = &message["params"]["item"];
        item["tool"] == "spawnAgent" && item["status"] == "completed"
    };
    let ends_child = |message: &Value| {
        message["method"] == "turn/completed" && message["params"]["threadId"] == CODEX_CHILD
    };
    let mut recording = named("codex/app-server.sub.trace.jsonl");
    let at = |recording: &Recording, is_it: &dyn Fn(&Value) -> bool| {
        let messages = recording.messages.iter();
        messages
            .map(|(_, message)| message)
            .position(is_it)
            .expect("the line")
    };
    let from = at(&recording, &names_thread);
    let line = recording.messages.remove(from);
    let to = at(&recording, &ends_child) + 1;
    recording.messages.insert(to, line);
    recording.output = recording.outputs();

    let mut parked = recording.clone();
    parked.messages.truncate(to);
    let holders = |transcript: &Transcript| {
        let threads = transcript.threads();
        let calls = threads.map(|thread| thread.call().map(|call| call.id().to_owned()));
        calls.collect::<Vec<_>>()
    };
    assert_eq!(holders(&parked.fold_open()), [None]);
    let end = recording.fold();
    assert_eq!(holders(&end), [Some("call_1_1".to_owned())]);
    let in_order = named("codex/app-server.sub.trace.jsonl").fold();
    assert_eq!(Seen::of_transcript(&end), Seen::of_transcript(&in_order));
}

/// The sub-agent's thread in the recording.
const CODEX_CHILD: &str = "01a206dc-7edf-79b2-8d46-fb20e3e7dc9d";

#[test]
fn codex_usage_limits_have_their_share_and_reset() {
    let mut recording = named("codex/app-server.plain.trace.jsonl");
    let is_limit =
        |(_, message): &&mut (String, Value)| message["method"] == "account/rateLimits/updated";
    let (_, limit) = recording
        .messages
        .iter_mut()
        .find(is_limit)
        .expect("a line");
    limit["params"]["rateLimits"]["primary"] =
        json!({"usedPercent": 40, "windowDurationMins": 300, "resetsAt": 1_795_500_000});
    recording.output = recording.outputs();
    let transcript = recording.fold();
    let limits = transcript.session().limits();
    let [limit] = limits else {
        panic!("{limits:?}");
    };
    assert_eq!(limit.window, "primary");
    assert_eq!(limit.used_share, Some(0.4));
    assert_eq!(limit.resets_at_ms, Some(1_795_500_000_000));
}

#[test]
fn codex_echo_confirms_prompt() {
    let end = named("codex/app-server.two.trace.jsonl").fold();
    let prompts = end.entries().filter_map(|entry| match entry.kind() {
        EntryKind::User { replay, .. } => Some(replay),
        _ => None,
    });
    assert_eq!(prompts.collect::<Vec<_>>(), [true, true]);
}

#[test]
fn codex_interrupt_closes_open_message() {
    let end = named("codex/app-server.interrupt.trace.jsonl").fold();
    let mut entries = end.entries().rev();
    let result = entries.next().expect("a result").kind();
    assert!(matches!(
        result,
        EntryKind::Result {
            outcome: Outcome::Cancelled,
            ..
        }
    ));
    let message = entries.next().expect("a message").kind();
    assert!(matches!(
        message,
        EntryKind::Assistant {
            state: MessageState::Aborted,
            ..
        }
    ));
}

#[test]
fn codex_paragraph_past_the_largest_number_is_apart() {
    let mut recording = named("codex/app-server.plain.trace.jsonl");
    let is_paragraph =
        |(_, message): &(String, Value)| message["method"] == "item/reasoning/summaryTextDelta";
    let at = recording.messages.iter().position(is_paragraph);
    let at = at.expect("a summary");
    recording.messages.truncate(at + 1);
    let (direction, mut other) = recording.messages[at].clone();
    other["params"]["summaryIndex"] = (1_u64 << 16).into();
    other["params"]["delta"] = "other".into();
    recording.messages.push((direction, other));
    recording.output = recording.outputs();
    let transcript = recording.fold_open();
    let entry = transcript.main().entries().last().expect("an entry");
    let EntryKind::Assistant { blocks, .. } = entry.kind() else {
        panic!("{entry:?}");
    };
    let texts = blocks.iter().filter_map(|block| block.text());
    let texts: Vec<_> = texts.map(|text| text.to_cow()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert_eq!(texts[1], "other");
}

#[test]
fn sub_agent_at_work_is_lost_at_end() {
    type Begins = fn(&Value) -> bool;
    let begins: [(&str, Begins); 2] = [
        ("codex/app-server.sub.trace.jsonl", |line| {
            line["method"] == "turn/started" && line["params"]["threadId"] == CODEX_CHILD
        }),
        ("claude-agent-acp/acp.sub_child.trace.jsonl", |line| {
            line["params"]["update"]["sessionUpdate"] == "subagent_update"
        }),
    ];
    let states = |it: &Transcript| it.threads().map(|it| it.state()).collect::<Vec<_>>();
    for (name, begins) in begins {
        let mut transcript = until(name, begins);
        assert_eq!(states(&transcript), [Some(ThreadState::Running)], "{name}");
        transcript.end(End::Recording, Meta::default());
        assert_eq!(states(&transcript), [Some(ThreadState::Lost)], "{name}");
    }
}
