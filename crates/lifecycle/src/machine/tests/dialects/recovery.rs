//! A driver that is killed anywhere, and the next one that folds the log.

use super::*;

const CLAUDE: Limits = Limits {
    initialize: true,
    ..LIMITS
};

/// A permission request of Claude Code.
const ASK: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1"}}"#;

/// The machine of a driver that starts when the log has these entries.
fn recovered(dialect: DialectName, log: &[LogEntry]) -> Fixture {
    let limits = match dialect {
        DialectName::Claude => CLAUDE,
        _ => LIMITS,
    };
    let mut machine = Machine::recovering(dialect, opening(), limits);
    recover(&mut machine, log);
    machine.recovered();
    Fixture::of(machine)
}

fn prompts(fixture: &mut Fixture) -> Vec<Value> {
    let entries = fixture.schema_2()["entries"].take();
    let entries = entries.as_array().expect("entries").iter();
    entries.filter(|it| it["kind"] == "user").cloned().collect()
}

fn written(log: &[LogEntry]) -> Vec<String> {
    let lines = log.iter().filter_map(|entry| match entry {
        LogEntry::Written(line) => Some(String::from_utf8(line.to_vec()).expect("UTF-8")),
        _ => None,
    });
    lines.collect()
}

/// Kills the driver at every entry of the log. The next one writes what is missing, each line once, and ends
/// with the same transcript and the same open requests.
fn continues_anywhere(name: &str, dialect: DialectName, first: &mut Fixture) {
    let log = std::mem::take(&mut first.log);
    let transcript: Value = first.json();
    assert!(!written(&log).is_empty());
    for killed in 0..=log.len() {
        let (before, after) = log.split_at(killed);
        let mut next = recovered(dialect, before);
        let is_line = |it: &&LogEntry| matches!(it, LogEntry::Written(_));
        let missing = written(&log[killed..killed + after.iter().take_while(is_line).count()]);
        assert_eq!(next.lines, missing, "{name}, killed at {killed}");
        for entry in after {
            match entry.clone() {
                LogEntry::Output(bytes) => next.input(Input::Output(bytes)),
                LogEntry::Intent(command) => next.input(Input::Command(command, 9)),
                LogEntry::Written(_) => {}
            }
        }
        assert_eq!(next.lines, written(after), "{name}, killed at {killed}");
        assert_eq!(next.json(), transcript, "{name}, killed at {killed}");
        assert_eq!(
            next.machine.permissions().open().count(),
            first.machine.permissions().open().count()
        );
        assert_eq!(next.machine.handshake(), first.machine.handshake());
    }
}

#[test]
fn codex_session_continues_wherever_its_driver_is_killed() {
    for name in ["plain", "approve", "edit", "interrupt", "two", "sub", "err"] {
        let mut session = Session::codex();
        let recording = Recording::read(&format!("codex/app-server.{name}"));
        session.replay(&recording, host);
        continues_anywhere(name, DialectName::Codex, &mut session.fixture);
    }
}

#[test]
fn acp_session_continues_wherever_its_driver_is_killed() {
    for name in [
        "gemini/acp.plain",
        "gemini/acp.tool",
        "gemini/acp.cancel",
        "opencode/acp.tool",
        "copilot/acp.tool",
        "claude-agent-acp/acp.ask",
        "claude-agent-acp/acp.perm",
    ] {
        let mut session = Session::acp();
        session.replay(&Recording::read(name), host);
        continues_anywhere(name, DialectName::Acp, &mut session.fixture);
    }
}

