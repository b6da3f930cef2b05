//! The real agent while it is cut, killed, stopped and full: the campaign at its first number.

use std::process::Command;

use bowline_tests::campaign::ALL;
use bowline_tests::real_agent::Agent;

#[test]
fn the_story_is_told_under_fire() {
    if Agent::for_test().is_none() {
        return;
    }
    let campaign = ALL.iter().find(|one| one.name == "real-agent");
    let count = campaign.expect("in the list").first.to_string();
    let mut stress = Command::new(env!("CARGO_BIN_EXE_stress"));
    stress.args(["real-agent", "--seed", "8", "--count", &count]);
    let output = stress.output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?} {said}");
    let all = format!("count {count}, violations 0,");
    assert!(said.contains(&all) && !said.contains("skipped"), "{said}");
}
