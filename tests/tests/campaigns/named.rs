//! Tests that a page names.

use std::path::Path;

/// Texts of a page between backquotes.
pub(crate) fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

/// Tests of a page: `FILE::NAME`.
pub(crate) fn tests(page: &str) -> Vec<(&str, &str)> {
    quoted(page)
        .filter_map(|text| text.split_once("::"))
        .filter(|(file, _)| file.contains('/'))
        .collect()
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

/// Returns those of the tests that do not exist.
pub(crate) fn lost_tests<'a>(tests: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_lost = |(file, name): &&(&str, &str)| {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        !has_test(file, &source, name)
    };
    tests.iter().filter(is_lost).copied().collect()
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
