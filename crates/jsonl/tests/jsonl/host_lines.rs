//! Lines that a host writes to agents that speak JSON-RPC.

use agent_client_protocol_schema::v1 as schema;
use bowline_jsonl::acp::write as acp;
use bowline_jsonl::codex::write as codex;
use bowline_jsonl::rpc::{Id, Message};
use bowline_jsonl::{PromptPart, RawJson, Source};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn value(line: &[u8]) -> Value {
    let text = std::str::from_utf8(line).expect("valid");
    assert!(
        text.ends_with('\n') && text.matches('\n').count() == 1,
        "{text}"
    );
    assert!(
        Message::parse(RawJson::parse(text).expect("valid")).is_some(),
        "{text}"
    );
    serde_json::from_str(text).expect("valid")
}

/// Checks that `T` keeps every member of `written`; a type that reads errors as nothing loses them.
fn assert_is<T: DeserializeOwned + Serialize>(written: &Value) {
    let read: T =
        serde_json::from_value(written.clone()).unwrap_or_else(|e| panic!("{written}: {e}"));
    let kept = serde_json::to_value(read).expect("valid");
    assert_kept(written, &kept);
}

fn assert_kept(written: &Value, kept: &Value) {
    match (written, kept) {
        (Value::Object(written), Value::Object(kept)) => {
            for (key, value) in written {
                let kept = kept
                    .get(key)
                    .unwrap_or_else(|| panic!("{key} is lost: {kept:?}"));
                assert_kept(value, kept);
            }
        }
        (Value::Array(written), Value::Array(kept)) => {
            assert_eq!(written.len(), kept.len());
            written
                .iter()
                .zip(kept)
                .for_each(|(a, b)| assert_kept(a, b));
        }
        _ => assert_eq!(written, kept),
    }
}

fn assert_request<T: DeserializeOwned + Serialize>(line: &[u8], method: &str) {
    let line = value(line);
    assert_eq!(
        (&line["jsonrpc"], &line["id"], &line["method"]),
        (&json!("2.0"), &json!("id\"1"), &json!(method))
    );
    assert_is::<T>(&line["params"]);
}

fn parts() -> Vec<PromptPart> {
    let base64 = |media_type: &str| Source::Base64 {
        media_type: media_type.into(),
        data: "AAAA".into(),
    };
    let document = |source, title: Option<&str>| PromptPart::Document {
        source,
        title: title.map(Into::into),
    };
    vec![
        PromptPart::Text("look \"here\"\n".into()),
        PromptPart::Image(base64("image/png")),
        PromptPart::Image(Source::Url("https://example.com/a.png".into())),
        document(Source::Text("t".into()), Some("notes.txt")),
        document(base64("application/pdf"), None),
        document(Source::Url("file:///a/b.txt".into()), Some("b.txt")),
    ]
}

#[test]
fn acp_requests_keep_protocol_types() {
    const ID: &str = "id\"1";
    let initialize = acp::initialize(ID, "bowline", "0.1");
    assert_request::<schema::InitializeRequest>(&initialize, "initialize");
    let capabilities = &value(&initialize)["params"]["clientCapabilities"];
    assert_eq!(
        (capabilities.get("fs"), capabilities.get("terminal")),
        (None, None)
    );
    assert_request::<schema::AuthenticateRequest>(&acp::authenticate(ID, "m"), "authenticate");
    let servers = r#"[{"name":"n","command":"/c","args":["a"],"env":[{"name":"A","value":"b"}]}]"#;
    assert_request::<schema::NewSessionRequest>(
        &acp::new_session(ID, "/p", servers),
        "session/new",
    );
    let open = |opening| acp::open_session(ID, opening, "s", "/p", servers);
    assert_request::<schema::LoadSessionRequest>(&open(acp::Opening::Load), "session/load");
    assert_request::<schema::ResumeSessionRequest>(&open(acp::Opening::Resume), "session/resume");
    assert_request::<schema::ForkSessionRequest>(&open(acp::Opening::Fork), "session/fork");
    let list = acp::list_sessions(ID, Some("/p"), Some("c"));
    assert_request::<schema::ListSessionsRequest>(&list, "session/list");
    let prompt = acp::prompt(ID, "s", &parts());
    assert_request::<schema::PromptRequest>(&prompt, "session/prompt");
    let mode = acp::set_mode(ID, "s", "plan");
    assert_request::<schema::SetSessionModeRequest>(&mode, "session/set_mode");
    for option in [
        acp::set_config_option(ID, "s", "model", "m"),
        acp::set_config_switch(ID, "s", "fast", true),
    ] {
        assert_request::<schema::SetSessionConfigOptionRequest>(
            &option,
            "session/set_config_option",
        );
    }
}

