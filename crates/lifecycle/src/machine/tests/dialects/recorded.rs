//! The machine writes what the recorded hosts wrote.

use super::*;

#[test]
fn codex_is_driven_as_recorded() {
    for (name, outcome) in [
        ("plain", "completed"),
        ("tool", "completed"),
        ("approve", "completed"),
        ("edit", "completed"),
        ("cancelled", "cancelled"),
        ("interrupt", "cancelled"),
        ("two", "completed"),
        ("sub", "completed"),
        ("err", "failed"),
    ] {
        let mut session = Session::codex();
        let recording = Recording::read(&format!("codex/app-server.{name}"));
        session.replay(&recording, host);
        assert_eq!(session.fixture.machine.handshake(), Some(Ok(())), "{name}");
        assert_eq!(session.last_result()["outcome"], outcome, "{name}");
        assert!(session.written.is_empty(), "{name}: {:?}", session.written);
        assert!(
            !session.fixture.machine.transcript().has_open_turn(),
            "{name}"
        );
        let receipts = &session.fixture.receipts;
        let last = receipts.iter().rev().find(|(uuid, _)| uuid == "u3");
        let state = if name == "two" {
            ReceiptState::Merged
        } else {
            ReceiptState::Answered
        };
        assert_eq!(last.unwrap().1, state, "{name}: {receipts:?}");
    }
}

#[test]
fn acp_agents_are_driven_as_recorded() {
    for (name, outcome) in [
        ("gemini/acp.plain", "completed"),
        ("gemini/acp.tool", "completed"),
        ("gemini/acp.reject", "completed"),
        ("gemini/acp.cancel", "cancelled"),
        ("gemini/acp.err", "failed"),
        ("gemini/acp.edit_nofs", "completed"),
        ("opencode/acp.plain", "completed"),
        ("opencode/acp.tool", "completed"),
        ("opencode/acp.cancel", "cancelled"),
        ("opencode/acp.err", "failed"),
        ("copilot/acp.plain", "completed"),
        ("copilot/acp.tool", "completed"),
        ("claude-agent-acp/acp.ask", "completed"),
        ("claude-agent-acp/acp.cancel", "cancelled"),
        ("claude-agent-acp/acp.perm", "completed"),
    ] {
        let mut session = Session::acp();
        session.replay(&Recording::read(name), host);
        assert_eq!(session.fixture.machine.handshake(), Some(Ok(())), "{name}");
        assert_eq!(session.last_result()["outcome"], outcome, "{name}");
        assert!(session.written.is_empty(), "{name}: {:?}", session.written);
        let receipts = &session.fixture.receipts;
        let last = receipts.last().map(|(_, state)| *state);
        assert_eq!(last, Some(ReceiptState::Answered), "{name}: {receipts:?}");
    }
}

#[test]
fn loaded_conversation_is_history() {
    let mut session = Session::new(
        DialectName::Acp,
        Opening {
            conversation: Conversation::Continue,
            ..opening()
        },
    );
    // The recorded host listed the sessions and loaded one.
    session.replay(&Recording::read("opencode/acp.tool.load"), host);
    assert_eq!(session.fixture.machine.handshake(), Some(Ok(())));
    let entries = session.fixture.machine.transcript().entries();
    let history: Vec<_> = entries.map(|it| it.is_history()).collect();
    assert!(history[0] && !history[history.len() - 1], "{history:?}");
}

/// Another host opened the session, and its requests are not known.
#[test]
fn registered_host_continues_the_session() {
    for (name, dialect, method) in [
        ("codex/app-server.plain", DialectName::Codex, "turn/start"),
        ("opencode/acp.plain", DialectName::Acp, "session/prompt"),
    ] {
        let Recording(lines) = Recording::read(name);
        let output: String = lines
            .iter()
            .filter(|(is_host, _)| !is_host)
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        let opening = Opening {
            is_resumed: true,
            ..opening()
        };
        let machine = Machine::speaking(dialect, opening, LIMITS, 0);
        let mut session = Session {
            fixture: Fixture::of(machine.registered(output.len() as u64, "salt")),
            ids: Vec::new(),
            written: VecDeque::new(),
        };
        session.fixture.input(Input::Output(output.into()));
        session.collect();
        assert!(session.written.is_empty(), "{name}: {:?}", session.written);
        session.send("u9", "again");
        assert_eq!(session.written().as_deref(), Some(method), "{name}");
    }
}
