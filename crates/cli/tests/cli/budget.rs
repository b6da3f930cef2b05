//! `bowline run` with limits.

use crate::support::{ScriptedAgent, json};

const ASKS: &str = r#"
[[turn]]
result = { cost_usd = 0.5 }
steps = [ { text = "Done." } ]
"#;

#[test]
fn limit_is_asked_about_and_shown() {
    let agent = ScriptedAgent::new(ASKS);
    let run = agent.run(&[
        "--max-cost",
        "0.25",
        "--max-time",
        "30m",
        "--output",
        "transcript",
        "go",
    ]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("cost limit of 0.25 USD"), "{run:?}");
    let transcript = json(&run.stdout);
    let request = &transcript["permissions"][0];
    assert_eq!(request["tool_name"], "budget", "{transcript:#}");
    assert_eq!(request["kind"], "question");
    let text = request["questions"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("paused: cost limit of 0.25 USD reached (0.50)"),
        "{text}"
    );
    assert_eq!(request["state"], "denied", "the session was ended");
}

#[test]
fn bad_limits_are_refused() {
    let agent = ScriptedAgent::new(ASKS);
    let time = agent.run(&["--max-time", "soon", "go"]);
    assert_eq!(time.code, Some(2));
    assert!(time.stderr.contains("write 90s, 30m or 1h"), "{time:?}");
    let cost = agent.run(&["--max-cost", "0", "go"]);
    assert_ne!(cost.code, Some(0));
    assert!(
        cost.stderr.contains("a limit of a budget is not above 0"),
        "{cost:?}"
    );
    let unknown = agent.run(&["--dialect", "codex", "--max-cost", "1", "go"]);
    assert!(unknown.stderr.contains("codex"), "{unknown:?}");
    assert!(
        unknown.stderr.contains("a limit of the cost"),
        "{unknown:?}"
    );
}
