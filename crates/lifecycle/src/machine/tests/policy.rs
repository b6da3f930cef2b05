//! Requests that rules decide on.

use std::slice;

use bowline_reducer::Schema;

use super::*;
use crate::control::ControlEntry;
use crate::intent::Intent;
use crate::policy::Policy;

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/p","permissionMode":"default"}"#;

const LS: &str = "[[rule]]\nname = \"look\"\ndecision = \"allow\"\ncommand = \"ls *\"";

const HOW: &str = "rule \"look\" in p.toml";

fn policy(text: &str) -> Policy {
    Policy::parse(text, "p.toml").expect("a policy")
}

fn with(text: &str) -> Fixture {
    let mut machine = Machine::new(LIMITS, 0);
    machine.set_policy(policy(text), true);
    let mut fixture = Fixture::of(machine);
    fixture.agent(INIT);
    fixture
}

/// The machine of the daemon.
fn driven(text: &str, log: &[LogEntry]) -> Fixture {
    let mut machine = Machine::recovering(DialectName::Claude, Opening::default(), LIMITS);
    machine.set_policy(policy(text), true);
    machine.set_decision_path(DecisionPath::Control);
    recover(&mut machine, log);
    machine.recovered();
    Fixture::of(machine)
}

fn ask(id: &str, tool: &str, input: &str) -> String {
    format!(
        r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"can_use_tool","tool_name":"{tool}","tool_use_id":"t{id}","input":{input}}}}}"#
    )
}

fn decided_by(fixture: &mut Fixture, id: &str) -> serde_json::Value {
    let snapshot = fixture.machine.transcript_mut().snapshot();
    let chunks: Vec<_> = snapshot.json_chunks(Schema::Two).flatten().collect();
    let json: serde_json::Value = serde_json::from_slice(&chunks).expect("JSON");
    let permissions = json["permissions"].as_array().expect("permissions").iter();
    let mut its = permissions.filter(|it| it["request_id"] == id);
    its.next().expect("a request")["decided_by"].clone()
}

fn states(fixture: &Fixture) -> Vec<RequestState> {
    fixture.permissions.iter().map(|it| it.state).collect()
}

