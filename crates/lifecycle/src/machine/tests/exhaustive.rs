//! A small world, and everything that can happen in it: each word of so many deeds, in every order.
//!
//! The machine is pure, and one task drives it, so that an order of its inputs is all that a
//! scheduler can choose: these are its schedules, and none of so many steps is left out.

use super::property::{Deed, Link, Trial};

/// Deeds of the longest words, unless [`VARIABLE`] says otherwise.
const DEPTH: usize = 3;

/// The variable with another number of deeds: each more takes 22 times as long.
const VARIABLE: &str = "BOWLINE_MACHINE_DEPTH";

/// One of each: a prompt on its way to its answer, a question, what the host may want, what may
/// become of the link and of the agent.
fn alphabet() -> Vec<Deed> {
    let lines = [
        r#"{"type":"user","message":{"role":"user","content":"x"},"isReplay":true,"uuid":"u0"}"#,
        r#"{"type":"system","subtype":"init","user_message_uuids":["u0"],"session_id":"s","uuid":"i0"}"#,
        r#"{"type":"assistant","message":{"id":"m0","content":[{"type":"tool_use","id":"t0","name":"Bash","input":{}}]},"uuid":"a0"}"#,
        r#"{"type":"control_request","request_id":"q0","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t0","input":{}}}"#,
        r#"{"type":"control_cancel_request","request_id":"q0"}"#,
        r#"{"type":"result","subtype":"success","user_message_uuid":"u0","uuid":"c0"}"#,
    ];
    let mut deeds = vec![
        Deed::Send(0),
        Deed::Send(1),
        Deed::Written(0),
        Deed::Unwritten(0),
        Deed::Answer(0, true),
        Deed::Answer(0, false),
        Deed::Interrupt,
        Deed::Pause,
        Deed::Unpause,
        Deed::CancelHeld,
        Deed::End,
        Deed::Terminate,
        Deed::Wait(61),
        Deed::Link(Link::Down),
        Deed::Link(Link::Up),
        Deed::Link(Link::GivenUp),
        Deed::OutputEnded,
    ];
    deeds.extend(lines.map(|line| Deed::Line(line.to_owned())));
    deeds
}

#[test]
fn every_word_of_the_small_world_ends_and_leaves_nothing_open() {
    let depth = std::env::var(VARIABLE).ok();
    let depth = depth.map_or(DEPTH, |text| text.parse().expect("a number of deeds"));
    let deeds = alphabet();
    for length in 0..=depth {
        words(&deeds, length);
    }
}

fn words(deeds: &[Deed], length: usize) {
    let count = deeds
        .len()
        .pow(u32::try_from(length).expect("a small number"));
    for number in 0..count {
        let mut rest = number;
        let word = (0..length).map(|_| {
            let deed = &deeds[rest % deeds.len()];
            rest /= deeds.len();
            deed
        });
        let word: Vec<_> = word.collect();
        let held = std::panic::catch_unwind(|| {
            let mut trial = Trial::new();
            for deed in &word {
                trial.run((*deed).clone());
                trial.check();
            }
            trial.end();
        });
        assert!(held.is_ok(), "word {number} of {count}: {word:?}");
    }
}
