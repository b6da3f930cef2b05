//! Every sequence of a small set of actions.
//!
//! The machine is pure and one task drives it, so the order of its inputs is all that a scheduler can
//! choose. This test runs every order up to a length.

use super::property::{Action, LinkState, Model};

/// Length of the longest sequences, unless [`VARIABLE`] is set.
const DEPTH: usize = 3;

/// Environment variable for another length. Each further action multiplies the time by 22.
const VARIABLE: &str = "BOWLINE_MACHINE_DEPTH";

/// One action of each kind.
fn actions() -> Vec<Action> {
    let lines = [
        r#"{"type":"user","message":{"role":"user","content":"x"},"isReplay":true,"uuid":"u0"}"#,
        r#"{"type":"system","subtype":"init","user_message_uuids":["u0"],"session_id":"s","uuid":"i0"}"#,
        r#"{"type":"assistant","message":{"id":"m0","content":[{"type":"tool_use","id":"t0","name":"Bash","input":{}}]},"uuid":"a0"}"#,
        r#"{"type":"control_request","request_id":"q0","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t0","input":{}}}"#,
        r#"{"type":"control_cancel_request","request_id":"q0"}"#,
        r#"{"type":"result","subtype":"success","user_message_uuid":"u0","uuid":"c0"}"#,
    ];
    let mut actions = vec![
        Action::Send(0),
        Action::Send(1),
        Action::Written(0),
        Action::Unwritten(0),
        Action::Answer(0, true),
        Action::Answer(0, false),
        Action::Interrupt,
        Action::Pause,
        Action::Unpause,
        Action::CancelQueued,
        Action::End,
        Action::Terminate,
        Action::Wait(61),
        Action::Link(LinkState::Down),
        Action::Link(LinkState::Up),
        Action::Link(LinkState::Failed),
        Action::OutputEnded,
    ];
    actions.extend(lines.map(|line| Action::Line(line.to_owned())));
    actions
}

#[test]
fn every_action_sequence_ends_closed() {
    let depth = std::env::var(VARIABLE).ok();
    let depth = depth.map_or(DEPTH, |text| text.parse().expect("a number of actions"));
    let actions = actions();
    for length in 0..=depth {
        run_sequences(&actions, length);
    }
}

fn run_sequences(actions: &[Action], length: usize) {
    let count = actions
        .len()
        .pow(u32::try_from(length).expect("a small number"));
    for number in 0..count {
        let mut rest = number;
        let sequence = (0..length).map(|_| {
            let action = &actions[rest % actions.len()];
            rest /= actions.len();
            action
        });
        let sequence: Vec<_> = sequence.collect();
        let result = std::panic::catch_unwind(|| {
            let mut model = Model::new();
            for action in &sequence {
                model.run((*action).clone());
                model.check();
            }
            model.end();
        });
        assert!(result.is_ok(), "sequence {number} of {count}: {sequence:?}");
    }
}
