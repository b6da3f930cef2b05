//! A host that comes to an agent which another host has started.

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

/// A host that comes when this much was said; the rest is said to it.
fn comes_after(history: &[String]) -> World {
    let length = history.iter().map(|line| line.len() as u64 + 1).sum();
    let limits = Limits {
        initialize: true,
        ..LIMITS
    };
    let machine = Machine::resuming(limits, 0, length, "salt".to_owned());
    let mut world = World::of(machine);
    for line in history {
        world.agent(line);
    }
    world
}

#[test]
fn an_agent_is_not_registered_with_again_and_owed_what_nobody_answered() {
    let history = [
        request("a"),
        request("b"),
        echo("a"),
        request("c"),
        echo("c"),
    ];
    let world = comes_after(&history);
    let [line] = &world.lines[..] else {
        panic!("{:?}", world.lines);
    };
    assert!(line.contains("\"b\""), "{line}");
}

#[test]
fn what_is_asked_after_the_history_is_answered_at_once() {
    let mut world = comes_after(&[]);
    world.agent(&request("a"));
    assert_eq!(world.lines.len(), 1);
}

#[test]
fn a_history_whose_end_is_gone_is_over_with_the_gap() {
    let machine = Machine::resuming(LIMITS, 0, 1000, String::new());
    let mut world = World::of(machine);
    world.agent(&request("a"));
    assert!(world.lines.is_empty());
    let (from, to) = (100, 1000);
    world.input(Input::OutputGap { from, to });
    assert_eq!(world.lines.len(), 1);
}

#[test]
fn a_permission_that_another_host_has_answered_is_closed() {
    let mut world = comes_after(&[ASK.to_owned(), echo("r1")]);
    let states: Vec<_> = world.permissions.iter().map(|it| it.state).collect();
    assert_eq!(states, [RequestState::Open, RequestState::Answered]);
    world.agent(&ASK.replace("r1", "r2"));
    world.agent(&echo("r2"));
    assert_eq!(
        world.permissions.last().expect("four").state,
        RequestState::Answered
    );
}

#[test]
fn requests_of_two_hosts_have_different_names() {
    let mut world = comes_after(&[echo("bowline-1")]);
    let request = Command::Request(HostRequest::Interrupt {
        cancel_queued: false,
    });
    world.input(Input::Command(request, 5));
    world.agent(&echo("bowline-1"));
    assert!(world.replies.is_empty());
    world.agent(&echo("bowline-salt-1"));
    assert_eq!(world.replies.len(), 1);
}

#[test]
fn nobody_is_late_while_the_link_is_down() {
    let mut world = World::new(LIMITS);
    let request = Command::Request(HostRequest::Interrupt {
        cancel_queued: false,
    });
    world.input(Input::Command(request, 5));
    world.now = Duration::from_secs(50);
    world.input(Input::Connection(ConnectionState::Reconnecting {
        attempt: 1,
    }));
    assert_eq!(world.machine.poll_timeout(), None);
    world.now = Duration::from_secs(500);
    world.input(Input::Timeout);
    world.input(Input::Connection(ConnectionState::Reconnecting {
        attempt: 2,
    }));
    world.now = Duration::from_secs(600);
    world.input(Input::Connection(ConnectionState::Reconnected {
        from: 0,
        gap: 0,
    }));
    assert_eq!(world.machine.poll_timeout(), Some(Duration::from_secs(610)));
    assert!(world.replies.is_empty());
    // A link that is given up answers nothing, and its requests are late as ever.
    let failed = ReconnectFailed {
        failure: ReconnectFailure::Lost,
        detail: String::new(),
    };
    world.input(Input::Connection(ConnectionState::Failed(failed)));
    world.now = Duration::from_secs(610);
    world.input(Input::Timeout);
    assert!(matches!(
        world.replies[..],
        [(5, Err(DialogueError::NoAnswer { .. }))]
    ));
}
