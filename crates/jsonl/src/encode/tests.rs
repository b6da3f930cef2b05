use serde_json::{Map, Value, json};

use super::*;
use crate::raw::RawJson;

/// Reads a line that was encoded, in which every member is known.
fn value(line: &[u8]) -> Value {
    let text = std::str::from_utf8(line).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "one line: {text}");
    assert!(text.ends_with('\n'));
    let unknown = unknown_input_members(RawJson::parse(text).unwrap());
    // What a caller adds to a request is its own.
    let unknown = unknown.unwrap_or_default().into_iter();
    let unknown: Vec<_> = unknown.filter(|it| it != "/request/a\"b").collect();
    assert!(unknown.is_empty(), "{text} has {unknown:?}");
    serde_json::from_str(text).unwrap()
}

#[test]
fn single_text_prompt_is_string() {
    let prompt = Prompt {
        uuid: Some("u1".into()),
        ..Prompt::text("a \"b\"\n\u{2028}é😀\u{0}")
    };
    assert_eq!(
        value(&prompt.encode()),
        json!({"type":"user","message":{"role":"user","content":"a \"b\"\n\u{2028}é😀\u{0}"},
               "parent_tool_use_id":null,"session_id":"","uuid":"u1"})
    );
}

#[test]
fn multipart_prompt_is_blocks() {
    let image = Source::Base64 {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let prompt = Prompt {
        parts: vec![
            PromptPart::Text("look".into()),
            PromptPart::Image(image),
            PromptPart::Document {
                source: Source::Text("t".into()),
                title: Some("T".into()),
            },
            PromptPart::Image(Source::Url("u".into())),
        ],
        priority: Some(Priority::Later),
        verbatim: true,
        append_only: true,
        uuid: None,
    };
    let line = value(&prompt.encode());
    assert_eq!(
        line["message"]["content"],
        json!([
            {"type":"text","text":"look"},
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},
            {"type":"document","source":{"type":"text","media_type":"text/plain","data":"t"},"title":"T"},
            {"type":"image","source":{"type":"url","url":"u"}},
        ])
    );
    assert_eq!(line["priority"], "later");
    assert_eq!(line["client_composed"], true);
    assert_eq!(line["shouldQuery"], false);
}

#[test]
fn requests_have_their_members() {
    let mut fields = Map::new();
    fields.insert("a\"b".into(), json!([1, null]));
    for (request, expected) in [
        (
            HostRequest::Interrupt {
                cancel_queued: false,
            },
            json!({"subtype":"interrupt"}),
        ),
        (
            HostRequest::Interrupt {
                cancel_queued: true,
            },
            json!({"subtype":"interrupt","cancel_queued":true}),
        ),
        (
            HostRequest::SetModel { model: None },
            json!({"subtype":"set_model","model":null}),
        ),
        (
            HostRequest::SetModel {
                model: Some("m".into()),
            },
            json!({"subtype":"set_model","model":"m"}),
        ),
        (
            HostRequest::SetPermissionMode {
                mode: "plan".into(),
            },
            json!({"subtype":"set_permission_mode","mode":"plan"}),
        ),
        (
            HostRequest::SetMaxThinkingTokens { tokens: Some(7) },
            json!({"subtype":"set_max_thinking_tokens","max_thinking_tokens":7}),
        ),
        (
            HostRequest::StopTask {
                task_id: "t".into(),
            },
            json!({"subtype":"stop_task","task_id":"t"}),
        ),
        (
            HostRequest::CancelPrompt { uuid: "u".into() },
            json!({"subtype":"cancel_async_message","message_uuid":"u"}),
        ),
        (HostRequest::EndSession, json!({"subtype":"end_session"})),
        (
            HostRequest::Initialize(fields.clone()),
            json!({"subtype":"initialize","a\"b":[1,null]}),
        ),
        (
            HostRequest::Other {
                subtype: "x".into(),
                fields,
            },
            json!({"subtype":"x","a\"b":[1,null]}),
        ),
    ] {
        let line = value(&control_request("r", &request));
        assert_eq!(
            line,
            json!({"type":"control_request","request_id":"r","request":expected}),
            "{request:?}"
        );
    }
    assert_eq!(
        value(&cancel_request("r")),
        json!({"type":"control_cancel_request","request_id":"r"})
    );
    let variables = Map::from_iter([("A".to_owned(), json!("b"))]);
    assert_eq!(
        value(&update_environment(&variables)),
        json!({"type":"update_environment_variables","variables":{"A":"b"}})
    );
    assert_eq!(value(&keep_alive()), json!({"type":"keep_alive"}));
}

#[test]
fn allow_without_change_repeats_input() {
    let input = RawJson::parse(r#"{"a":"\ud83d"}"#);
    let line = permission("r", &Decision::allow(), input);
    let text = String::from_utf8(line).unwrap();
    assert!(text.contains(r#""updatedInput":{"a":"\ud83d"}"#), "{text}");
}

#[test]
fn responses_have_protocol_shape() {
    let rewrite = Decision::Allow {
        updated_input: Some(r#"{"b":1}"#.into()),
        updated_permissions: Some("[]".into()),
    };
    let deny = Decision::Deny {
        message: "no".into(),
        interrupt: true,
    };
    for (line, response) in [
        (
            permission("r", &rewrite, None),
            json!({"behavior":"allow","updatedInput":{"b":1},"updatedPermissions":[]}),
        ),
        (
            permission("r", &deny, None),
            json!({"behavior":"deny","message":"no","interrupt":true}),
        ),
        (
            permission("r", &Decision::deny("no"), None),
            json!({"behavior":"deny","message":"no"}),
        ),
        (hook_output("r", "{}"), json!({})),
        (
            mcp_response("r", r#"{"id":1}"#),
            json!({"mcp_response":{"id":1}}),
        ),
    ] {
        assert_eq!(
            value(&line),
            json!({"type":"control_response",
                   "response":{"subtype":"success","request_id":"r","response":response}})
        );
    }
    assert_eq!(
        value(&control_error("r", "nope")),
        json!({"type":"control_response",
               "response":{"subtype":"error","request_id":"r","error":"nope"}})
    );
}
