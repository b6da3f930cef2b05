//! Checks that GUARANTEES.md names existing campaigns, files and tests, and every campaign.

use std::collections::BTreeSet;
use std::path::Path;

use bowline_tests::campaign::ALL;

use crate::named::{lost_tests, quoted, tests};

const PAGE: &str = include_str!("../../GUARANTEES.md");

#[test]
fn page_names_exactly_the_campaigns() {
    let commands = quoted(PAGE).map(|text| text.strip_prefix(".ci/nats ").unwrap_or(text));
    let named: BTreeSet<_> = commands
        .filter_map(|text| text.strip_prefix("cargo stress ")?.split(' ').next())
        .filter(|&name| name != "NAME")
        .collect();
    let campaigns: BTreeSet<_> = ALL.iter().map(|campaign| campaign.name).collect();
    assert_eq!(named, campaigns);
}

#[test]
fn named_files_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files: Vec<_> = quoted(PAGE)
        .filter(|text| text.contains('/') && !text.contains(' '))
        .filter_map(|text| text.split("::").next())
        .collect();
    assert!(files.len() > 20, "{files:?}");
    let lost: Vec<_> = files.iter().filter(|it| !root.join(it).exists()).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn named_tests_exist() {
    let tests = tests(PAGE);
    assert!(tests.len() > 3, "{tests:?}");
    let lost = lost_tests(&tests);
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn every_guarantee_has_a_test() {
    let cells = |row: &'static str| row.split('|').map(str::trim).collect::<Vec<_>>();
    let rows: Vec<_> = PAGE
        .lines()
        .map(cells)
        // Goal, guarantee, limits, test, count of each change, largest run; a row begins and ends with `|`.
        .filter(|cells| cells.len() == 8 && !["goal", "---"].contains(&cells[1]))
        .collect();
    assert!(rows.len() > 50, "{}", rows.len());
    let is_test = |text: &str| {
        let is_command = ["cargo stress ", "cargo bench-", ".ci/"]
            .iter()
            .any(|it| text.starts_with(it));
        is_command || text.contains('/')
    };
    let without: Vec<_> = rows
        .iter()
        .filter(|cells| !quoted(cells[4]).any(is_test))
        .collect();
    assert!(without.is_empty(), "{without:#?}");
}

#[test]
fn every_goal_has_a_row() {
    for goal in 1..=32 {
        let row = format!("\n| G{goal} |");
        assert_eq!(PAGE.matches(&row).count(), 1, "G{goal}");
    }
}
