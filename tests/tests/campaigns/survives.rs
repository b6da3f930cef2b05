//! Runs one campaign at its test count, with a fixed seed and in its own process, and returns its
//! output.

use std::process::Command;

use bowline_tests::campaign::ALL;

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
pub(crate) fn survives(name: &str) -> String {
    let campaign = ALL
        .iter()
        .find(|one| one.name == name)
        .expect("in the list");
    let mut stress = Command::new(env!("CARGO_BIN_EXE_stress"));
    let count = campaign.test_count.to_string();
    stress.args([name, "--seed", "8", "--count", &count, "--clock=report"]);
    let output = stress.output().expect("it can be run");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{printed}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    assert!(printed.contains("violations 0,"), "{printed}{errors}");
    printed
}
