//! `bowline demo`.

use crate::support::{bowline, json_lines};

#[test]
fn demo_shows_every_feature() {
    let text = bowline(&["demo", "--pace", "0"]).ok();
    let wanted = [
        "── An agent at work",
        "> One of the tests fails.",
        "┊ The failing test",
        "✗ Bash",
        "● Read  src/lib.rs\n● Bash  git log",
        "● Agent  find callers of median\n│ > ",
        "│ ● Agent  check report.rs\n│ │ > ",
        "· api retry: attempt 1 of ",
        "? Edit asks for permission\n  no terminal to ask on; approved by --permission-mode\n? Edit was allowed\n",
        "all four tests pass",
        "✓ done after ",
        "── A second turn in the same process\n\n> And what",
        "✓ done after ",
        "\n\n── No process is left; another agent resumes the conversation\n\n",
        // The line of the session may come before the prompt.
        "> Where were we?",
        "Welcome back.",
        "✓ done after ",
        "What to try next:\n  bowline run ",
    ];
    let mut rest = text.as_str();
    for part in wanted {
        let Some(at) = rest.find(part) else {
            panic!("no {part:?} in its place in\n{text}")
        };
        rest = rest.split_at(at + part.len()).1;
    }
    assert!(!text.contains('\x1b'));
}

#[test]
fn demo_shows_an_abandoned_draft() {
    let text = bowline(&["demo", "--pace", "0.3"]).ok();
    assert!(text.contains("(retracted)\n"), "{text}");
}

#[test]
fn demo_prints_machine_readable_forms() {
    let done = bowline(&["demo", "--pace", "0", "--output", "changes"]);
    let changes = json_lines(&done.stdout);
    assert_eq!(
        done.stderr,
        "  no terminal to ask on; approved by --permission-mode\n"
    );
    let ends = changes.iter().filter(|it| it["status"]["phase"] == "ended");
    assert_eq!(ends.count(), 2, "two sessions");
    let transcripts = bowline(&["demo", "--pace", "0", "--output", "transcript"]).stdout;
    let transcripts: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&transcripts)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(transcripts.len(), 2);
    assert_eq!(transcripts[0]["session_id"], transcripts[1]["session_id"]);
}
