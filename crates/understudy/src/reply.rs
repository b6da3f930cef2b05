//! The reply to a prompt without a turn in the scenario: a short text or a built-in command.

use serde_json::json;

use crate::scenario::{Agent, ApiFailure, ApiRetry, Hang, Step, Text, Tool};

/// Returns the steps for a prompt. `--help` lists the commands.
pub(crate) fn reply(prompt: &str) -> Vec<Step> {
    let prompt = prompt.trim();
    let (command, rest) = prompt
        .split_once(char::is_whitespace)
        .unwrap_or((prompt, ""));
    let rest = rest.trim();
    match command {
        "/tool" => with_texts(bash(rest, "done\n")),
        "/fail" => with_texts(Tool {
            is_error: true,
            ..bash(rest, "Exit code 1\nnot found")
        }),
        "/ask" => with_texts(Tool {
            ask: true,
            ..bash(rest, "ran: {{input.command}}")
        }),
        "/sleep" => with_texts(Tool {
            duration_ms: seconds(rest),
            ..bash("sleep", "slept")
        }),
        "/agent" => vec![
            Step::Agent(agent(rest, false)),
            Step::text("The agent has reported."),
        ],
        "/background" => vec![
            Step::Agent(agent(rest, true)),
            Step::text("It is under way."),
        ],
        "/think" => vec![
            Step::Thinking(Text::Plain(rest.to_owned())),
            Step::text("I thought."),
        ],
        "/retry" => vec![retry(), Step::text("The second attempt came through.")],
        "/error" => vec![Step::Fail(ApiFailure::default())],
        "/lines" => vec![lines(rest.parse().unwrap_or(10))],
        "/big" => vec![undelayed(format!("{{{{fill:{rest}}}}}"), 4096)],
        "/clear" => vec![Step::Clear(true)],
        "/hang" => vec![Step::Hang(Hang::default())],
        "/exit" => vec![Step::Exit(rest.parse().unwrap_or(0))],
        _ => vec![Step::text(format!("You said: {prompt}"))],
    }
}

fn with_texts(tool: Tool) -> Vec<Step> {
    vec![
        Step::text("I will run a command."),
        Step::Tool(tool),
        Step::text("The command is over."),
    ]
}

fn bash(command: &str, result: &str) -> Tool {
    Tool::new(
        "Bash",
        json!({"command": command, "description": "Run a command"}),
        result,
    )
}

fn agent(task: &str, background: bool) -> Agent {
    let inner = Agent {
        description: "second pair of eyes".to_owned(),
        prompt: format!("Check: {task}"),
        steps: vec![
            Step::tool("Read", json!({"file_path": "README.md"}), "1\thello\n"),
            Step::text("Checked."),
        ],
        ..Agent::default()
    };
    Agent {
        description: "built-in agent".to_owned(),
        prompt: task.to_owned(),
        background,
        steps: vec![
            Step::text("Looking."),
            Step::Tool(bash("ls", "README.md")),
            Step::Agent(inner),
            Step::text(format!("Report: {task} is done.")),
        ],
        ..Agent::default()
    }
}

fn retry() -> Step {
    Step::ApiRetry(ApiRetry {
        draft: Some("The first attempt breaks of".to_owned()),
        ..ApiRetry::default()
    })
}

fn lines(count: usize) -> Step {
    let text: String = (0..count).map(|line| format!("line {line:06}\n")).collect();
    undelayed(text, 12)
}

fn undelayed(text: String, delta: usize) -> Step {
    Step::Text(Text::Paced {
        text,
        delta,
        delta_ms: 0,
    })
}

fn seconds(text: &str) -> u64 {
    text.parse::<u64>().unwrap_or(1).saturating_mul(1000)
}