#[test]
fn allowed_request_is_answered_and_never_asked() {
    let mut fixture = with(LS);
    fixture.agent(&ask("r1", "Bash", r#"{"command":"ls -l"}"#));
    assert!(
        fixture.lines[0].contains(r#""behavior":"allow""#),
        "{}",
        fixture.lines[0]
    );
    assert!(!fixture.lines[0].contains("updatedPermissions"));
    assert_eq!(states(&fixture), [RequestState::Answered]);
    let record = &fixture.permissions[0];
    assert_eq!(record.answered_by.as_deref(), Some("policy"));
    assert_eq!(record.answered_how.as_deref(), Some(HOW));
    let decided = decided_by(&mut fixture, "r1");
    assert_eq!(
        (&decided["who"], &decided["how"]),
        (&"policy".into(), &HOW.into())
    );
    // A user is asked for the next.
    fixture.agent(&ask("r2", "Bash", r#"{"command":"ls; rm x"}"#));
    assert_eq!(
        states(&fixture),
        [RequestState::Answered, RequestState::Open]
    );
    assert_eq!(fixture.lines.len(), 1);
}

#[test]
fn denial_tells_the_agent_why() {
    let mut fixture =
        with("[[rule]]\ndecision = \"deny\"\ntool = \"edit\"\nmessage = \"look only\"");
    fixture.agent(&ask("r1", "Edit", r#"{"file_path":"/p/a"}"#));
    assert!(
        fixture.lines[0].contains(r#""message":"look only""#),
        "{}",
        fixture.lines[0]
    );
    assert_eq!(fixture.json()["permissions"][0]["state"], "denied");
}

/// No client knows of the denial, so that none can repeat it.
#[test]
fn denial_of_a_rule_that_is_not_written_is_reported() {
    let mut fixture = with("[[rule]]\nname = \"n\"\ndecision = \"deny\"\ntool = \"edit\"");
    fixture.agent(&ask("r1", "Edit", r#"{"file_path":"/p/a"}"#));
    assert_eq!(fixture.errors(), Vec::<String>::new());
    fixture.fail_write(fixture.purpose.clone());
    let wanted = "answer_undelivered: permission request r1 was decided by rule \"n\" in p.toml, but the answer \
                  could not be written to the agent, which may wait for it; end the session";
    assert_eq!(fixture.errors(), [wanted]);
}

#[test]
fn questions_and_plans_are_left_to_the_user() {
    let mut fixture = with("default = \"deny\"\n[[rule]]\ndecision = \"allow\"\ntool = \"*\"");
    fixture.agent(&ask(
        "r1",
        "AskUserQuestion",
        r#"{"questions":[{"question":"Which?","options":[]}]}"#,
    ));
    fixture.agent(&ask("r2", "ExitPlanMode", r#"{"plan":"p"}"#));
    fixture.agent(&ask("r3", "AskUserQuestion", "{}"));
    assert_eq!(
        &states(&fixture)[..2],
        [RequestState::Open, RequestState::Open]
    );
    assert_eq!(
        fixture.lines.len(),
        1,
        "only the call without a question is allowed"
    );
}

#[test]
fn mode_of_the_agent_limits_rules() {
    let mut fixture = with("[[rule]]\ndecision = \"allow\"\ntool = \"*\"");
    fixture
        .agent(r#"{"type":"system","subtype":"status","permissionMode":"plan","session_id":"s"}"#);
    fixture.agent(&ask("r1", "Bash", r#"{"command":"ls"}"#));
    assert_eq!(states(&fixture), [RequestState::Open]);
    fixture.agent(
        r#"{"type":"system","subtype":"status","permissionMode":"default","session_id":"s"}"#,
    );
    fixture.agent(&ask("r2", "Bash", r#"{"command":"ls"}"#));
    assert_eq!(fixture.lines.len(), 1);
}

#[test]
fn request_is_hidden_while_its_paths_are_resolved() {
    let mut fixture = with("[[rule]]\ndecision = \"allow\"\npath = \"src/**\"");
    for (id, found, open) in [("r1", "/p/src/a", 0), ("r2", "/etc/passwd", 1)] {
        fixture.agent(&ask(id, "Read", r#"{"file_path":"src/a"}"#));
        assert!(fixture.permissions.is_empty() && fixture.lines.is_empty());
        assert_eq!(fixture.machine.permissions().iter().count(), 0);
        let (request_id, paths) = fixture.resolutions.pop().expect("paths");
        assert_eq!(paths, ["/p", "/p/src/a"]);
        let resolved = vec![Some("/p".to_owned()), Some(found.to_owned())];
        fixture.input(Input::PathsResolved {
            request_id,
            resolved,
        });
        assert_eq!(fixture.machine.permissions().open().count(), open, "{id}");
        assert_eq!(fixture.lines.len(), 1 - open);
        fixture.lines.clear();
        fixture.permissions.clear();
        fixture.machine.permissions = PermissionStore::default();
    }
}

#[test]
fn withdrawn_request_is_not_decided_later() {
    let mut fixture = with("[[rule]]\ndecision = \"allow\"\npath = \"**\"");
    fixture.agent(&ask("r1", "Read", r#"{"file_path":"a"}"#));
    fixture.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    let (request_id, paths) = fixture.resolutions.pop().expect("paths");
    let resolved = paths.into_iter().map(Some).collect();
    fixture.input(Input::PathsResolved {
        request_id,
        resolved,
    });
    assert_eq!(fixture.lines, Vec::<String>::new());
}

#[test]
fn decision_of_a_daemon_takes_effect_from_the_control_stream() {
    let mut fixture = driven(LS, &[]);
    fixture.agent(INIT);
    fixture.agent(&ask("r1", "Bash", r#"{"command":"ls"}"#));
    assert!(fixture.lines.is_empty() && fixture.permissions.is_empty());
    let line = fixture.decisions.pop().expect("a decision");
    assert_eq!(line.id, "policy:r1");
    let ControlEntry::Intent(intent @ Intent::Answer { .. }) = line.entry else {
        panic!("{line:?}");
    };
    fixture.input(Input::Command(intent.into(), 1));
    assert_eq!(fixture.lines.len(), 1);
    assert_eq!(decided_by(&mut fixture, "r1")["how"], HOW);
}

/// The driver is killed anywhere, and the next one has a policy that would decide otherwise.
#[test]
fn recorded_decision_holds_under_another_policy() {
    let mut fixture = driven(LS, &[]);
    fixture.agent(INIT);
    fixture.agent(&ask("r1", "Bash", r#"{"command":"ls"}"#));
    let decision = fixture.decisions.pop().expect("a decision");
    let ControlEntry::Intent(intent) = decision.entry else {
        panic!("an intent");
    };
    fixture.input(Input::Command(intent.into(), 1));
    let log = std::mem::take(&mut fixture.log);
    let is_intent = |it: &LogEntry| matches!(it, LogEntry::Intent(_));
    let decided_at = log.iter().position(is_intent).expect("an intent");
    let denying = LS.replace("allow", "deny");
    for killed in 0..=log.len() {
        let mut next = driven(&denying, &log[..killed]);
        if killed > decided_at {
            // Its line is written, if it was not, and nothing is decided again.
            assert!(next.decisions.is_empty(), "killed at {killed}");
            assert_eq!(next.lines.len(), log.len() - killed, "killed at {killed}");
            assert_eq!(next.json()["permissions"][0]["state"], "allowed");
            assert_eq!(decided_by(&mut next, "r1")["how"], HOW);
        } else if next.json()["permissions"].get(0).is_some() {
            // The decision was not kept, and the new policy decides.
            let decisions = slice::from_ref(&next.decisions[0]);
            assert!(matches!(
                &decisions[0].entry,
                ControlEntry::Intent(Intent::Answer {
                    answer: PermissionAnswer::Decide(Decision::Deny { .. }),
                    ..
                })
            ));
            assert!(next.lines.is_empty() && next.permissions.is_empty());
        }
    }
}

#[test]
fn answer_that_does_not_fit_shows_the_request() {
    let mut fixture = driven(LS, &[]);
    fixture.agent(INIT);
    fixture.agent(&ask("r1", "Bash", r#"{"command":"ls"}"#));
    let command = Command::AnswerPermission {
        request_id: "r1".into(),
        answer: PermissionAnswer::Option("no such option".into()),
        by: Some("policy".into()),
        how: None,
    };
    fixture.input(Input::Command(command, 1));
    assert_eq!(states(&fixture), [RequestState::Open]);
}