#[test]
fn claude_session_continues_wherever_its_driver_is_killed() {
    let machine = Machine::speaking(DialectName::Claude, opening(), CLAUDE, 0);
    let mut fixture = Fixture::of(machine);
    fixture.send("u1");
    for line in [
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{}}}"#,
        r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
        r#"{"type":"user","isReplay":true,"uuid":"u1","message":{"role":"user","content":"hello"}}"#,
        ASK,
    ] {
        fixture.agent(line);
    }
    let answer = Command::AnswerPermission {
        request_id: "r1".to_owned(),
        answer: Decision::allow().into(),
        by: Some("page".to_owned()),
        how: None,
    };
    fixture.input(Input::Command(answer, 2));
    fixture.send("u2");
    let interrupt = HostRequest::Interrupt {
        cancel_queued: false,
    };
    fixture.input(Input::Command(Command::Request(interrupt), 3));
    // A request that this host does not serve.
    fixture.agent(r#"{"type":"control_request","request_id":"r2","request":{"subtype":"mcp_message","server_name":"x"}}"#);
    fixture.agent(r#"{"type":"result","subtype":"success","is_error":false,"result":"a","user_message_uuid":"u1"}"#);
    fixture.agent(r#"{"type":"control_request","request_id":"r3","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t2"}}"#);
    assert_eq!(fixture.machine.permissions().open().count(), 1);
    continues_anywhere("claude", DialectName::Claude, &mut fixture);
}

/// The session would take a request with a known id for a repetition, and not write it.
#[test]
fn request_after_recovery_has_an_id_of_its_own() {
    let probe = r#"{"type":"control_request","request_id":"bowline-1000000001","request":{"subtype":"get_binary_version"}}"#;
    let other =
        r#"{"type":"control_request","request_id":"bowline-7","request":{"subtype":"interrupt"}}"#;
    let log = [probe, other].map(|line| LogEntry::Written(format!("{line}\n").into()));
    let mut next = recovered(DialectName::Claude, &log);
    let interrupt = HostRequest::Interrupt {
        cancel_queued: false,
    };
    next.input(Input::Command(Command::Request(interrupt), 1));
    let line = next.lines.last().expect("it is written");
    assert!(line.contains(r#""bowline-8""#), "{line}");
    next.machine.speak(|protocol, link| protocol.probe(link));
    next.drain();
    let line = next.lines.last().expect("it is written");
    assert!(line.contains(r#""bowline-1000000002""#), "{line}");
}

#[test]
fn number_of_another_host_is_not_continued_at_the_end() {
    let ids = [u64::MAX, u64::MAX - 1_000_000_000, 7];
    let line = |id| {
        let line = format!(
            r#"{{"type":"control_request","request_id":"bowline-{id}","request":{{"subtype":"interrupt"}}}}"#
        );
        LogEntry::Written(format!("{line}\n").into())
    };
    let mut next = recovered(DialectName::Claude, &ids.map(line));
    let interrupt = HostRequest::Interrupt {
        cancel_queued: false,
    };
    next.input(Input::Command(Command::Request(interrupt), 1));
    let line = next.lines.last().expect("it is written");
    assert!(line.contains(r#""bowline-8""#), "{line}");
    next.machine.speak(|protocol, link| protocol.probe(link));
    next.drain();
    let line = next.lines.last().expect("it is written");
    assert!(line.contains(r#""bowline-1000000001""#), "{line}");
}

/// A driver whose runner reports the input folds a prompt where that is, as a fold of the log does.
#[test]
fn line_after_recovery_is_folded_where_the_runner_reports_it() {
    for dialect in [DialectName::Claude, DialectName::Codex] {
        let mut session = match dialect {
            DialectName::Codex => opened_codex(),
            _ => Session::new(dialect, opening()),
        };
        let log = std::mem::take(&mut session.fixture.log);
        let mut machine = Machine::recovering(dialect, opening(), LIMITS);
        recover(&mut machine, &log);
        machine.follow_input(0);
        machine.recovered();
        let mut next = Fixture::of(machine);
        next.lines.clear();
        next.send("u1");
        let line = next.lines.pop().expect("it is written");
        let is_accepted = |it: &Fixture| it.replies.iter().any(|(_, reply)| reply.is_ok());
        assert_eq!(prompts(&mut next), [] as [Value; 0], "{dialect}");
        assert!(!is_accepted(&next), "{dialect}");
        let input = Input::HostLines(line.into());
        next.machine
            .handle_arrived(input, next.now, Some(1_700_000_000_000));
        next.drain();
        let [prompt] = &prompts(&mut next)[..] else {
            panic!("{dialect}");
        };
        assert_eq!(prompt["at_ms"], 1_700_000_000_000_u64, "{dialect}");
        assert!(is_accepted(&next), "{dialect}");
    }
}

#[test]
fn answer_after_recovery_is_folded_where_the_runner_reports_it() {
    let mut machine = Machine::recovering(DialectName::Claude, opening(), LIMITS);
    machine.follow_input(0);
    machine.recovered();
    let mut next = Fixture::of(machine);
    next.agent(ASK);
    let answer = Command::AnswerPermission {
        request_id: "r1".to_owned(),
        answer: Decision::allow().into(),
        by: None,
        how: None,
    };
    next.input(Input::Command(answer, 2));
    let state = |it: &mut Fixture| it.schema_2()["permissions"][0].clone();
    assert_eq!(state(&mut next)["state"], "open");
    let line = next.lines.pop().expect("it is written");
    next.machine
        .handle_arrived(Input::HostLines(line.into()), next.now, Some(7));
    next.drain();
    assert_eq!(state(&mut next)["state"], "allowed");
    assert_eq!(state(&mut next)["decided_by"]["at_ms"], 7);
}

/// Otherwise a prompt would be missing from the transcript for good.
#[test]
fn prompt_in_a_gap_of_the_input_is_folded() {
    let mut machine = Machine::recovering(DialectName::Claude, opening(), LIMITS);
    machine.follow_input(0);
    machine.recovered();
    let mut next = Fixture::of(machine);
    next.send("u1");
    next.input(Input::HostGap { to: 500 });
    assert_eq!(next.json()["entries"][0]["kind"], "user");
}
