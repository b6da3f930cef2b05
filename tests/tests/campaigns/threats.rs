//! Checks that THREATS.md names existing tests and campaigns.

use std::path::Path;

use bowline_tests::campaign::ALL;

const PAGE: &str = include_str!("../../THREATS.md");

/// Tests of the page: `FILE::NAME`.
fn tests(page: &str) -> Vec<(&str, &str)> {
    quoted(page)
        .filter_map(|text| text.split_once("::"))
        .filter(|(file, _)| file.contains('/'))
        .collect()
}

/// Texts of the page between backquotes.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

/// Returns whether `source`, of a file of that name, has a test of that name.
fn has_test(file: &str, source: &str, name: &str) -> bool {
    if !file.ends_with(".rs") {
        return source.contains(&format!("test(\"{name}\""));
    }
    let is_test = |head: &str| head.contains("#[test]") || head.contains("#[tokio::test");
    // The attribute is among the lines directly above.
    source.match_indices(&format!("fn {name}(")).any(|(at, _)| {
        is_test(
            source
                .get(..at)
                .unwrap_or_default()
                .rsplit("\n\n")
                .next()
                .unwrap_or_default(),
        )
    })
}

#[test]
fn named_tests_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tests = tests(PAGE);
    assert!(tests.len() > 80, "{}", tests.len());
    let lost: Vec<_> = tests
        .iter()
        .filter(|(file, name)| {
            let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            !has_test(file, &source, name)
        })
        .collect();
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

#[test]
fn missing_test_is_found() {
    let source = "#[test]\nfn a() {}\n\nfn b() {}\n";
    assert!(has_test("x/y.rs", source, "a"));
    assert!(!has_test("x/y.rs", source, "b"));
    assert!(!has_test("x/y.rs", source, "c"));
    assert!(has_test("x/y.ts", "test(\"a b\", () => {})", "a b"));
    assert!(!has_test("x/y.ts", "test(\"a b\", () => {})", "a"));
}
