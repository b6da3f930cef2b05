//! The handshake, the list, settings, and messages that are wrong.

use bowline_reducer::Cursor;
use bowline_runner::acp::{Failure, FailureKind, Input, Intent, ListedSession, SessionPage};
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::recorded;

const SESSION: &str = "s";

/// The code of the last message, which is an error.
fn code(editor: &Editor) -> i64 {
    let last = editor.lines.last().expect("a message");
    last["error"]["code"].as_i64().expect("an error")
}

#[test]
fn agent_offers_load_list_and_resume_but_not_close() {
    let mut editor = Editor::silent();
    let hello = json!({"protocolVersion": 7, "clientCapabilities": {}});
    let answer = editor.call("initialize", &hello);
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], 1);
    let agent = &result["agentCapabilities"];
    assert_eq!(agent["loadSession"], true);
    assert_eq!(agent["promptCapabilities"]["image"], true);
    assert_eq!(agent["promptCapabilities"]["embeddedContext"], true);
    let sessions = &agent["sessionCapabilities"];
    assert!(sessions["list"].is_object() && sessions["resume"].is_object());
    assert!(sessions["close"].is_null());
    assert_eq!(result["agentInfo"]["name"], "bowline");
}

#[test]
fn wrong_messages_are_answered_with_their_codes() {
    let mut editor = Editor::silent();
    editor.call("session/list", &json!({}));
    assert_eq!(code(&editor), -32600, "before initialize");
    let mut editor = Editor::new(&json!({}));
    for (line, expected) in [
        ("nonsense", -32700),
        ("{\"id\":1", -32700),
        ("[]", -32600),
        ("3", -32600),
        ("{\"jsonrpc\":\"2.0\"}", -32600),
        ("{\"id\":1.5,\"method\":\"session/list\"}", -32600),
        ("{\"id\":1,\"method\":3}", -32600),
    ] {
        editor.server.receive(line);
        editor.notify("nothing", &Value::Null);
        assert_eq!(code(&editor), expected, "{line}");
        assert!(editor.lines.last().expect("a message")["id"].is_null());
    }
    for (method, params, expected) in [
        ("session/close", json!({"sessionId": SESSION}), -32601),
        ("craft/drain", json!({}), -32601),
        ("authenticate", json!({"methodId": "x"}), -32602),
        ("session/prompt", json!({"sessionId": SESSION}), -32602),
        ("session/new", json!({"cwd": "p", "mcpServers": []}), -32602),
        ("session/new", json!({"mcpServers": []}), -32602),
        (
            "session/prompt",
            json!({"sessionId": "x", "prompt": [{"type": "text", "text": "a"}]}),
            -32002,
        ),
    ] {
        let answer = editor.call(method, &params);
        assert_eq!(answer["error"]["code"], expected, "{method}");
    }
    editor.notify("unknown", &json!({}));
    editor.notify("session/cancel", &json!({"sessionId": "unknown"}));
    assert!(editor.intents.is_empty());
}

#[test]
fn unknown_session_is_refused_with_the_remedy() {
    let mut editor = Editor::new(&json!({}));
    let (id, attachment) = editor.attach("session/load", "gone");
    let message = "there is no session gone; session/list shows those that are there";
    editor.input(Input::AttachFailed {
        attachment,
        failure: Failure::new(FailureKind::NotFound, message),
    });
    let error = &editor.answer(id).expect("an answer")["error"];
    assert_eq!(error["code"], -32002);
    assert_eq!(error["message"], message);
}

#[test]
fn sessions_are_listed() {
    let mut editor = Editor::new(&json!({}));
    let id = editor.request("session/list", &json!({"cwd": "/p", "cursor": "c"}));
    let Intent::List {
        ticket,
        cwd,
        cursor,
    } = editor.intent()
    else {
        panic!("a list");
    };
    assert_eq!((cwd, cursor.as_deref()), (Some("/p".into()), Some("c")));
    let row = ListedSession {
        id: SESSION.to_owned(),
        cwd: "/p".into(),
        title: Some("Fix it".to_owned()),
        updated_at: Some("2026-11-24T00:00:00Z".to_owned()),
    };
    editor.input(Input::Listed {
        ticket,
        result: Ok(SessionPage {
            sessions: vec![row],
            next: Some("d".to_owned()),
        }),
    });
    let answer = editor.answer(id).expect("an answer");
    assert_eq!(
        answer["result"],
        json!({"nextCursor": "d", "sessions": [{
            "sessionId": SESSION, "cwd": "/p", "title": "Fix it",
            "updatedAt": "2026-11-24T00:00:00Z",
        }]})
    );
}

