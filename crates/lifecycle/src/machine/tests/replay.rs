//! Attaching to an agent that another host started.

use bowline_transport::{ConnectionState, ReconnectFailed, ReconnectFailure};

use super::*;

const HOOK: &str =
    r#"{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback"}}"#;

fn request(id: &str) -> String {
    HOOK.replace(r#""h""#, &format!("{id:?}"))
}

fn echo(id: &str) -> String {
    let response = r#"{"subtype":"success","request_id":"ID","response":{"behavior":"allow"}}"#;
    let response = response.replace("ID", id);
    format!(r#"{{"type":"control_response","response":{response}}}"#)
}

/// Attaches to an agent with this history.
fn attached_after(history: &[String]) -> Fixture {
    let length = history.iter().map(|line| line.len() as u64 + 1).sum();
    let limits = Limits {
        initialize: true,
        ..LIMITS
    };
    let machine = Machine::resuming(limits, 0, length, "salt");
    let mut fixture = Fixture::of(machine);
    for line in history {
        fixture.agent(line);
    }
    fixture
}

#[test]
fn attach_sends_only_missing_replies() {
    let history = [
        request("a"),
        request("b"),
        echo("a"),
        request("c"),
        echo("c"),
    ];
    let fixture = attached_after(&history);
    let [line] = &fixture.lines[..] else {
        panic!("{:?}", fixture.lines);
    };
    assert!(line.contains("\"b\""), "{line}");
}

#[test]
fn request_after_history_is_answered() {
    let mut fixture = attached_after(&[]);
    fixture.agent(&request("a"));
    assert_eq!(fixture.lines.len(), 1);
}

#[test]
fn gap_ends_history() {
    let machine = Machine::resuming(LIMITS, 0, 1000, "");
    let mut fixture = Fixture::of(machine);
    fixture.agent(&request("a"));
    assert!(fixture.lines.is_empty());
    let (from, to) = (100, 1000);
    fixture.input(Input::OutputGap { from, to });
    assert_eq!(fixture.lines.len(), 1);
}

#[test]
fn permission_answered_elsewhere_is_closed() {
    let mut fixture = attached_after(&[ASK.to_owned(), echo("r1")]);
    let states: Vec<_> = fixture.permissions.iter().map(|it| it.state).collect();
    assert_eq!(states, [RequestState::Answered]);
    fixture.agent(&ASK.replace("r1", "r2"));
    fixture.agent(&echo("r2"));
    assert_eq!(
        fixture.permissions.last().expect("three").state,
        RequestState::Answered
    );
}

#[test]
fn request_ids_of_two_hosts_differ() {
    let mut fixture = attached_after(&[echo("bowline-1")]);
    let request = Command::Request(HostRequest::Interrupt {
        cancel_queued: false,
    });
    fixture.input(Input::Command(request, 5));
    fixture.agent(&echo("bowline-1"));
    assert!(fixture.replies.is_empty());
    fixture.agent(&echo("bowline-salt-1"));
    assert_eq!(fixture.replies.len(), 1);
}

#[test]
fn deadlines_pause_while_disconnected() {
    let mut fixture = Fixture::new(LIMITS);
    let request = Command::Request(HostRequest::Interrupt {
        cancel_queued: false,
    });
    fixture.input(Input::Command(request, 5));
    fixture.now = Duration::from_secs(50);
    fixture.input(Input::Connection(ConnectionState::Reconnecting {
        attempt: 1,
    }));
    assert_eq!(fixture.machine.poll_timeout(), None);
    fixture.now = Duration::from_secs(500);
    fixture.input(Input::Timeout);
    fixture.input(Input::Connection(ConnectionState::Reconnecting {
        attempt: 2,
    }));
    fixture.now = Duration::from_secs(600);
    fixture.input(Input::Connection(ConnectionState::Reconnected {
        from: 0,
        gap: 0,
    }));
    assert_eq!(
        fixture.machine.poll_timeout(),
        Some(Duration::from_secs(610))
    );
    assert!(fixture.replies.is_empty());
    // After reconnecting has failed, requests time out as usual.
    let failed = ReconnectFailed {
        failure: ReconnectFailure::Lost,
        detail: String::new(),
    };
    fixture.input(Input::Connection(ConnectionState::Failed(failed)));
    fixture.now = Duration::from_secs(610);
    fixture.input(Input::Timeout);
    assert!(matches!(
        fixture.replies[..],
        [(5, Err(DialogueError::NoAnswer { .. }))]
    ));
}

#[test]
fn requests_closed_in_history_are_not_reported() {
    let history = [ASK.to_owned(), echo("r1"), ASK.replace("r1", "r2")];
    let fixture = attached_after(&history);
    let requests = fixture.events.iter().filter_map(|event| match &event.kind {
        DialogueEventKind::PermissionRequest(record)
        | DialogueEventKind::PermissionEnded(record) => Some(record.request_id.as_str()),
        _ => None,
    });
    assert_eq!(requests.collect::<Vec<_>>(), ["r2"]);
    let states = fixture.permissions.iter().map(|it| it.state);
    assert_eq!(
        states.collect::<Vec<_>>(),
        [RequestState::Answered, RequestState::Open]
    );
}

#[test]
fn failed_connection_refuses_prompts_answers_and_requests() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    let failed = ReconnectFailed {
        failure: ReconnectFailure::Fenced,
        detail: String::new(),
    };
    fixture.input(Input::Connection(ConnectionState::Failed(failed)));
    let answer = || Command::AnswerPermission {
        request_id: "r1".to_owned(),
        answer: Decision::allow().into(),
        by: None,
        how: None,
    };
    let interrupt = Command::Request(HostRequest::Interrupt {
        cancel_queued: false,
    });
    fixture.send("u1");
    fixture.input(Input::Command(answer(), 2));
    fixture.input(Input::Command(interrupt, 3));
    assert!(fixture.lines.is_empty(), "{:?}", fixture.lines);
    let refused = fixture.replies.iter().filter(|(_, reply)| reply.is_err());
    assert_eq!(refused.count(), 3, "{:?}", fixture.replies);
    // A retry that succeeds takes the session back.
    fixture.input(Input::Connection(ConnectionState::Reconnected {
        from: 0,
        gap: 0,
    }));
    fixture.send("u1");
    fixture.input(Input::Command(answer(), 4));
    assert_eq!(fixture.lines.len(), 2);
}
