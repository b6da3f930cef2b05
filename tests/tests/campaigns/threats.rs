//! Checks that THREATS.md names existing tests and campaigns.

use bowline_tests::campaign::ALL;

use crate::named::{lost_tests, quoted, tests};

const PAGE: &str = include_str!("../../THREATS.md");

#[test]
fn named_tests_exist() {
    let tests = tests(PAGE);
    assert!(tests.len() > 80, "{}", tests.len());
    let lost = lost_tests(&tests);
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn named_campaigns_exist() {
    let lost: Vec<_> = quoted(PAGE)
        .filter_map(|text| text.strip_prefix("cargo stress "))
        .filter(|&name| name != "NAME" && ALL.iter().all(|it| it.name != name))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn every_threat_has_a_test() {
    let rows = PAGE.split("## Agent, tools").nth(1).unwrap_or_default();
    let rows: Vec<_> = rows
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| attempt"))
        .collect();
    assert!(rows.len() > 40, "{}", rows.len());
    let without: Vec<_> = rows
        .iter()
        .filter(|row| tests(row).is_empty() && !row.contains("`cargo stress "))
        .collect();
    assert!(without.is_empty(), "{without:#?}");
}
