//! The `real-agent` campaign at its test count.

use bowline_tests::real_agent::Agent;

use crate::survives::survives;

#[test]
fn real_agent_survives_disturbances() {
    if Agent::for_test().is_some() {
        let printed = survives("real-agent");
        assert!(!printed.contains("skipped"), "{printed}");
    }
}
