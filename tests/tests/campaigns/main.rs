//! Campaigns, each at its test count, with a fixed seed and in its own process.

mod machine;
mod remote;
mod survives;
mod terminal;

use bowline_tests::campaign::ALL;

#[test]
fn every_campaign_is_run_by_a_test() {
    let tests = [
        include_str!("machine.rs"),
        include_str!("remote.rs"),
        include_str!("terminal.rs"),
        include_str!("../real_agent/fire.rs"),
    ]
    .concat();
    for campaign in ALL {
        let call = format!("survives(\"{}\")", campaign.name);
        assert!(tests.contains(&call), "{call} is missing");
    }
}
