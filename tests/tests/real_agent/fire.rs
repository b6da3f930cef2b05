//! The real agent while it is cut, killed, stopped and full: the campaign at its first number.

use bowline_tests::real_agent::Agent;

use crate::survives::survives;

#[test]
fn the_story_is_told_under_fire() {
    if Agent::for_test().is_some() {
        let said = survives("real-agent");
        assert!(!said.contains("skipped"), "{said}");
    }
}
