//! Checks that GUARANTEES.md names existing campaigns and files, and every campaign.

use std::collections::BTreeSet;
use std::path::Path;

use bowline_tests::campaign::ALL;

const PAGE: &str = include_str!("../../GUARANTEES.md");

/// Texts of the page between backquotes.
fn quoted() -> impl Iterator<Item = &'static str> {
    PAGE.split('`').skip(1).step_by(2)
}

#[test]
fn page_names_exactly_the_campaigns() {
    let commands = quoted().map(|text| text.strip_prefix(".ci/nats ").unwrap_or(text));
    let named: BTreeSet<_> = commands
        .filter_map(|text| text.strip_prefix("cargo stress ")?.split(' ').next())
        .filter(|&name| name != "NAME")
        // Without the feature, the campaigns with NATS servers are not compiled.
        .filter(|name| cfg!(feature = "fleet") || !name.starts_with("fleet-"))
        .collect();
    let campaigns: BTreeSet<_> = ALL.iter().map(|campaign| campaign.name).collect();
    assert_eq!(named, campaigns);
}

#[test]
fn named_files_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files: Vec<_> = quoted()
        .filter(|text| text.contains('/') && !text.contains(' '))
        .collect();
    assert!(files.len() > 20, "{files:?}");
    let lost: Vec<_> = files.iter().filter(|it| !root.join(it).exists()).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn every_goal_has_a_row() {
    for goal in 1..=32 {
        let row = format!("\n| G{goal} |");
        assert_eq!(PAGE.matches(&row).count(), 1, "G{goal}");
    }
}
