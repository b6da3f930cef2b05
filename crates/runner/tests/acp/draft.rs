//! Version 2 of the protocol, a draft. Every message is checked by the schema of that version.

use agent_client_protocol_schema::v2;
use bowline_reducer::Cursor;
use bowline_runner::acp::{Answer, Failure, FailureKind, Input, Intent, PromptEnd};
use serde_json::{Value, json};

use crate::editor::{Editor, Shown};
use crate::fixture::{Fixture, SESSION};
use crate::recorded::{self, Recorded};
use crate::replay::expected;

const ASK: &str = "session/request_permission";

fn loaded(recorded: &mut Recorded) -> Shown {
    let mut editor = Editor::draft(&json!({}));
    editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    editor.shown
}

/// What is shown, without messages that were taken back.
fn rows(mut shown: Shown) -> std::collections::BTreeMap<String, Vec<crate::editor::Row>> {
    for rows in shown.rows.values_mut() {
        rows.retain(|(_, text)| !text.is_empty());
    }
    shown.rows.retain(|_, rows| !rows.is_empty());
    shown.rows
}

#[test]
fn draft_is_spoken_only_where_it_is_offered_and_wanted() {
    let hello = json!({"protocolVersion": 2, "clientCapabilities": {},
        "info": {"name": "test", "version": "1"}, "capabilities": {}});
    let mut stable = Editor::silent();
    let answer = stable.call("initialize", &hello);
    assert_eq!(answer["result"]["protocolVersion"], 1);
    let mut older = Editor::silent();
    older.server = bowline_runner::acp::Server::new(uuid::Uuid::nil()).offering_draft();
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let answer = older.call("initialize", &hello);
    assert_eq!(answer["result"]["protocolVersion"], 1);
    assert_eq!(answer["result"]["agentCapabilities"]["loadSession"], true);
}

