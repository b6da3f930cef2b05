//! `bowline demo`: the whole story.

use std::time::{Duration, Instant};

use crate::support::{bowline, json_lines};

#[test]
fn the_story_shows_everything() {
    let text = bowline(&["demo", "--pace", "0"]).ok();
    let wanted = [
        "── An agent works",
        "> One of the tests fails.",
        "┊ The failing test",
        "✗ Bash",
        "● Read  src/lib.rs\n● Bash  git log",
        "● Agent  find callers of median\n│ > ",
        "│ ● Agent  check report.rs\n│ │ > ",
        "· api retry: attempt 1 of ",
        "? Edit asks for permission\n  nobody to ask here, so the answer is yes\n? Edit was allowed\n",
        "all four tests pass",
        "✓ done after ",
        "── The second turn, in the same process\n\n> And what",
        "✓ done after ",
        "\n\n── That process left nothing behind; another resumes the conversation\n\n",
        // The agent may name its session before it has the prompt.
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
fn the_story_is_short() {
    let begun = Instant::now();
    let text = bowline(&["demo"]).ok();
    assert!(
        begun.elapsed() < Duration::from_secs(28),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        text.contains("(taken back)\n"),
        "a draft is abandoned: {text}"
    );
}

#[test]
fn programs_get_the_story_too() {
    let done = bowline(&["demo", "--pace", "0", "--output", "changes"]);
    let changes = json_lines(&done.stdout);
    assert_eq!(done.stderr, "  nobody to ask here, so the answer is yes\n");
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
