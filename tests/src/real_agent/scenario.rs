//! Ready-made conversations for the real CLI: the replies of the model and the prompts of the host.
//!
//! Every tool call has a fixed id (the `*_CALL` constants), by which a test finds its result or the
//! lines of its sub-agent.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, ApiError, Block, Lanes, RIG_PORT, Reply};

/// One conversation: the script of the model, and the host's prompts and arguments.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The replies of the model.
    pub script: Lanes,
    /// The prompts in order. If there are several, the scenario documents when to send each.
    pub prompts: Vec<&'static str>,
    /// CLI arguments in addition to those of a stream-json session.
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

/// The text of [`plain`], of [`partial`] and of the second turn of [`interruptible`].
pub const PLAIN_TEXT: &str = "All systems are in order. Nothing else needs to be done here.";
/// The gate at which a held stream stops.
pub const STREAM_GATE: &str = "stream";
/// The gate at which a held tool waits.
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

/// One turn with one text. Needs no flags.
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

/// A text of `lines` lines, in deltas of twelve characters, cut without regard to words. Needs
/// `--include-partial-messages`.
#[must_use]
pub fn long_text(lines: usize, pace: Duration) -> Scenario {
    let lines = (0..lines).map(|number| format!("Line {number} of a long answer, é and 🪢.\n"));
    let reply = Reply::text(lines.collect::<String>()).in_chunks(12, pace);
    Scenario::new(Lanes::main([reply]), "write a long text", PARTIAL)
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
/// Needs `--allowedTools Bash`. With `--forward-subagent-text`, as here, the CLI prints the inner
/// agent's lines too, under the id of the inner call; without it, only `task_*` events mention it.
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

/// A sub-agent in the background, which is the default. The main thread replies first; the end of the
/// sub-agent starts another turn.
///
/// Needs `--allowedTools Bash`. The sub-agent's last reply waits at [`STREAM_GATE`]: open it after the
/// first result. If stdin is closed, the CLI holds the first result back until the sub-agent ends.
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
/// (file `touched`). The script continues in the same way whether they are allowed or denied.
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

/// A `Read` of `notes.txt` in the project, then an `Edit` of it, which is outside the allow list.
///
/// The file has to be there, with a line `two`, which becomes `2`. Needs `--permission-prompt-tool stdio` and a host
/// that answers the `can_use_tool` request of `Edit`, whose id is [`TOOL_CALL`].
#[must_use]
pub fn edit(project: &std::path::Path) -> Scenario {
    let file = project.join("notes.txt").display().to_string();
    let change = json!({"file_path": file, "old_string": "two", "new_string": "2"});
    let replies = [
        Reply::tool("toolu_read", "Read", json!({"file_path": file})),
        Reply::tool(TOOL_CALL, "Edit", change),
        Reply::text("The file is changed."),
    ];
    Scenario::new(
        Lanes::main(replies),
        "change the notes",
        &["--permission-prompt-tool", "stdio"],
    )
}

/// A long text that stops at [`STREAM_GATE`] after ten deltas, then a plain turn.
///
/// Needs `--include-partial-messages`. Interrupt while the gate is closed, or open it; then send the
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
/// gate is closed, then open it. The CLI may answer both in one turn, so the script has replies for
/// three turns, and a result may belong to two prompts.
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

/// The API answers every request with 400: no `api_retry`, a `success` result with `is_error`. Needs
/// no flags.
#[must_use]
pub fn bad_request() -> Scenario {
    let error = ApiError::new(400, "invalid_request_error", "scripted: bad request");
    Scenario::new(Lanes::default().fallback(error), "say something", &[])
}

/// The API is overloaded once, then replies. Needs no flags. The agent retries after about half a
/// second.
#[must_use]
pub fn overloaded_once() -> Scenario {
    let error = ApiError::new(529, "overloaded_error", "scripted: overloaded");
    let answers = [Answer::from(error), Reply::text(PLAIN_TEXT).into()];
    Scenario::new(Lanes::main(answers), "say something", &[])
}

/// The stream breaks after three deltas, then the agent's next attempt succeeds.
///
/// The lost deltas are visible with `--include-partial-messages`. The break waits at
/// [`STREAM_GATE`]. The agent discards deltas that it has not printed when the stream breaks: to have
/// them printed, open the gate at the first delta; to have them lost, open it at the start.
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

/// A `Bash` call that waits at [`TOOL_GATE`], for signals and interrupts during a tool.
///
/// Needs `--allowedTools Bash`. The tool prints `opened` and ends when the gate opens.
#[must_use]
pub fn long_tool() -> Scenario {
    let replies = [
        bash(TOOL_CALL, &wait_at_gate(TOOL_GATE)),
        Reply::text("The tool returned."),
    ];
    Scenario::new(Lanes::main(replies), "run something long", BASH_ALLOWED)
}

/// A foreground sub-agent whose `Bash` call waits at [`TOOL_GATE`].
///
/// Needs `--allowedTools Bash`. Interrupt while the gate is closed; then send the second prompt.
#[must_use]
pub fn tool_in_subagent() -> Scenario {
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

/// A question to the user, then a plan that requires approval.
///
/// Needs `--permission-prompt-tool stdio`, and `--permission-mode plan` for the plan. The ids are
/// [`TOOL_CALL`] for `AskUserQuestion` and [`AGENT_BASH_CALL`] for `ExitPlanMode`.
#[must_use]
pub fn questions_and_plan() -> Scenario {
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

/// Returns a shell command that waits at the named gate and prints `opened` after the test has opened
/// it.
///
/// It sends the scripted server a request through bash's `/dev/tcp`, and so neither sleeps nor polls.
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
