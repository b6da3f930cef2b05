//! The machine under a clock of our own.

mod exhaustive;
mod permissions;
mod prompts;
mod property;
mod replay;
mod told;
mod watch;

use bowline_jsonl::Prompt;
use bowline_transport::{Drained, Exit, ExitStatus, Vitals};

use super::*;
use crate::events::Told;
use crate::permission::PermissionRecord;
use crate::watchdog::WatchdogConfiguration;

const LIMITS: Limits = Limits {
    max_line: 1 << 20,
    window: None,
    stderr_bytes: 64,
    control_timeout: Duration::from_secs(60),
    end_grace: Duration::from_secs(30),
    initialize: false,
    watchdog: NO_WATCHDOG,
};

const NO_WATCHDOG: WatchdogConfiguration = WatchdogConfiguration {
    check: Duration::from_secs(10),
    inquiry: None,
    permission: None,
    limits: crate::watchdog::PhaseLimits {
        starting: None,
        model: None,
        tool: None,
        background: None,
        post_result: None,
        draining: Some(Duration::from_secs(5)),
    },
};

/// A machine, the time, and what it has wanted so far.
struct World {
    machine: Machine,
    now: Duration,
    lines: Vec<String>,
    replies: Vec<(Ticket, Result<Reply, DialogueError>)>,
    receipts: Vec<(String, ReceiptState)>,
    told: Vec<Told>,
    permissions: Vec<std::sync::Arc<PermissionRecord>>,
    /// What the agent's processes have used, as the next look finds it.
    vitals: Option<Vitals>,
    looks: usize,
    terminations: usize,
    closed_input: bool,
    is_finished: bool,
}

impl World {
    fn new(limits: Limits) -> Self {
        Self::of(Machine::new(limits, 0))
    }

    fn of(machine: Machine) -> Self {
        let mut world = Self {
            machine,
            now: Duration::ZERO,
            lines: Vec::new(),
            replies: Vec::new(),
            receipts: Vec::new(),
            told: Vec::new(),
            permissions: Vec::new(),
            vitals: None,
            looks: 0,
            terminations: 0,
            closed_input: false,
            is_finished: false,
        };
        world.machine.set_heard(true);
        world.drain();
        world
    }

    fn input(&mut self, input: Input) {
        self.machine.handle_input(input, self.now);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Write { line, .. } => {
                    self.lines
                        .push(String::from_utf8(line.to_vec()).expect("lines are UTF-8"));
                }
                Output::Reply { ticket, reply } => self.replies.push((ticket, reply)),
                Output::Receipt { uuid, state } => self.receipts.push((uuid, state)),
                Output::Told(told) => self.told.push(told),
                Output::Permission(record) => self.permissions.push(record),
                Output::TurnEnded => {}
                Output::Vitals => {
                    self.looks += 1;
                    self.machine
                        .handle_input(Input::Vitals(self.vitals), self.now);
                }
                Output::CloseInput => self.closed_input = true,
                Output::Terminate => self.terminations += 1,
                Output::Finished => self.is_finished = true,
            }
        }
    }

    fn agent(&mut self, line: &str) {
        self.input(Input::Output(format!("{line}\n").into()));
    }

    fn send(&mut self, uuid: &str) {
        let prompt = Prompt {
            uuid: Some(uuid.to_owned()),
            ..Prompt::text("hello")
        };
        self.input(Input::Command(Command::Send(prompt), 1));
    }

    fn exit(&mut self, code: i32) {
        let status = ExitStatus::Code(code);
        let exit = Exit {
            status,
            oom: false,
            drained: Drained::Clean,
            output_end: 0,
            errors_end: 0,
        };
        self.input(Input::Exited(exit));
    }

    /// The last line could not be written.
    fn lose(&mut self, carried: Carried) {
        let line = self.lines.last().cloned().unwrap_or_default().into();
        self.input(Input::WriteFailed { line, carried });
    }

    /// Jumps to the next deadline; there must be one.
    fn step(&mut self) -> Duration {
        self.now = self.machine.poll_timeout().expect("a deadline");
        self.input(Input::Timeout);
        self.now
    }

    fn states(&self, uuid: &str) -> Vec<ReceiptState> {
        self.receipts
            .iter()
            .filter(|(id, _)| id == uuid)
            .map(|(_, state)| *state)
            .collect()
    }

    fn json(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.machine.transcript().to_json()).expect("JSON")
    }

    fn errors(&mut self) -> Vec<String> {
        let json = self.json();
        let entries = json["entries"].as_array().expect("entries").iter();
        let errors = entries.filter(|entry| entry["kind"] == "error");
        errors
            .map(|it| format!("{}: {}", it["error"], it["text"]).replace('"', ""))
            .collect()
    }
}