#[test]
fn draft_has_no_modes_and_no_load() {
    let mut editor = Editor::draft(&json!({}));
    for (method, params) in [
        (
            "session/load",
            json!({"sessionId": SESSION, "cwd": "/p", "mcpServers": []}),
        ),
        (
            "session/set_mode",
            json!({"sessionId": SESSION, "modeId": "plan"}),
        ),
        ("session/close", json!({"sessionId": SESSION})),
    ] {
        let answer = editor.call(method, &params);
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
    let params = json!({"sessionId": SESSION, "cwd": "/p", "mcpServers": [],
        "replayFrom": {"type": "_elsewhere"}});
    let answer = editor.call("session/resume", &params);
    assert_eq!(answer["error"]["code"], -32602);
    assert!(editor.intents.is_empty(), "{:?}", editor.intents);
}

#[test]
fn replayed_conversation_is_that_of_the_transcript() {
    for mut recorded in recorded::all() {
        recorded.finish();
        let shown = rows(loaded(&mut recorded));
        assert_eq!(
            shown,
            expected(&recorded.transcript, true),
            "{}",
            recorded.name
        );
    }
}

/// Text that the agent takes back or corrects is corrected, which version 1 cannot do.
#[test]
fn followed_session_is_that_of_the_transcript() {
    for mut recorded in recorded::all() {
        let mut cursor = Cursor::default();
        let mut editor = Editor::draft(&json!({}));
        let attachment = editor.load(SESSION, recorded.changes(&mut cursor));
        while recorded.step() {
            editor.changes(attachment, recorded.changes(&mut cursor));
        }
        let mut loaded = loaded(&mut recorded);
        let (plan, calls) = (editor.shown.plan.clone(), editor.shown.calls.clone());
        assert_eq!(plan, loaded.plan, "{}", recorded.name);
        for (id, call) in &calls {
            let whole = loaded.calls.remove(id).expect("the call");
            for key in ["title", "status", "rawOutput", "content", "locations"] {
                assert_eq!(call[key], whole[key], "{}: {id} {key}", recorded.name);
            }
        }
        assert!(loaded.calls.is_empty());
        let last = editor.shown.states.last().expect("a state")["state"].clone();
        let snapshot = loaded.states.pop().expect("a snapshot");
        assert_eq!(last, snapshot["state"], "{}", recorded.name);
        assert_eq!(rows(editor.shown), rows(loaded), "{}", recorded.name);
    }
}

#[test]
fn session_that_is_replayed_mid_turn_goes_on_where_the_replay_ended() {
    for name in [
        "unicode_partial.jsonl",
        "sub_par_fg_partial.jsonl",
        "agents/codex/app-server.sub.trace.jsonl",
    ] {
        let mut whole = recorded::named(name);
        let lines = whole.left();
        whole.finish();
        let whole = rows(loaded(&mut whole));
        for at in 0..lines {
            let mut recorded = recorded::named(name);
            for _ in 0..at {
                recorded.step();
            }
            let mut cursor = Cursor::default();
            let mut editor = Editor::draft(&json!({}));
            let attachment = editor.load(SESSION, recorded.changes(&mut cursor));
            recorded.finish();
            editor.changes(attachment, recorded.changes(&mut cursor));
            assert_eq!(rows(editor.shown), whole, "{name} at line {at}");
        }
    }
}

/// The state is between the replay and the response, in a resumption without a replay too.
#[test]
fn resumption_reports_the_state_before_its_response() {
    let mut recorded = recorded::named("permission_allow.jsonl");
    recorded.until(|transcript| transcript.pending_permissions().count() > 0);
    for method in ["session/load", "session/resume"] {
        let mut editor = Editor::draft(&json!({}));
        let (id, attachment) = editor.attach(method, SESSION);
        editor.changes(attachment, recorded.changes(&mut Cursor::default()));
        let at = |is_it: &dyn Fn(&Value) -> bool| editor.lines.iter().position(is_it);
        let state = at(&|it| it["params"]["update"]["state"] == "requires_action");
        let response = at(&|it| it["id"] == id && it["method"].is_null());
        let question = at(&|it| it["method"] == ASK);
        assert!(state.expect("a state") < response.expect("a response"));
        assert!(response < question, "{method}");
        assert_eq!(editor.shown.rows.is_empty(), method == "session/resume");
    }
}

/// Sends a prompt; returns the request and the uuid.
fn prompt(it: &mut Fixture, text: &str) -> (u64, String) {
    let parts = vec![v2::ContentBlock::Text(v2::TextContent::new(text))];
    let parts = serde_json::to_value(parts).expect("JSON");
    let (id, _, uuid) = it.prompt(&parts);
    (id, uuid)
}

#[test]
fn prompt_is_answered_when_it_is_part_of_the_conversation() {
    let mut it = Fixture::draft("unicode_partial.jsonl");
    let (id, uuid) = prompt(&mut it, "go");
    assert!(it.editor.answer(id).is_none(), "it waits");
    it.sent(&uuid, "go");
    it.changes();
    let result = it.editor.answer(id).expect("an answer")["result"].clone();
    let echo = it.editor.lines.iter().position(|it| {
        let update = &it["params"]["update"];
        update["sessionUpdate"] == "user_message" && update["messageId"] == result["messageId"]
    });
    let answer = it.editor.lines.iter().position(|it| it["id"] == id);
    assert!(answer < echo, "{:?}", it.editor.lines);
    it.recorded.finish();
    it.changes();
    let lines = it.editor.lines.len();
    it.end(uuid, PromptEnd::Answered);
    assert_eq!(it.editor.lines.len(), lines, "the state said it");
}

#[test]
fn work_begins_running_and_ends_idle_with_its_reason() {
    for (name, stop) in [
        ("unicode_partial.jsonl", "end_turn"),
        ("max_turns.jsonl", "max_turn_requests"),
        ("fatal400.jsonl", "error"),
        ("agents/gemini/acp.cancel.trace.jsonl", "cancelled"),
    ] {
        // Line by line, and all at once.
        for is_slow in [false, true] {
            let mut it = Fixture::draft(name);
            while it.recorded.step() {
                if !is_slow {
                    it.changes();
                }
            }
            it.changes();
            let states = &it.editor.shown.states;
            let state = |at: usize| states[at]["state"].as_str().expect("a state");
            let ends: Vec<_> = (0..states.len())
                .filter(|at| states[*at]["stopReason"].is_string())
                .collect();
            let end = *ends.last().expect("an end");
            assert_eq!((state(0), state(end)), ("idle", "idle"), "{name}");
            assert_eq!(states[end]["stopReason"], stop, "{name}");
            assert_ne!(state(end - 1), "idle", "{name}: {states:?}");
            assert_eq!(states[end]["error"].is_object(), stop == "error", "{name}");
        }
    }
}

#[test]
fn refused_and_dropped_prompts_are_errors() {
    let mut it = Fixture::draft("unicode_partial.jsonl");
    let (first, uuid) = prompt(&mut it, "a");
    let failure = Failure::new(FailureKind::Failed, "the agent takes no images");
    it.end(uuid, PromptEnd::Failed(failure));
    let error = &it.editor.answer(first).expect("an answer")["error"];
    assert_eq!(error["message"], "the agent takes no images");
    let (second, uuid) = prompt(&mut it, "b");
    it.end(uuid, PromptEnd::Cancelled);
    let error = &it.editor.answer(second).expect("an answer")["error"];
    assert_eq!(error["code"], -32800);
}

#[test]
fn unanswered_request_is_asked_again_answered_and_taken_back() {
    for name in [
        "permission_allow.jsonl",
        "agents/codex/app-server.approve.trace.jsonl",
        "agents/gemini/acp.edit_nofs.trace.jsonl",
    ] {
        let mut recorded = recorded::named(name);
        recorded.until(|transcript| transcript.pending_permissions().count() > 0);
        let mut first = Editor::draft(&json!({}));
        first.load(SESSION, recorded.changes(&mut Cursor::default()));
        assert_eq!(first.asked(ASK).len(), 1);
        // The first one is killed; the request is asked of those that load the session.
        let mut cursor = Cursor::default();
        let changes = recorded.changes(&mut cursor);
        let [mut second, mut third] = [(); 2].map(|()| Editor::draft(&json!({})));
        let attachment = second.load(SESSION, changes.clone());
        let third_attachment = third.load(SESSION, changes);
        let request = second.asked(ASK).remove(0);
        let params = &request["params"];
        assert!(!params["title"].as_str().expect("a title").is_empty());
        assert_eq!(params["subject"]["type"], "tool_call");
        let call = params["subject"]["toolCall"]["toolCallId"].as_str();
        assert!(
            second.shown.calls.contains_key(call.expect("a call")),
            "{name}"
        );
        let options = params["options"].as_array().expect("options");
        let allow = options.iter().find(|option| option["kind"] == "allow_once");
        let allow = &allow.expect("an option that allows")["optionId"];
        let selected = json!({"outcome": {"outcome": "selected", "optionId": allow}});
        second.respond(&request["id"], &selected);
        let Intent::Answer { answer, .. } = second.intent() else {
            panic!("an answer");
        };
        assert_eq!(
            answer,
            Answer::Option(allow.as_str().expect("text").to_owned())
        );
        recorded.finish();
        let changes = recorded.changes(&mut cursor);
        second.changes(attachment, changes.clone());
        assert!(second.asked("$/cancel_request").is_empty());
        third.changes(third_attachment, changes);
        assert_eq!(third.asked("$/cancel_request").len(), 1, "{name}");
    }
}

#[test]
fn settings_are_set_by_their_config_ids() {
    let mut editor = Editor::draft(&json!({}));
    let mut recorded = recorded::named("agents/claude-agent-acp/acp.plain.trace.jsonl");
    recorded.finish();
    editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    let value = v2::SessionConfigOptionValue::Id {
        value: "plan".into(),
    };
    let params = v2::SetSessionConfigOptionRequest::new(SESSION, "mode", value);
    let params = serde_json::to_value(params).expect("JSON");
    let id = editor.request("session/set_config_option", &params);
    let Intent::SetOption {
        ticket,
        option,
        value,
        ..
    } = editor.intent()
    else {
        panic!("a setting");
    };
    assert_eq!((&*option, &*value), ("mode", "plan"));
    let result = Ok(());
    editor.input(Input::OptionSet { ticket, result });
    let options = editor.answer(id).expect("an answer")["result"]["configOptions"].clone();
    let mode = options.as_array().expect("options");
    let mode = mode.iter().find(|option| option["configId"] == "mode");
    assert_eq!(mode.expect("the mode")["currentValue"], "plan");
}

#[test]
fn new_session_has_its_settings_and_takes_servers_of_the_draft() {
    let mut editor = Editor::draft(&json!({}));
    let server = v2::McpServerStdio::new("files", "/bin/files");
    let request = v2::NewSessionRequest::new("/p").mcp_servers(vec![v2::McpServer::Stdio(server)]);
    let params = serde_json::to_value(request).expect("JSON");
    let id = editor.request("session/new", &params);
    let Intent::Start { ticket, start } = editor.intent() else {
        panic!("a start");
    };
    let servers = serde_json::to_value(start.mcp_servers).expect("JSON");
    assert_eq!(servers[0]["name"], "files");
    assert_eq!(servers[0]["command"], "/bin/files");
    let result = Ok(SESSION.to_owned());
    editor.input(Input::Started { ticket, result });
    let Intent::Attach { attachment, .. } = editor.intent() else {
        panic!("an attachment");
    };
    let mut recorded = recorded::named("unicode_partial.jsonl");
    editor.changes(attachment, recorded.changes(&mut Cursor::default()));
    let result = &editor.answer(id).expect("an answer")["result"];
    assert_eq!(result["sessionId"], SESSION);
    assert_eq!(result["configOptions"][0]["configId"], "mode");
}

#[test]
fn edit_is_a_patch_of_git_and_interrupted_call_is_cancelled() {
    let mut recorded = recorded::named("tool_rwe.jsonl");
    recorded.finish();
    let shown = loaded(&mut recorded);
    let edits = shown.calls.values().filter(|call| call["kind"] == "edit");
    let mut operations = Vec::new();
    for edit in edits {
        let diff = &edit["content"][0];
        assert_eq!(diff["type"], "diff", "{edit}");
        operations.push(diff["changes"][0]["operation"].clone());
        assert!(
            diff["changes"][0]["path"]
                .as_str()
                .expect("a path")
                .starts_with('/')
        );
        let patch = diff["patch"]["text"].as_str().expect("a patch");
        assert!(patch.starts_with("diff --git a/"), "{patch}");
        assert!(patch.contains("\n@@ -"), "{patch}");
    }
    assert!(operations.contains(&json!("add")), "{operations:?}");
    assert!(operations.contains(&json!("modify")), "{operations:?}");
    let mut recorded = recorded::named("interrupt_during_tool.jsonl");
    recorded.finish();
    let shown = loaded(&mut recorded);
    let mut statuses = shown.calls.values().map(|call| call["status"].clone());
    assert!(statuses.any(|it| it == "cancelled"));
}

#[test]
fn plan_is_replaced_as_a_whole() {
    let mut recorded = recorded::named("agents/claude-agent-acp/acp.todo.trace.jsonl");
    recorded.finish();
    let plan = loaded(&mut recorded).plan;
    assert!(plan[0]["content"].is_string(), "{plan}");
}
