//! Events for subscribers.

use super::*;
use crate::watchdog::WorkPhase;

fn kinds(fixture: &Fixture) -> Vec<&DialogueEventKind> {
    fixture.events.iter().map(|event| &event.kind).collect()
}

#[test]
fn each_block_becomes_an_event() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a\nb"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]},"uuid":"a"}"#);
    fixture.agent(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}]}]},"uuid":"b"}"#);
    fixture.agent(
        r#"{"type":"result","subtype":"success","result":"done","total_cost_usd":0.5,"uuid":"c"}"#,
    );
    let events = kinds(&fixture);
    assert_eq!(
        events[0],
        &DialogueEventKind::Thinking { text: "hm".into() }
    );
    assert_eq!(
        events[1],
        &DialogueEventKind::Text {
            text: "a\nb".into()
        }
    );
    assert_eq!(
        events[2],
        &DialogueEventKind::ToolUse {
            id: "t".into(),
            name: "Bash".into(),
            input: r#"{"command":"ls"}"#.into()
        }
    );
    let DialogueEventKind::ToolResult { id, is_error, text } = events[3] else {
        panic!("{events:?}");
    };
    assert_eq!((id.as_str(), is_error), ("t", &true));
    assert!(text.contains("no") && text.contains("way"), "{text}");
    let DialogueEventKind::TurnEnd {
        subtype,
        text,
        cost_usd,
        ..
    } = events[4]
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (subtype.as_str(), text.as_deref(), *cost_usd),
        ("success", Some("done"), 0.5)
    );
    assert_eq!(fixture.events[2].phase, WorkPhase::Tool);
    assert_eq!(fixture.events[4].phase, WorkPhase::Idle);
    assert_eq!(fixture.events[0].offset, Some(0));
    assert!(fixture.events[3].offset > fixture.events[2].offset);
}

#[test]
fn parse_error_does_not_stop_parsing() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent("{\"type\":");
    fixture.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"on"}]},"uuid":"a"}"#);
    assert!(
        matches!(kinds(&fixture)[0], DialogueEventKind::ParseError { text } if text.starts_with("line 1: "))
    );
    assert_eq!(
        kinds(&fixture)[1],
        &DialogueEventKind::Text { text: "on".into() }
    );
}

#[test]
fn unknown_lines_are_counted_without_event() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(r#"{"type":"brand_new","uuid":"a"}"#);
    assert_eq!(fixture.events, []);
    assert_eq!(fixture.json()["stats"]["unknown"]["brand_new"], 1);
}

#[test]
fn line_over_one_megabyte_is_complete() {
    let mut fixture = Fixture::new(Limits {
        max_line: 64 << 20,
        ..LIMITS
    });
    let text = "x".repeat(3 << 20);
    fixture.agent(&format!(
        r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}},"uuid":"a"}}"#
    ));
    assert_eq!(kinds(&fixture), [&DialogueEventKind::Text { text }]);
}

#[test]
fn subagent_events_have_call_path() {
    let mut fixture = Fixture::new(LIMITS);
    let call = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"Task","input":{{}}}}]}},"uuid":"u{id}"}}"#
        )
    };
    fixture.agent(&call("outer", "null"));
    fixture.agent(&call("inner", "\"outer\""));
    fixture.agent(r#"{"type":"assistant","parent_tool_use_id":"inner","message":{"id":"deep","content":[{"type":"text","text":"hi"}]},"uuid":"d"}"#);
    let paths: Vec<_> = fixture
        .events
        .iter()
        .map(|event| event.path.join("/"))
        .collect();
    assert_eq!(paths, ["", "outer", "outer/inner"]);
    let inner = &fixture.json()["tool_calls"]["outer"]["subagent"]["tool_calls"]["inner"];
    assert_eq!(inner["subagent"]["entries"][0]["blocks"][0]["text"], "hi");
}

#[test]
fn subagents_end_with_process() {
    let mut fixture = Fixture::new(LIMITS);
    let call = |id: &str, parent: &str, name: &str| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}]}},"uuid":"u{id}"}}"#
        )
    };
    fixture.agent(&call("outer", "null", "Agent"));
    fixture.agent(&call("inner", "\"outer\"", "Agent"));
    fixture.agent(&call("deep", "\"inner\"", "Bash"));
    fixture.agent(r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"inner","task_type":"local_agent","description":"dig","uuid":"k"}"#);
    fixture.exit(0);
    let json = fixture.json();
    let outer = &json["tool_calls"]["outer"];
    let inner = &outer["subagent"]["tool_calls"]["inner"];
    let deep = &inner["subagent"]["tool_calls"]["deep"];
    for call in [outer, inner, deep] {
        assert_eq!(call["state"], "lost", "{call:#}");
    }
    assert_eq!(json["tasks"]["k"]["state"], "lost");
}

#[test]
fn stderr_lines_are_whole_and_bounded() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Stderr("war".into()));
    fixture.input(Input::Stderr("ning\r\nsecond\n".into()));
    fixture.input(Input::Stderr("y".repeat(20 << 10).into()));
    fixture.input(Input::Stderr("\nlast".into()));
    fixture.exit(1);
    let lines: Vec<_> = kinds(&fixture)
        .into_iter()
        .filter_map(|kind| match kind {
            DialogueEventKind::StderrLine { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        (lines[0], lines[1], lines[3]),
        ("warning", "second", "last")
    );
    assert_eq!(lines[2].len(), 8 << 10);
}

#[test]
fn session_end_is_last_event() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.exit(3);
    let DialogueEventKind::SessionEnd { expected, reason } = kinds(&fixture).pop().expect("an end")
    else {
        panic!("{:?}", fixture.events);
    };
    assert_eq!((*expected, reason.as_str()), (false, "exit code 3"));
}

#[test]
fn no_events_without_subscribers() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.machine.set_emits_events(false);
    fixture.send("u1");
    fixture.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}]},"uuid":"a"}"#);
    fixture.exit(0);
    assert_eq!(fixture.events, []);
}

#[test]
fn older_agent_is_reported_once() {
    let init = |version: &str| {
        format!(r#"{{"type":"system","subtype":"init","claude_code_version":"{version}"}}"#)
    };
    for (version, wanted) in [("2.1.5", 1), ("2.1.330", 0), ("next", 0)] {
        let mut fixture = Fixture::new(LIMITS);
        fixture.agent(&init(version));
        fixture.agent(&init(version));
        let older = |kind: &DialogueEventKind| matches!(kind, DialogueEventKind::OlderAgent(_));
        assert_eq!(fixture.count(older), wanted, "{version}");
    }
}

#[test]
fn cut_lines_and_gaps_are_in_transcript() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Output("{\"type\":\"assis".into()));
    fixture.input(Input::OutputGap { from: 14, to: 60 });
    fixture.agent("tant\"}");
    fixture.input(Input::Output("{\"type\":\"us".into()));
    fixture.input(Input::Command(Command::Terminate, 1));
    fixture.exit(143);
    let errors = fixture.errors();
    let kinds: Vec<_> = errors
        .iter()
        .filter_map(|it| it.split(':').next())
        .collect();
    assert_eq!(
        kinds,
        ["truncated", "gap", "parse", "truncated"],
        "{errors:?}"
    );
    assert_eq!(fixture.json()["stats"]["truncated"], true);
}