#[test]
fn a_receipt_follows_its_prompt() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    assert!(world.lines[0].contains(r#""uuid":"u1""#));
    world.input(Input::Written("u1".into()));
    world.agent(r#"{"type":"command_lifecycle","command_uuid":"u1","state":"queued","uuid":"a"}"#);
    world.agent(r#"{"type":"command_lifecycle","command_uuid":"u1","state":"started","uuid":"b"}"#);
    world.agent(r#"{"type":"user","message":{"role":"user","content":"hello"},"isReplay":true,"uuid":"u1"}"#);
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    use ReceiptState::{Accepted, Answered, Started, Written};
    assert_eq!(world.states("u1"), [Accepted, Written, Started, Answered]);
}

/// The session lives on: at a runner, another host may have had the lease for a while.
#[test]
fn a_prompt_that_may_not_have_arrived_is_unknown() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.send("u2");
    world.lose(Carried::Prompt("u1".into()));
    world.lose(Carried::Other);
    use ReceiptState::{Accepted, Unknown};
    assert_eq!(world.states("u1"), [Accepted, Unknown]);
    assert_eq!(world.states("u2"), [Accepted]);
    // Even if it had: who was told so stays told so.
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    assert_eq!(world.states("u1"), [Accepted, Unknown]);
}

#[test]
fn prompts_that_share_a_turn_are_merged_into_the_last() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.send("u2");
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","user_message_uuids":["u1","u2"],"uuid":"c"}"#);
    assert_eq!(world.states("u1").last(), Some(&ReceiptState::Merged));
    assert_eq!(world.states("u2").last(), Some(&ReceiptState::Answered));
}

#[test]
fn a_result_of_an_unasked_turn_answers_nobody() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.agent(
        r#"{"type":"result","subtype":"success","origin":{"kind":"task-notification"},"uuid":"c"}"#,
    );
    assert_eq!(world.states("u1"), [ReceiptState::Accepted]);
}

#[test]
fn results_that_name_no_prompt_answer_the_oldest() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.send("u2");
    for (uuid, result) in [("u1", "a"), ("u2", "b")] {
        world.agent(&format!(
            r#"{{"type":"result","subtype":"success","uuid":"{result}"}}"#
        ));
        assert_eq!(world.states(uuid).last(), Some(&ReceiptState::Answered));
    }
}

#[test]
fn a_uuid_is_sent_once() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.send("u1");
    let (_, second) = world.replies.last().expect("a reply");
    assert_eq!(
        second,
        &Err(DialogueError::DuplicateUuid { uuid: "u1".into() })
    );
    assert_eq!(world.lines.len(), 1);
}

const ASK: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"ls"}}}"#;

fn answer(world: &mut World, decision: Decision) -> Result<Reply, DialogueError> {
    let command = Command::Answer {
        request_id: "r1".into(),
        answer: decision.into(),
        by: None,
    };
    world.input(Input::Command(command, 9));
    world.replies.pop().expect("a reply").1
}

