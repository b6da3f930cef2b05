//! Requests of the agent: asked, answered here or elsewhere, asked again.

use bowline_reducer::{Cursor, TranscriptChange};
use bowline_runner::acp::{Answer, Attachment, Intent};
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::recorded::{self, Recorded};

const SESSION: &str = "s";
const ASK: &str = "session/request_permission";

/// A session whose agent waits for an answer.
fn waiting(name: &str) -> Recorded {
    let mut recorded = recorded::named(name);
    recorded.until(|transcript| transcript.pending_permissions().count() > 0);
    recorded
}

fn select(option: &Value) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

fn answer(editor: &mut Editor) -> (String, Answer) {
    match editor.intent() {
        Intent::Answer {
            request_id, answer, ..
        } => (request_id, answer),
        other => panic!("{other:?}"),
    }
}

/// An editor that loads the session; the request that it is asked.
fn asked(
    recorded: &mut Recorded,
    capabilities: &Value,
    method: &str,
) -> (Editor, Attachment, Value) {
    let mut editor = Editor::new(capabilities);
    let attachment = editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    let mut asked = editor.asked(method);
    assert_eq!(asked.len(), 1, "{}: {asked:?}", recorded.name);
    (editor, attachment, asked.remove(0))
}

#[test]
fn request_is_asked_with_its_options_and_answered_by_id() {
    for name in [
        "permission_allow.jsonl",
        "agents/codex/app-server.approve.trace.jsonl",
        "agents/gemini/acp.edit_nofs.trace.jsonl",
    ] {
        let mut recorded = waiting(name);
        let pending = recorded.transcript.pending_permissions().next();
        let id = pending.expect("a request").request_id().to_owned();
        let (mut editor, _, request) = asked(&mut recorded, &json!({}), ASK);
        let params = &request["params"];
        let call = params["toolCall"]["toolCallId"].as_str().expect("a call");
        assert!(
            editor.shown.calls.contains_key(call),
            "{name}: {call} was not announced"
        );
        assert!(params["toolCall"]["title"].is_string());
        let options = params["options"].as_array().expect("options");
        let allow = options.iter().find(|option| option["kind"] == "allow_once");
        let allow = allow.expect("an option that allows")["optionId"].clone();
        editor.respond(&request["id"], &select(&allow));
        let option = allow.as_str().expect("text").to_owned();
        assert_eq!(answer(&mut editor), (id, Answer::Option(option)), "{name}");
    }
}

#[test]
fn unanswered_request_is_asked_again_after_load_and_resume() {
    let mut recorded = waiting("permission_allow.jsonl");
    for method in ["session/load", "session/resume"] {
        let mut editor = Editor::new(&json!({}));
        let (_, attachment) = editor.attach(method, SESSION);
        editor.changes(attachment, recorded.changes(&mut Cursor::default()));
        assert_eq!(editor.asked(ASK).len(), 1, "{method}");
        editor.changes(attachment, recorded.changes(&mut Cursor::default()));
        assert_eq!(editor.asked(ASK).len(), 0, "asked twice");
    }
}

#[test]
fn answer_of_another_editor_takes_the_request_back() {
    let mut recorded = waiting("permission_allow.jsonl");
    let (mut editor, attachment, request) = asked(&mut recorded, &json!({}), ASK);
    recorded.finish();
    editor.changes(attachment, recorded.changes(&mut Cursor::default()));
    let cancelled = editor.asked("$/cancel_request");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["params"]["requestId"], request["id"]);
    editor.respond(
        &request["id"],
        &json!({"outcome": {"outcome": "cancelled"}}),
    );
    assert!(editor.intents.is_empty(), "{:?}", editor.intents);
}

#[test]
fn own_answer_takes_nothing_back() {
    let mut recorded = waiting("permission_allow.jsonl");
    let (mut editor, attachment, request) = asked(&mut recorded, &json!({}), ASK);
    editor.respond(&request["id"], &select(&json!("allow")));
    answer(&mut editor);
    recorded.finish();
    editor.changes(attachment, recorded.changes(&mut Cursor::default()));
    assert!(editor.asked("$/cancel_request").is_empty());
}

