//! Ready-made conversations for the real CLI: what the model says, and what the host must do.
//!
//! Every tool call has a fixed id (the `*_CALL` constants), so a test finds its result, or its
//! sub-agent's lines, by name.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, ApiError, Block, Lanes, RIG_PORT, Reply};

/// One conversation: the script for the model, and the host's part of it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What the model answers.
    pub script: Lanes,
    /// What the user says, in order; more than one only where the doc comment says when.
    pub prompts: Vec<&'static str>,
    /// Arguments that the CLI needs besides those of a stream-json session.
    pub args: Vec<&'static str>,
}

impl Scenario {
    fn new(script: Lanes, prompt: &'static str, args: &[&'static str]) -> Self {
        Self {
            script,
            prompts: vec![prompt],
            args: args.to_vec(),
        }
    }
}

/// The one text of [`plain`], [`partial`] and the second turn of [`interruptible`].
pub const PLAIN_TEXT: &str = "All systems are in order. Nothing else needs to be done here.";
/// The gate that a held stream stops at.
pub const STREAM_GATE: &str = "stream";
/// The gate that a held tool waits at.
pub const TOOL_GATE: &str = "tool";
/// The id of the only tool call of a scenario.
pub const TOOL_CALL: &str = "toolu_only";
/// The ids of the four tool calls of [`parallel_tools`].
pub const PARALLEL_CALLS: [&str; 4] = ["toolu_p1", "toolu_p2", "toolu_p3", "toolu_p4"];
/// The id of the main thread's `Agent` call.
pub const AGENT_CALL: &str = "toolu_outer";
/// The id of the `Agent` call that the first sub-agent makes.
pub const NESTED_CALL: &str = "toolu_inner";
/// The id of the `Bash` call that the innermost sub-agent makes.
pub const AGENT_BASH_CALL: &str = "toolu_agent_bash";

const BASH_ALLOWED: &[&str] = &["--allowedTools", "Bash"];
const PARTIAL: &[&str] = &["--include-partial-messages"];
const FORWARD: &[&str] = &["--allowedTools", "Bash", "--forward-subagent-text"];

/// One turn of one text. No flags.
#[must_use]
pub fn plain() -> Scenario {
    Scenario::new(Lanes::main([Reply::text(PLAIN_TEXT)]), "say something", &[])
}

/// Thinking, then text, in small deltas. Needs `--include-partial-messages`.
#[must_use]
pub fn partial() -> Scenario {
    let blocks = [
        Block::Thinking("Nothing to weigh up.".to_owned()),
        Block::text(PLAIN_TEXT),
    ];
    let reply = Reply::new(blocks).in_chunks(8, Duration::ZERO);
    Scenario::new(Lanes::main([reply]), "think, then say something", PARTIAL)
}

/// A text of so many lines, in deltas of twelve characters that are cut anywhere. Needs
/// `--include-partial-messages`.
#[must_use]
pub fn at_length(lines: usize, pace: Duration) -> Scenario {
    let lines = (0..lines).map(|number| format!("Line {number} of a long answer, é and 🪢.\n"));
    let reply = Reply::text(lines.collect::<String>()).in_chunks(12, pace);
    Scenario::new(Lanes::main([reply]), "tell it at length", PARTIAL)
}

/// One `Bash` call that prints `one-tool`, then a text. Needs `--allowedTools Bash`.
#[must_use]
pub fn one_tool() -> Scenario {
    let replies = [
        bash(TOOL_CALL, "echo one-tool"),
        Reply::text("It printed one-tool."),
    ];
    Scenario::new(Lanes::main(replies), "print one-tool", BASH_ALLOWED)
}

/// Four `Bash` calls in one message, printing `p1` to `p4`. Needs `--allowedTools Bash`.
#[must_use]
pub fn parallel_tools() -> Scenario {
    let calls = PARALLEL_CALLS
        .map(|id| bash_block(id, &format!("echo {}", id.trim_start_matches("toolu_"))));
    let replies = [Reply::new(calls), Reply::text("All four are done.")];
    Scenario::new(Lanes::main(replies), "print p1 to p4", BASH_ALLOWED)
}