#[test]
fn acp_notifications_and_answers_keep_protocol_types() {
    let cancel = value(&acp::cancel("s"));
    assert_eq!(cancel["method"], "session/cancel");
    assert_is::<schema::CancelNotification>(&cancel["params"]);
    assert_eq!(
        value(&acp::cancel_request("r")),
        json!({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"r"}})
    );
    let id = Id::new(RawJson::parse("7").expect("valid")).expect("valid");
    for line in [
        acp::permission(id, Some("allow-once")),
        acp::permission(id, None),
    ] {
        let answer = value(&line);
        assert_eq!(answer["id"], 7);
        assert_is::<schema::RequestPermissionResponse>(&answer["result"]);
    }
    for action in [
        acp::ElicitationAction::Accept(r#"{"question_0":"Red"}"#),
        acp::ElicitationAction::Decline,
        acp::ElicitationAction::Cancel,
    ] {
        let answer = value(&acp::elicitation(id, action));
        assert_is::<schema::CreateElicitationResponse>(&answer["result"]);
    }
    assert_eq!(
        value(&acp::method_not_found(id, "craft/x")),
        json!({"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: craft/x"}})
    );
}

#[test]
fn codex_lines_have_no_jsonrpc_member() {
    let settings = codex::ThreadSettings {
        cwd: Some("/p"),
        approval_policy: Some("on-request"),
        config: Some(r#"{"a":1}"#),
        ..codex::ThreadSettings::default()
    };
    let initialize = value(&codex::initialize("1", "bowline", "Bowline", "0.1"));
    assert_eq!(initialize["params"]["clientInfo"]["title"], "Bowline");
    assert_eq!(initialize.get("jsonrpc"), None);
    assert_eq!(
        value(&codex::initialized()),
        json!({"method":"initialized"})
    );
    assert_eq!(
        value(&codex::start_thread("2", &settings)),
        json!({"id":"2","method":"thread/start","params":
               {"cwd":"/p","approvalPolicy":"on-request","config":{"a":1}}})
    );
    let none = codex::ThreadSettings::default();
    assert_eq!(
        value(&codex::resume_thread("3", "t", &none, true))["params"],
        json!({"threadId":"t","excludeTurns":true})
    );
    assert_eq!(
        value(&codex::fork_thread("3", "t", Some("u"), &none))["params"],
        json!({"threadId":"t","lastTurnId":"u"})
    );
    assert_eq!(
        value(&codex::list_threads("3", Some("/p"), 5, None))["params"],
        json!({"limit":5,"cwd":"/p"})
    );
    assert_eq!(
        value(&codex::interrupt_turn("4", "t", "u")),
        json!({"id":"4","method":"turn/interrupt","params":{"threadId":"t","turnId":"u"}})
    );
}

#[test]
fn codex_prompt_has_its_parts() {
    let [text, image, link, document, pdf, file] = parts().try_into().expect("valid");
    let settings = codex::TurnSettings {
        effort: Some("high"),
        ..codex::TurnSettings::default()
    };
    let sent = [text, image, link, document, file];
    let line = codex::start_turn("5", "t", "p", &sent, &settings).expect("valid");
    assert_eq!(
        value(&line)["params"],
        json!({"threadId":"t","input":[
            {"type":"text","text":"look \"here\"\n","text_elements":[]},
            {"type":"image","url":"data:image/png;base64,AAAA"},
            {"type":"image","url":"https://example.com/a.png"},
            {"type":"text","text":"t","text_elements":[]},
            {"type":"mention","name":"b.txt","path":"/a/b.txt"},
        ],"clientUserMessageId":"p","effort":"high"})
    );
    let steer = codex::steer_turn("6", "t", "u", "p", &sent[..1]).expect("valid");
    assert_eq!(value(&steer)["params"]["expectedTurnId"], "u");
    assert_eq!(
        codex::steer_turn("6", "t", "u", "p", &[pdf]),
        Err(codex::UnsupportedPart)
    );
}

#[test]
fn codex_answers_have_protocol_shape() {
    use codex::ApprovalDecision::{Accept, AcceptForSession, AcceptWithRule, Cancel, Decline};
    let id = Id::new(RawJson::parse("0").expect("valid")).expect("valid");
    let rule = json!({"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo"]}});
    for (decision, expected) in [
        (Accept, json!("accept")),
        (AcceptForSession, json!("acceptForSession")),
        (AcceptWithRule(r#"["echo"]"#), rule),
        (Decline, json!("decline")),
        (Cancel, json!("cancel")),
    ] {
        assert_eq!(
            value(&codex::approval(id, decision)),
            json!({"id":0,"result":{"decision":expected}})
        );
    }
    assert_eq!(
        value(&codex::answers(id, &[("q", &["Red", "x\"y"])])),
        json!({"id":0,"result":{"answers":{"q":{"answers":["Red","x\"y"]}}}})
    );
    assert_eq!(
        value(&codex::grant_permissions(id, "{}", true)),
        json!({"id":0,"result":{"permissions":{},"scope":"session"}})
    );
    assert_eq!(
        value(&codex::method_not_found(id, "m"))["error"]["code"],
        -32601
    );
}
