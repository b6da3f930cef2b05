//! Prompts, and how their turns end.

use bowline_jsonl::{PromptPart, Source};
use bowline_runner::acp::{Failure, FailureKind, Input, Intent, PromptEnd};
use serde_json::{Value, json};

use crate::fixture::{Fixture, SESSION};

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn response_follows_the_updates_of_its_turn() {
    let mut it = Fixture::new("unicode_partial.jsonl");
    let (id, _, uuid) = it.prompt(&text("go"));
    it.sent(&uuid, "go");
    it.run();
    assert!(it.editor.answer(id).is_none());
    it.end(uuid, PromptEnd::Answered);
    let last = it.editor.lines.last().expect("a message");
    assert_eq!(
        (&last["id"], &last["result"]["stopReason"]),
        (&json!(id), &json!("end_turn"))
    );
}

#[test]
fn prompt_of_another_editor_is_shown_and_the_own_is_not() {
    let mut it = Fixture::new("unicode_partial.jsonl");
    let (_, _, uuid) = it.prompt(&text("mine"));
    it.sent(&uuid, "mine");
    it.sent("2b6f0cc9-0000-4000-8000-000000000000", "theirs");
    it.run();
    let rows = &it.editor.shown.rows[SESSION];
    let users: Vec<_> = rows.iter().filter(|(kind, _)| kind == "user").collect();
    let texts: Vec<_> = users.iter().map(|(_, text)| text.as_str()).collect();
    assert!(texts.contains(&"theirs"), "{texts:?}");
    assert!(!texts.contains(&"mine"), "{texts:?}");
}

#[test]
fn interrupted_turn_ends_cancelled() {
    let mut it = Fixture::new("agents/gemini/acp.cancel.trace.jsonl");
    let (id, _, uuid) = it.prompt(&text("go"));
    it.editor
        .notify("session/cancel", &json!({"sessionId": SESSION}));
    assert!(matches!(it.editor.intent(), Intent::Interrupt { .. }));
    it.run();
    it.end(uuid, PromptEnd::Answered);
    let answer = it.editor.answer(id).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}

#[test]
fn cancelled_request_interrupts_its_turn() {
    let mut it = Fixture::new("unicode_partial.jsonl");
    let (id, _, _) = it.prompt(&text("go"));
    it.editor
        .notify("$/cancel_request", &json!({"requestId": id}));
    assert!(matches!(it.editor.intent(), Intent::Interrupt { .. }));
}

#[test]
fn failed_turn_is_an_error_with_its_text() {
    let mut it = Fixture::new("fatal400.jsonl");
    let (id, _, uuid) = it.prompt(&text("go"));
    it.run();
    it.end(uuid, PromptEnd::Answered);
    let error = &it.editor.answer(id).expect("an answer")["error"];
    assert_eq!(error["code"], -32603);
    assert!(!error["message"].as_str().expect("text").is_empty());
}

#[test]
fn turn_limit_is_a_stop_reason() {
    let mut it = Fixture::new("max_turns.jsonl");
    let (id, _, uuid) = it.prompt(&text("go"));
    it.run();
    it.end(uuid, PromptEnd::Answered);
    let answer = it.editor.answer(id).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "max_turn_requests");
}

#[test]
fn refused_and_dropped_prompts_are_answered() {
    let mut it = Fixture::new("unicode_partial.jsonl");
    let (first, _, uuid) = it.prompt(&text("a"));
    let failure = Failure::new(FailureKind::Failed, "the agent takes no images");
    it.end(uuid, PromptEnd::Failed(failure));
    let error = &it.editor.answer(first).expect("an answer")["error"];
    assert_eq!(error["message"], "the agent takes no images");
    let (second, _, uuid) = it.prompt(&text("b"));
    it.end(uuid, PromptEnd::Cancelled);
    let answer = it.editor.answer(second).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}

#[test]
fn two_prompts_get_their_own_responses() {
    let mut it = Fixture::new("unicode_partial.jsonl");
    let (first, _, one) = it.prompt(&text("a"));
    let (second, _, two) = it.prompt(&text("b"));
    assert_ne!(one, two);
    it.run();
    it.end(one, PromptEnd::Answered);
    assert!(it.editor.answer(first).is_some() && it.editor.answer(second).is_none());
    it.end(two, PromptEnd::Answered);
    assert!(it.editor.answer(second).is_some());
}

#[test]
fn end_of_the_session_ends_its_prompts() {
    let mut it = Fixture::new("unicode_partial.jsonl");
    let (id, _, _) = it.prompt(&text("a"));
    it.editor.input(Input::Ended {
        attachment: it.attachment,
        reason: "exit status 1".to_owned(),
    });
    let error = &it.editor.answer(id).expect("an answer")["error"];
    assert_eq!(
        error["message"],
        "the session has ended (exit status 1); start a new one"
    );
    let params = json!({"sessionId": SESSION, "prompt": text("b")});
    let answer = it.editor.call("session/prompt", &params);
    let message = answer["error"]["message"].as_str().expect("text");
    assert!(message.contains("start a new one"), "{message}");
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(answer["error"]["data"]["code"], "SESSION_ENDED");
}

#[test]
fn images_and_resources_are_parts_of_a_prompt() {
    let mut it = Fixture::new("unicode_partial.jsonl");
    let (_, parts, _) = it.prompt(&json!([
        {"type": "text", "text": "look"},
        {"type": "image", "data": "QUJD", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///p/a.rs", "name": "a.rs"},
        {"type": "resource", "resource": {"uri": "file:///p/b.rs", "text": "fn b() {}"}},
        {"type": "resource", "resource":
            {"uri": "file:///p/c.pdf", "blob": "QUJD", "mimeType": "application/pdf"}},
    ]));
    let base64 = |media_type: &str| Source::Base64 {
        media_type: media_type.to_owned(),
        data: "QUJD".to_owned(),
    };
    let resource =
        "[@b.rs](file:///p/b.rs)\n<context ref=\"file:///p/b.rs\">\nfn b() {}\n</context>";
    assert_eq!(
        parts,
        [
            PromptPart::Text("look".to_owned()),
            PromptPart::Image(base64("image/png")),
            PromptPart::Text("[@a.rs](file:///p/a.rs)".to_owned()),
            PromptPart::Text(resource.to_owned()),
            PromptPart::Document {
                source: base64("application/pdf"),
                title: Some("c.pdf".to_owned()),
            },
        ]
    );
    for wrong in [
        json!([]),
        json!([{"type": "audio", "data": "QUJD", "mimeType": "audio/wav"}]),
    ] {
        let params = json!({"sessionId": SESSION, "prompt": wrong});
        let answer = it.editor.call("session/prompt", &params);
        assert_eq!(answer["error"]["code"], -32602);
    }
}
