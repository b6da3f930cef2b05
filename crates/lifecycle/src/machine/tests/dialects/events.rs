//! Events of what the agent says and does.

use super::*;

/// The events of a recording, in short.
fn events(name: &str, session: &mut Session) -> Vec<String> {
    let recording = Recording::read(name);
    session.replay(&recording, host);
    let said = session.fixture.events.iter().filter_map(|event| {
        Some(match &event.kind {
            DialogueEventKind::Text { text } => format!("text {text}"),
            DialogueEventKind::ToolUse { id, .. } => format!("use {id}"),
            DialogueEventKind::ToolResult { id, is_error, .. } => format!("result {id} {is_error}"),
            DialogueEventKind::TurnEnd { .. } => "end".to_owned(),
            _ => return None,
        })
    });
    said.collect()
}

#[test]
fn texts_and_calls_are_events_in_all_dialects() {
    for (name, mut session) in [
        ("codex/app-server.approve", Session::codex()),
        ("gemini/acp.tool", Session::acp()),
    ] {
        let events = events(name, &mut session);
        let mut deltas = String::new();
        for event in &session.fixture.events {
            if let DialogueEventKind::Delta {
                text,
                is_thinking: false,
            } = &event.kind
            {
                deltas.push_str(text);
            }
        }
        let transcript = session.fixture.machine.transcript();
        let calls: Vec<_> = transcript.main().tool_calls().iter().collect();
        assert!(!calls.is_empty(), "{name}");
        for call in calls {
            let used: Vec<_> = events
                .iter()
                .filter(|it| **it == format!("use {}", call.id()))
                .collect();
            assert_eq!(used.len(), 1, "{name}: {events:?}");
            let result = format!("result {} false", call.id());
            assert_eq!(
                events.iter().filter(|it| **it == result).count(),
                1,
                "{name}: {events:?}"
            );
        }
        let texts: Vec<_> = events
            .iter()
            .filter_map(|it| it.strip_prefix("text "))
            .collect();
        assert!(!texts.is_empty(), "{name}: {events:?}");
        assert_eq!(texts.concat(), deltas, "{name}");
        assert_eq!(
            events.last().map(String::as_str),
            Some("end"),
            "{name}: {events:?}"
        );
    }
}
