//! What those who listen are told.

use super::*;
use crate::watchdog::WorkPhase;

fn kinds(world: &World) -> Vec<&DialogueEventKind> {
    world.told.iter().map(|told| &told.kind).collect()
}

#[test]
fn seed_001_each_block_becomes_its_own_kind_of_event() {
    let mut world = World::new(LIMITS);
    world.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a\nb"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]},"uuid":"a"}"#);
    world.agent(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}]}]},"uuid":"b"}"#);
    world.agent(
        r#"{"type":"result","subtype":"success","result":"done","total_cost_usd":0.5,"uuid":"c"}"#,
    );
    let told = kinds(&world);
    assert_eq!(told[0], &DialogueEventKind::Thinking { text: "hm".into() });
    assert_eq!(
        told[1],
        &DialogueEventKind::Text {
            text: "a\nb".into()
        }
    );
    assert_eq!(
        told[2],
        &DialogueEventKind::ToolUse {
            id: "t".into(),
            name: "Bash".into(),
            input: r#"{"command":"ls"}"#.into()
        }
    );
    let DialogueEventKind::ToolResult { id, is_error, text } = told[3] else {
        panic!("{told:?}");
    };
    assert_eq!((id.as_str(), is_error), ("t", &true));
    assert!(text.contains("no") && text.contains("way"), "{text}");
    let DialogueEventKind::TurnEnd {
        subtype,
        text,
        cost_usd,
        ..
    } = told[4]
    else {
        panic!("{told:?}");
    };
    assert_eq!(
        (subtype.as_str(), text.as_deref(), *cost_usd),
        ("success", Some("done"), 0.5)
    );
    assert_eq!(world.told[2].phase, WorkPhase::Tool);
    assert_eq!(world.told[4].phase, WorkPhase::Idle);
    assert_eq!(world.told[0].offset, Some(0));
    assert!(world.told[3].offset > world.told[2].offset);
}

#[test]
fn seed_001_a_parse_error_does_not_stop_parsing() {
    let mut world = World::new(LIMITS);
    world.agent("{\"type\":");
    world.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"on"}]},"uuid":"a"}"#);
    assert!(
        matches!(kinds(&world)[0], DialogueEventKind::ParseError { text } if text.starts_with("line 1: "))
    );
    assert_eq!(
        kinds(&world)[1],
        &DialogueEventKind::Text { text: "on".into() }
    );
}

#[test]
fn seed_001_unknown_events_are_ignored_and_counted() {
    let mut world = World::new(LIMITS);
    world.agent(r#"{"type":"brand_new","uuid":"a"}"#);
    assert_eq!(world.told, []);
    assert_eq!(world.json()["stats"]["unknown"]["brand_new"], 1);
}

#[test]
fn seed_001_a_line_over_a_megabyte_is_read_whole() {
    let mut world = World::new(Limits {
        max_line: 64 << 20,
        ..LIMITS
    });
    let text = "x".repeat(3 << 20);
    world.agent(&format!(
        r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}},"uuid":"a"}}"#
    ));
    assert_eq!(kinds(&world), [&DialogueEventKind::Text { text }]);
}

#[test]
fn seed_000_events_of_a_sub_agent_name_the_calls_around_them() {
    let mut world = World::new(LIMITS);
    let call = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"Task","input":{{}}}}]}},"uuid":"u{id}"}}"#
        )
    };
    world.agent(&call("outer", "null"));
    world.agent(&call("inner", "\"outer\""));
    world.agent(r#"{"type":"assistant","parent_tool_use_id":"inner","message":{"id":"deep","content":[{"type":"text","text":"hi"}]},"uuid":"d"}"#);
    let paths: Vec<_> = world.told.iter().map(|told| told.path.join("/")).collect();
    assert_eq!(paths, ["", "outer", "outer/inner"]);
    let inner = &world.json()["tool_calls"]["outer"]["subagent"]["tool_calls"]["inner"];
    assert_eq!(inner["subagent"]["entries"][0]["blocks"][0]["text"], "hi");
}

#[test]
fn seed_000_nothing_of_a_sub_agent_outlives_its_process() {
    let mut world = World::new(LIMITS);
    let call = |id: &str, parent: &str, name: &str| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}]}},"uuid":"u{id}"}}"#
        )
    };
    world.agent(&call("outer", "null", "Agent"));
    world.agent(&call("inner", "\"outer\"", "Agent"));
    world.agent(&call("deep", "\"inner\"", "Bash"));
    world.agent(r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"inner","task_type":"local_agent","description":"dig","uuid":"k"}"#);
    world.exit(0);
    let json = world.json();
    let outer = &json["tool_calls"]["outer"];
    let inner = &outer["subagent"]["tool_calls"]["inner"];
    let deep = &inner["subagent"]["tool_calls"]["deep"];
    for call in [outer, inner, deep] {
        assert_eq!(call["state"], "lost", "{call:#}");
    }
    assert_eq!(json["tasks"]["k"]["state"], "lost");
}

#[test]
fn lines_of_standard_error_are_told_whole_and_bounded() {
    let mut world = World::new(LIMITS);
    world.input(Input::Errors("war".into()));
    world.input(Input::Errors("ning\r\nsecond\n".into()));
    world.input(Input::Errors("y".repeat(20 << 10).into()));
    world.input(Input::Errors("\nlast".into()));
    world.exit(1);
    let lines: Vec<_> = kinds(&world)
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
fn seed_001_the_end_of_the_session_is_the_last_event() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.exit(3);
    let DialogueEventKind::SessionEnd { expected, reason } = kinds(&world).pop().expect("an end")
    else {
        panic!("{:?}", world.told);
    };
    assert_eq!((*expected, reason.as_str()), (false, "exit code 3"));
}

#[test]
fn nothing_is_made_for_nobody() {
    let mut world = World::new(LIMITS);
    world.machine.set_heard(false);
    world.send("u1");
    world.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}]},"uuid":"a"}"#);
    world.exit(0);
    assert_eq!(world.told, []);
}