#[test]
fn the_first_answer_to_a_permission_counts() {
    let mut world = World::new(LIMITS);
    assert!(matches!(
        answer(&mut world, Decision::allow()),
        Err(DialogueError::NoSuchRequest { .. })
    ));
    world.agent(ASK);
    assert_eq!(world.json()["status"]["phase"], "awaiting_permission");
    assert_eq!(answer(&mut world, Decision::allow()), Ok(Reply::Done));
    assert!(
        world.lines[0].contains(r#""updatedInput":{"command":"ls"}"#),
        "{}",
        world.lines[0]
    );
    assert!(matches!(
        answer(&mut world, Decision::deny("no")),
        Err(DialogueError::TooLate { .. })
    ));
    assert_eq!(world.lines.len(), 1);
}

#[test]
fn a_permission_can_be_withdrawn_or_orphaned() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    world.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    assert!(matches!(
        answer(&mut world, Decision::allow()),
        Err(DialogueError::TooLate { .. })
    ));
    world.agent(&ASK.replace("r1", "r2"));
    world.exit(0);
    assert_eq!(world.json()["permissions"][1]["state"], "orphaned");
    assert_eq!(
        answer(&mut world, Decision::allow()),
        Err(DialogueError::Ended)
    );
}

#[test]
fn what_would_break_the_line_is_refused_and_leaves_the_question_open() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    for bad in ["{", "[]", "7"] {
        let decision = Decision::Allow {
            updated_input: Some(bad.into()),
            updated_permissions: None,
        };
        assert!(
            matches!(
                answer(&mut world, decision),
                Err(DialogueError::NotJson { .. })
            ),
            "{bad}"
        );
    }
    let spread = "{\n  \"command\": \"pwd\"\n}".to_owned();
    let decision = Decision::Allow {
        updated_input: Some(spread),
        updated_permissions: None,
    };
    assert_eq!(answer(&mut world, decision), Ok(Reply::Done));
    assert_eq!(world.lines[0].matches('\n').count(), 1);
    assert!(world.lines[0].contains(r#""updatedInput":{"command":"pwd"}"#));
}

#[test]
fn questions_that_this_host_does_not_serve_are_refused_at_once() {
    let mut world = World::new(LIMITS);
    for (request, wanted) in [
        (
            r#"{"subtype":"mcp_message","server_name":"x"}"#,
            "no MCP server x",
        ),
        (r#"{"subtype":"something_new"}"#, "unsupported_request"),
        (
            r#"{"subtype":"hook_callback","callback_id":"h"}"#,
            r#""response":{}"#,
        ),
    ] {
        world.agent(&format!(
            r#"{{"type":"control_request","request_id":"q","request":{request}}}"#
        ));
        let line = world.lines.pop().expect("an answer");
        assert!(
            line.contains(wanted) && line.contains(r#""request_id":"q""#),
            "{line}"
        );
    }
    world.agent(r#"{"type":"control_request","request_id":"q","request":{"subtype":"request_user_dialog"}}"#);
    assert_eq!(world.lines, Vec::<String>::new());
}

fn request(world: &mut World, ticket: Ticket) {
    let request = HostRequest::SetModel { model: None };
    world.input(Input::Command(Command::Request(request), ticket));
}

#[test]
fn requests_are_answered_refused_or_given_up() {
    let mut world = World::new(LIMITS);
    for ticket in 1..=4 {
        request(&mut world, ticket);
    }
    // Out of order, and beside an echo of the host's own answer to the agent.
    world
        .agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}"#);
    world.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-2","error":"no","error_code":"c"}}"#);
    world.agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{"model":"m"}}}"#);
    assert_eq!(
        world.replies[1],
        (1, Ok(Reply::Answer(r#"{"model":"m"}"#.into())))
    );
    assert!(
        matches!(&world.replies[0], (2, Err(DialogueError::Refused { code: Some(c), .. })) if c == "c")
    );
    assert_eq!(world.step(), LIMITS.control_timeout);
    assert!(matches!(
        world.replies[2],
        (3, Err(DialogueError::NoAnswer { seconds: 60, .. }))
    ));
    assert_eq!(world.replies.len(), 4);
    request(&mut world, 5);
    world.exit(0);
    assert_eq!(world.replies[4], (5, Err(DialogueError::Ended)));
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn an_exit_that_nobody_asked_for_is_in_the_transcript() {
    for code in [0, 1] {
        let mut world = World::new(LIMITS);
        world.send("u1");
        world.input(Input::Errors("warning\nout of cheese\n".into()));
        world.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"uuid":"a"}"#);
        world.exit(code);
        assert_eq!(
            world.errors(),
            [format!(
                "unexpected_exit: the process ended unexpectedly: exit code {code}: out of cheese"
            )]
        );
        assert_eq!(world.json()["tool_calls"]["t"]["state"], "lost");
        assert_eq!(world.states("u1").last(), Some(&ReceiptState::Unknown));
        assert!(world.is_finished);
        assert!(!world.machine.ending().0);
    }
}

#[test]
fn an_end_waits_for_the_open_turn_and_then_asks() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.input(Input::Command(Command::End, 2));
    assert_eq!(world.lines.len(), 1, "the prompt is not answered yet");
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert!(world.lines[1].contains("end_session"));
    world.exit(0);
    assert_eq!(world.errors(), Vec::<String>::new());
    assert_eq!(world.machine.ending(), (true, "exit code 0".into()));
}

#[test]
fn an_exit_in_the_turn_that_an_end_waits_for_is_unexpected() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.input(Input::Command(Command::End, 2));
    world.exit(3);
    assert_eq!(world.errors().len(), 1);
    assert!(!world.machine.ending().0);
}

#[test]
fn nothing_is_sent_to_an_agent_that_was_told_to_go() {
    let mut world = World::new(LIMITS);
    world.input(Input::Command(Command::Terminate, 1));
    world.send("u1");
    assert_eq!(
        world.replies.last().map(|it| &it.1),
        Some(&Err(DialogueError::Ended))
    );
    assert_eq!(world.lines, Vec::<String>::new());
}

#[test]
fn an_agent_that_cannot_be_asked_gets_the_end_of_its_input() {
    let mut world = World::new(LIMITS);
    world.input(Input::Command(Command::End, 2));
    world.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-1","error":"unsupported"}}"#);
    assert!(world.closed_input);
}

#[test]
fn an_end_that_takes_too_long_becomes_a_termination() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.input(Input::Command(Command::End, 2));
    assert_eq!(world.step(), LIMITS.end_grace);
    assert_eq!(world.terminations, 1);
    world.exit(143);
    assert_eq!(world.errors(), Vec::<String>::new());
}

#[test]
fn terminate_is_idempotent_and_expected() {
    let mut world = World::new(LIMITS);
    for ticket in 1..=3 {
        world.input(Input::Command(Command::Terminate, ticket));
    }
    assert_eq!(world.terminations, 1);
    world.exit(1);
    world.exit(1);
    world.input(Input::Command(Command::Terminate, 4));
    assert_eq!(world.replies.len(), 4);
    assert!(world.machine.ending().0);
    assert_eq!(world.errors(), Vec::<String>::new());
}

#[test]
fn an_agent_that_closes_its_output_and_lives_is_ended() {
    let mut world = World::new(LIMITS);
    world.input(Input::OutputEnded);
    assert_eq!(Some(world.step()), LIMITS.watchdog.limits.draining);
    assert_eq!(world.terminations, 1);
    world.exit(143);
    let wanted = "unexpected_exit: the process ended unexpectedly: exit code 143 after it had \
                  closed its output and did not exit";
    assert_eq!(world.errors(), [wanted]);
}

#[test]
fn an_agent_that_does_not_read_is_reported() {
    let mut world = World::new(Limits {
        initialize: true,
        ..LIMITS
    });
    assert!(world.lines[0].contains("initialize"));
    world.step();
    let wanted = "session_timeout: the agent did not answer `initialize` within 60 s";
    assert_eq!(world.errors(), [wanted]);
    assert_eq!(world.terminations, 0, "the host decides");
}

#[test]
fn cut_lines_and_gaps_are_told() {
    let mut world = World::new(LIMITS);
    world.input(Input::Output("{\"type\":\"assis".into()));
    world.input(Input::OutputGap { from: 14, to: 60 });
    world.agent("tant\"}");
    world.input(Input::Output("{\"type\":\"us".into()));
    world.input(Input::Command(Command::Terminate, 1));
    world.exit(143);
    let errors = world.errors();
    let kinds: Vec<_> = errors
        .iter()
        .filter_map(|it| it.split(':').next())
        .collect();
    assert_eq!(
        kinds,
        ["truncated", "gap", "parse", "truncated"],
        "{errors:?}"
    );
    assert_eq!(world.json()["stats"]["truncated"], true);
}