#[test]
fn dismissed_request_is_cancelled_unless_the_turn_is() {
    let mut recorded = waiting("permission_allow.jsonl");
    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
    let (mut editor, _, request) = asked(&mut recorded, &json!({}), ASK);
    editor.respond(&request["id"], &cancelled);
    assert_eq!(answer(&mut editor).1, Answer::Cancel);
    let (mut editor, _, request) = asked(&mut recorded, &json!({}), ASK);
    editor.notify("session/cancel", &json!({"sessionId": SESSION}));
    assert!(matches!(editor.intent(), Intent::Interrupt { .. }));
    editor.respond(&request["id"], &cancelled);
    assert!(editor.intents.is_empty(), "{:?}", editor.intents);
}

#[test]
fn error_of_the_editor_leaves_the_request_to_others() {
    let mut recorded = waiting("permission_allow.jsonl");
    let (mut editor, _, request) = asked(&mut recorded, &json!({}), ASK);
    editor.line(&json!({
        "jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"},
    }));
    assert!(editor.intents.is_empty());
}

#[test]
fn request_of_a_subagent_is_asked_in_its_session() {
    let mut recorded = waiting("permission_in_subagents.jsonl");
    let (_, _, request) = asked(&mut recorded, &json!({"subagents": {}}), ASK);
    let session = request["params"]["sessionId"].as_str().expect("a session");
    assert!(session.starts_with("s:"), "{session}");
    let (_, _, request) = asked(&mut recorded, &json!({}), ASK);
    assert_eq!(request["params"]["sessionId"], SESSION);
}

/// The question of a recording, with several answers to choose from.
fn question() -> (Recorded, Vec<TranscriptChange>) {
    let mut recorded = waiting("agents/claude-agent-acp/acp.ask.trace.jsonl");
    let changes = recorded.changes(&mut Cursor::default());
    (recorded, changes)
}

#[test]
fn questions_are_a_form_for_an_editor_that_has_forms() {
    let (_, changes) = question();
    let mut editor = Editor::new(&json!({"elicitation": {"form": {}}}));
    editor.load(SESSION, changes);
    let asked = editor.asked("elicitation/create").remove(0);
    let schema = &asked["params"]["requestedSchema"];
    let properties = schema["properties"].as_object().expect("properties");
    let mut content = serde_json::Map::new();
    for (name, property) in properties {
        if let Some(value) = property["oneOf"][0]["const"].as_str() {
            content.insert(name.clone(), json!(value));
        }
    }
    assert!(!content.is_empty(), "{schema}");
    let answered = json!({"action": "accept", "content": content});
    editor.respond(&asked["id"], &answered);
    let (_, answer) = answer(&mut editor);
    let Answer::Answers(answers) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(answers.len(), content.len());
}

#[test]
fn questions_are_asked_one_by_one_of_an_editor_without_forms() {
    let (_, mut changes) = question();
    for change in &mut changes {
        if let TranscriptChange::Permission { value, .. } = change {
            let mut second = value.questions[0].clone();
            second.id = "second".to_owned();
            second.text = "Which one?".to_owned();
            value.questions.truncate(1);
            value.questions.push(second);
        }
    }
    let mut editor = Editor::new(&json!({}));
    editor.load(SESSION, changes);
    let first = editor.asked(ASK).remove(0);
    let choice = first["params"]["options"][0]["optionId"].clone();
    editor.respond(&first["id"], &select(&choice));
    assert!(editor.intents.is_empty());
    let second = editor.asked(ASK).remove(0);
    assert_eq!(second["params"]["toolCall"]["title"], "Which one?");
    editor.respond(&second["id"], &select(&choice));
    let (_, answer) = answer(&mut editor);
    let Answer::Answers(answers) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        answers[1],
        (
            "second".to_owned(),
            choice.as_str().expect("text").to_owned()
        )
    );
}
