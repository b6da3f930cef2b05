//! `bowline acp --protocol 2`: the draft of the next version of ACP, which the editor asks for.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::acp::{ASKS, DIALECTS, Editor};
use crate::support::{AGENT, ScriptedAgent, bowline};
use crate::test_runner::TestRunner;

/// The messages that an editor shows, by their ids: whole ones replace, chunks append.
#[derive(Default)]
struct Messages(RefCell<BTreeMap<String, (String, String)>>);

impl Messages {
    fn read(&self, line: &Value) {
        let update = &line["params"]["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let Some(id) = update["messageId"].as_str() else {
            return;
        };
        let mut all = self.0.borrow_mut();
        let message = all.entry(id.to_owned()).or_default();
        message.0 = kind.trim_end_matches("_chunk").to_owned();
        if let Some(text) = update["content"]["text"].as_str() {
            message.1.push_str(text);
        } else {
            let parts = update["content"].as_array().into_iter().flatten();
            message.1 = parts.filter_map(|part| part["text"].as_str()).collect();
        }
    }

    /// The texts of one kind of message. Each has its own id, so their order is not that of the conversation.
    fn texts(&self, kind: &str) -> Vec<String> {
        let all = self.0.borrow();
        let texts = all
            .values()
            .filter(|(it, text)| it == kind && !text.is_empty());
        let mut texts: Vec<_> = texts.map(|(_, text)| text.clone()).collect();
        texts.sort();
        texts
    }
}

fn draft(state: &str, agent: &ScriptedAgent, dialect: &str) -> Editor {
    Editor::start_with(state, agent, dialect, AGENT, &["--protocol", "2"])
}

/// An editor that has resumed a session, and what it was shown of it.
fn resumed(state: &str, agent: &ScriptedAgent, dialect: &str, session: &str) -> (Editor, Messages) {
    let shown = Messages::default();
    let mut editor = draft(state, agent, dialect);
    let params = json!({"sessionId": session, "cwd": "/tmp", "mcpServers": [],
        "replayFrom": {"type": "start"}});
    let resume = editor.request("session/resume", &params);
    let resumed = editor.until(|line, _| {
        shown.read(line);
        line["id"] == resume && line["method"].is_null()
    });
    assert!(resumed["error"].is_null(), "{dialect}: {resumed}");
    (editor, shown)
}

/// Reads up to the end of a turn; returns why it ended.
fn idle(editor: &mut Editor, shown: &Messages) -> Value {
    let mut idle = editor.until(|line, _| {
        shown.read(line);
        line["params"]["update"]["state"] == "idle"
    });
    idle["params"]["update"]["stopReason"].take()
}

#[test]
fn killed_editor_of_the_draft_loses_nothing_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut editor = draft(&served.state(), &agent, dialect);
        let session = editor.new_session();
        let prompt = editor.prompt(&session, "make it");
        let accepted = editor.answer(prompt);
        assert!(
            accepted["result"]["messageId"].is_string(),
            "{dialect}: {accepted}"
        );
        editor.question();
        editor.kill();

        let (mut editor, shown) = resumed(&served.state(), &agent, dialect, &session);
        assert_eq!(shown.texts("user_message"), ["make it"], "{dialect}");
        assert_eq!(
            shown.texts("agent_message"),
            ["I will make it."],
            "{dialect}"
        );
        // It was not answered, so it is asked again.
        let question = editor.question();
        assert!(question["params"]["title"].is_string(), "{question}");
        editor.choose(&question, "allow_once");
        assert_eq!(idle(&mut editor, &shown), "end_turn", "{dialect}");
        let texts = shown.texts("agent_message");
        assert_eq!(texts, ["I will make it.", "It is made."], "{dialect}");
        editor.close();
    }
}

#[test]
fn two_editors_of_the_draft_share_a_session_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut first = draft(&served.state(), &agent, dialect);
        let session = first.new_session();
        first.prompt(&session, "make it");
        let asked = first.question();
        let (mut second, seen) = resumed(&served.state(), &agent, dialect, &session);
        let question = second.question();
        second.choose(&question, "allow_once");
        let shown = Messages::default();
        assert_eq!(idle(&mut first, &shown), "end_turn", "{dialect}");
        assert_eq!(idle(&mut second, &seen), "end_turn", "{dialect}");
        assert_eq!(first.cancelled.len(), 1, "{dialect}");
        assert_eq!(first.cancelled[0]["params"]["requestId"], asked["id"]);
        assert!(second.cancelled.is_empty(), "{dialect}");

        second.prompt(&session, "again");
        assert_eq!(idle(&mut first, &shown), "end_turn", "{dialect}");
        assert_eq!(idle(&mut second, &seen), "end_turn", "{dialect}");
        assert_eq!(shown.texts("user_message"), ["again"], "{dialect}");
        assert_eq!(
            seen.texts("user_message"),
            ["again", "make it"],
            "{dialect}"
        );
        let texts = seen.texts("agent_message");
        assert_eq!(
            texts,
            ["I will make it.", "It is made.", "Once more."],
            "{dialect}"
        );
        assert_eq!(
            shown.texts("agent_message"),
            ["It is made.", "Once more."],
            "{dialect}: after its question"
        );
    }
}

#[test]
fn version_that_does_not_exist_is_refused() {
    let line = bowline(&["acp", "--protocol", "3"]).failed(2);
    assert!(line.contains("--protocol"), "{line}");
}