/// A foreground sub-agent that starts another, which runs `Bash`.
///
/// Needs `--allowedTools Bash`; with `--forward-subagent-text`, as here, the inner agent's lines
/// come too, under the id of the inner call. Without it only `task_*` events speak of it.
#[must_use]
pub fn nested_agents() -> Scenario {
    let script = Lanes::main([
        foreground(AGENT_CALL, OUTER_PROMPT),
        Reply::text("Both are back."),
    ])
    .agent(
        OUTER_PROMPT,
        [
            foreground(NESTED_CALL, INNER_PROMPT),
            Reply::text("Outer report."),
        ],
    )
    .agent(INNER_PROMPT, inner_replies());
    Scenario::new(script, "survey the project", FORWARD)
}

/// A sub-agent in the background, the default; the main thread answers first, then gets a turn
/// of its own for the news.
///
/// Needs `--allowedTools Bash`. The sub-agent's last answer waits at [`STREAM_GATE`]: open it once
/// the first result is there. With stdin at its end the first result would be held back instead.
#[must_use]
pub fn background_agent() -> Scenario {
    let launch = agent(AGENT_CALL, INNER_PROMPT, json!({}));
    let replies = [
        launch,
        Reply::text("It is on its way."),
        Reply::text("It has come back."),
    ];
    let [call, report] = inner_replies();
    let script =
        Lanes::main(replies).agent(INNER_PROMPT, [call, report.hold_after(0, STREAM_GATE)]);
    Scenario::new(script, "survey the project in the background", BASH_ALLOWED)
}

/// A `Write` and then a `Bash` call, each outside the allow list.
///
/// Needs `--permission-prompt-tool stdio` and a host that answers both `can_use_tool` requests.
/// The ids are [`TOOL_CALL`] for `Write` (file `permitted.txt`) and [`AGENT_BASH_CALL`] for `Bash`
/// (file `touched`); the script goes on in the same way whether they are allowed or denied.
#[must_use]
pub fn permission(project: &std::path::Path) -> Scenario {
    let file = project.join("permitted.txt").display().to_string();
    let replies = [
        Reply::tool(
            TOOL_CALL,
            "Write",
            json!({"file_path": file, "content": "permitted\n"}),
        ),
        bash(AGENT_BASH_CALL, "touch touched && echo done"),
        Reply::text("Both were answered."),
    ];
    Scenario::new(
        Lanes::main(replies),
        "write a file",
        &["--permission-prompt-tool", "stdio"],
    )
}

/// A long text that stops at [`STREAM_GATE`] after ten deltas, then a plain turn.
///
/// Needs `--include-partial-messages`. Interrupt while the gate holds, or open it; then send the
/// second prompt.
#[must_use]
pub fn interruptible() -> Scenario {
    let long =
        Reply::text("one more line of a long story\n".repeat(40)).hold_after(12, STREAM_GATE);
    let script = Lanes::main([long, Reply::text(PLAIN_TEXT)]);
    let scenario = Scenario::new(script, "tell a long story", PARTIAL);
    Scenario {
        prompts: vec!["tell a long story", "and now say something"],
        ..scenario
    }
}

/// Two prompts that are queued during a turn that waits at [`STREAM_GATE`].
///
/// Needs `--replay-user-messages` and a uuid on each prompt. Send the second and third while the
/// gate holds, then open it. The CLI may answer both in one turn: there are answers for three, and
/// a result need not be the answer to one prompt.
#[must_use]
pub fn queued_prompts() -> Scenario {
    let script = Lanes::main([
        Reply::text("First answer.").hold_after(3, STREAM_GATE),
        Reply::text("Second answer."),
        Reply::text("Third answer."),
    ]);
    let scenario = Scenario::new(script, "first", &["--replay-user-messages"]);
    Scenario {
        prompts: vec!["first", "second", "third"],
        ..scenario
    }
}

/// The API answers 400 to everything: no `api_retry`, a `success` result with `is_error`. No flags.
#[must_use]
pub fn bad_request() -> Scenario {
    let error = ApiError::new(400, "invalid_request_error", "scripted: bad request");
    Scenario::new(Lanes::default().beyond(error), "say something", &[])
}

/// The API is overloaded once, then answers. No flags; the agent waits about half a second.
#[must_use]
pub fn overloaded_once() -> Scenario {
    let error = ApiError::new(529, "overloaded_error", "scripted: overloaded");
    let answers = [Answer::from(error), Reply::text(PLAIN_TEXT).into()];
    Scenario::new(Lanes::main(answers), "say something", &[])
}