#[test]
fn new_session_has_the_runners_id_and_its_modes() {
    let mut editor = Editor::new(&json!({}));
    let params = json!({"cwd": "/p", "mcpServers": []});
    let id = editor.request("session/new", &params);
    let Intent::Start { ticket, start } = editor.intent() else {
        panic!("a start");
    };
    assert_eq!(start.cwd, std::path::Path::new("/p"));
    editor.input(Input::Started {
        ticket,
        result: Ok(SESSION.to_owned()),
    });
    let Intent::Attach {
        attachment,
        session,
    } = editor.intent()
    else {
        panic!("an attachment");
    };
    assert_eq!(session, SESSION);
    let mut recorded = recorded::named("unicode_partial.jsonl");
    editor.changes(attachment, recorded.changes(&mut Cursor::default()));
    let result = &editor.answer(id).expect("an answer")["result"];
    assert_eq!(result["sessionId"], SESSION);
    assert_eq!(result["modes"]["currentModeId"], "default");
    assert_eq!(result["configOptions"][0]["category"], "mode");
}

#[test]
fn failed_start_is_answered_with_its_reason() {
    let mut editor = Editor::new(&json!({}));
    let params = json!({"cwd": "/p", "mcpServers": []});
    let id = editor.request("session/new", &params);
    let Intent::Start { ticket, .. } = editor.intent() else {
        panic!("a start");
    };
    let failure = Failure::new(FailureKind::AuthRequired, "run `gemini` once and log in");
    editor.input(Input::Started {
        ticket,
        result: Err(failure),
    });
    assert_eq!(
        editor.answer(id).expect("an answer")["error"]["code"],
        -32000
    );
}

#[test]
fn setting_is_changed_and_all_are_returned() {
    let mut editor = Editor::new(&json!({}));
    let mut recorded = recorded::named("agents/claude-agent-acp/acp.plain.trace.jsonl");
    recorded.finish();
    editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    let mode = json!({"sessionId": SESSION, "modeId": "plan"});
    let id = editor.request("session/set_mode", &mode);
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
    editor.input(Input::OptionSet {
        ticket,
        result: Ok(()),
    });
    assert!(editor.answer(id).expect("an answer")["error"].is_null());
    let option = json!({"sessionId": SESSION, "configId": "mode", "value": "acceptEdits"});
    let id = editor.request("session/set_config_option", &option);
    let Intent::SetOption { ticket, .. } = editor.intent() else {
        panic!("a setting");
    };
    editor.input(Input::OptionSet {
        ticket,
        result: Ok(()),
    });
    let answer = editor.answer(id).expect("an answer");
    let options = answer["result"]["configOptions"]
        .as_array()
        .expect("options");
    let mode = options
        .iter()
        .find(|option| option["id"] == "mode")
        .expect("the mode");
    assert_eq!(mode["currentValue"], "acceptEdits");
    let wrong = json!({"sessionId": SESSION, "configId": "mode", "value": "fly"});
    let answer = editor.call("session/set_config_option", &wrong);
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn end_of_the_connection_detaches() {
    let mut editor = Editor::new(&json!({}));
    let mut recorded = recorded::named("unicode_partial.jsonl");
    let attachment = editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    editor.server.disconnect();
    editor.notify("nothing", &Value::Null);
    let Intent::Detach { attachment: left } = editor.intent() else {
        panic!("a detachment");
    };
    assert_eq!(left, attachment);
}

#[test]
fn session_that_is_loaded_again_is_left_first() {
    let mut editor = Editor::new(&json!({}));
    let mut recorded = recorded::named("unicode_partial.jsonl");
    let first = editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    let params = json!({"sessionId": SESSION, "cwd": "/p", "mcpServers": []});
    editor.request("session/load", &params);
    let second = editor.intents.pop();
    assert!(matches!(second, Some(Intent::Attach { .. })), "{second:?}");
    let Intent::Detach { attachment } = editor.intent() else {
        panic!("a detachment");
    };
    assert_eq!(attachment, first);
}