/// The stream breaks after three deltas, then the agent's next attempt succeeds.
///
/// Needs `--include-partial-messages` for the lost deltas to be seen. The break waits at
/// [`STREAM_GATE`]: the agent drops what it had no time to print, so open the gate at the first
/// delta to have them printed, or at once to have them lost.
#[must_use]
pub fn cut_stream() -> Scenario {
    let lost = Reply::text(PLAIN_TEXT)
        .in_chunks(8, Duration::ZERO)
        .hold_after(5, STREAM_GATE);
    let retried = Reply::text(PLAIN_TEXT);
    let answers = [
        Answer::CutAfter(5, lost),
        retried.clone().into(),
        retried.into(),
    ];
    Scenario::new(Lanes::main(answers), "say something", PARTIAL)
}

/// A `Bash` call that waits at [`TOOL_GATE`], for signals and interrupts in the middle of a tool.
///
/// Needs `--allowedTools Bash`. The tool prints `opened` and ends when the gate opens.
#[must_use]
pub fn long_tool() -> Scenario {
    let replies = [
        bash(TOOL_CALL, &wait_at_gate(TOOL_GATE)),
        Reply::text("The tool came back."),
    ];
    Scenario::new(Lanes::main(replies), "run something long", BASH_ALLOWED)
}

/// A foreground sub-agent whose `Bash` call waits at [`TOOL_GATE`].
///
/// Needs `--allowedTools Bash`. Interrupt while the gate holds; then send the second prompt.
#[must_use]
pub fn agent_in_a_tool() -> Scenario {
    let script = Lanes::main([
        foreground(AGENT_CALL, INNER_PROMPT),
        Reply::text(PLAIN_TEXT),
    ])
    .agent(
        INNER_PROMPT,
        [bash(AGENT_BASH_CALL, &wait_at_gate(TOOL_GATE))],
    );
    Scenario {
        prompts: vec!["survey the project", "and now say something"],
        ..Scenario::new(script, "survey the project", FORWARD)
    }
}

/// Questions to the user, then a plan that wants approval.
///
/// Needs `--permission-prompt-tool stdio`, and `--permission-mode plan` for the plan. The ids are
/// [`TOOL_CALL`] for `AskUserQuestion` and [`AGENT_BASH_CALL`] for `ExitPlanMode`.
#[must_use]
pub fn questions_and_a_plan() -> Scenario {
    let question = json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [
            {"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"},
        ],
    }]});
    let replies = [
        Reply::tool(TOOL_CALL, "AskUserQuestion", question),
        Reply::tool(
            AGENT_BASH_CALL,
            "ExitPlanMode",
            json!({"plan": "1. Paint it."}),
        ),
        Reply::text("Both were answered."),
    ];
    Scenario::new(
        Lanes::main(replies),
        "paint it",
        &["--permission-prompt-tool", "stdio"],
    )
}

/// A shell command that reaches the named gate and prints `opened` once the test opens it.
///
/// It asks the scripted server over bash's own `/dev/tcp`, so nothing sleeps and nothing polls.
#[must_use]
pub fn wait_at_gate(gate: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${RIG_PORT}; \
         printf 'GET /gate/{gate} HTTP/1.1\\r\\nHost: rig\\r\\n\\r\\n' >&3; tail -n 1 <&3"
    )
}

const OUTER_PROMPT: &str = "scripted prompt of the outer agent";
const INNER_PROMPT: &str = "scripted prompt of the inner agent";

fn bash(id: &str, command: &str) -> Reply {
    Reply::new([bash_block(id, command)])
}

fn bash_block(id: &str, command: &str) -> Block {
    Block::tool(
        id,
        "Bash",
        json!({"command": command, "description": "Run a scripted command"}),
    )
}

fn foreground(id: &str, prompt: &str) -> Reply {
    agent(id, prompt, json!({"run_in_background": false}))
}

fn agent(id: &str, prompt: &str, extra: Value) -> Reply {
    let mut input = json!({
        "description": "Scripted survey", "subagent_type": "general-purpose", "prompt": prompt,
    });
    for (key, value) in extra.as_object().into_iter().flatten() {
        input[key] = value.clone();
    }
    Reply::tool(id, "Agent", input)
}

fn inner_replies() -> [Reply; 2] {
    [
        bash(AGENT_BASH_CALL, "echo from-the-agent"),
        Reply::text("Inner report."),
    ]
}
