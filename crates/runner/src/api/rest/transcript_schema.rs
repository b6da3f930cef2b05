//! The transcript as the OpenAPI document describes it. `crates/reducer/SCHEMA.md` says what the members
//! mean. A document of schema 1 has only those without "schema 2" in their description.
#![expect(dead_code, reason = "only the schemas are used")]

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// A transcript. An absent or unknown value is `null` or empty; members marked "schema 2" are absent
/// from schema 1. Enumerations may grow.
#[derive(ToSchema)]
pub(super) struct Transcript {
    /// Version of the schema.
    schema: u32,
    /// Newest id of the agent's conversation.
    session_id: Option<String>,
    /// All ids of the agent's conversation, in order.
    conversations: Vec<String>,
    model: Option<String>,
    cwd: Option<String>,
    cli_version: Option<String>,
    permission_mode: Option<String>,
    /// Schema 2: the agent's protocol, such as `claude`, `codex` or `acp`.
    #[schema(required = false)]
    dialect: String,
    /// Schema 2: the agent's program.
    #[schema(required = false)]
    agent: Agent,
    /// Schema 2: the title of the conversation.
    #[schema(required = false)]
    title: Option<String>,
    /// Schema 2: the steps of the agent's plan.
    #[schema(required = false)]
    plan: Vec<PlanItem>,
    /// Schema 2: the prompts that wait for their turn.
    #[schema(required = false)]
    queue: Vec<QueuedPrompt>,
    /// Schema 2: the context window, in tokens.
    #[schema(required = false)]
    context: Option<Context>,
    /// Schema 2: the usage limits of the account.
    #[schema(required = false)]
    limits: Vec<Limit>,
    /// Schema 2: the settings of the session.
    #[schema(required = false)]
    options: Vec<SessionOption>,
    /// Schema 2: the commands that the agent offers.
    #[schema(required = false)]
    commands: Vec<Command>,
    status: Status,
    /// The entries of the main thread, in order.
    entries: Vec<Entry>,
    /// The tool calls of the main thread, by id.
    tool_calls: BTreeMap<String, ToolCall>,
    /// Background tasks, by id.
    tasks: BTreeMap<String, Task>,
    /// Permission requests, oldest first.
    permissions: Vec<TranscriptPermission>,
    usage: Usage,
    stats: Stats,
    /// Schema 2: the threads of sub-agents, by name.
    #[schema(required = false)]
    threads: BTreeMap<String, Thread>,
}

/// The agent's program.
#[derive(ToSchema)]
struct Agent {
    name: Option<String>,
    version: Option<String>,
}

/// A step of the agent's plan.
#[derive(ToSchema)]
struct PlanItem {
    text: String,
    /// `pending`, `in_progress` or `completed`.
    state: String,
    /// `high`, `medium` or `low`.
    priority: Option<String>,
}

/// A prompt that waits for its turn.
#[derive(ToSchema)]
struct QueuedPrompt {
    id: String,
    text: String,
    /// `waiting` (at the host) or `sent`.
    state: String,
}

/// The context window, in tokens.
#[derive(ToSchema)]
struct Context {
    used: Option<u64>,
    size: Option<u64>,
}

/// A usage limit of the account.
#[derive(ToSchema)]
struct Limit {
    /// Name of the window, such as `five_hour`.
    window: String,
    /// Used share, from 0.0 to 1.0.
    used_share: Option<f64>,
    /// When the window begins again, in milliseconds since the Unix epoch.
    resets_at_ms: Option<u64>,
}

/// A setting of the session.
#[derive(ToSchema)]
struct SessionOption {
    id: String,
    name: String,
    /// `mode`, `model`, `thought_level`, …
    category: Option<String>,
    /// Id of the current choice, or `true` and `false` for a switch.
    value: Option<String>,
    /// Empty for a switch.
    choices: Vec<Choice>,
}

/// A value of a setting.
#[derive(ToSchema)]
struct Choice {
    id: String,
    name: String,
    description: Option<String>,
}

/// A command that the agent offers.
#[derive(ToSchema)]
struct Command {
    name: String,
    description: Option<String>,
}

/// The activity of the session.
#[derive(ToSchema)]
struct Status {
    /// `starting`, `idle`, `running`, `awaiting_permission` or `ended`.
    phase: String,
    /// The evidence for the phase.
    reason: String,
}

/// An entry. Its further members depend on `kind`.
#[derive(ToSchema)]
struct Entry {
    /// `user`, `assistant`, `result`, `notice` or `error`.
    kind: String,
    /// Of `user`.
    #[schema(required = false)]
    uuid: Option<String>,
    /// Of all kinds but `assistant`.
    #[schema(required = false)]
    text: Option<String>,
    /// Of `user`: whether the agent echoed it.
    #[schema(required = false)]
    replay: bool,
    /// Of `user`: whether the agent wrote it.
    #[schema(required = false)]
    synthetic: bool,
    /// Of `assistant`.
    #[schema(required = false)]
    message_id: String,
    /// Of `assistant`.
    #[schema(required = false)]
    model: Option<String>,
    /// Of `assistant`: `streaming`, `complete` or `aborted`.
    #[schema(required = false)]
    state: String,
    /// Of `assistant`.
    #[schema(required = false)]
    blocks: Vec<Block>,
    /// Of `result`.
    #[schema(required = false)]
    subtype: String,
    /// Of `result`.
    #[schema(required = false)]
    is_error: bool,
    /// Of `result`: `completed`, `cancelled`, `failed` or `suspended`.
    #[schema(required = false)]
    outcome: String,
    /// Of `result`: what started the turn, if not the host.
    #[schema(required = false)]
    origin: Option<String>,
    /// Of `result`: round trips to the model.
    #[schema(required = false)]
    num_turns: u64,
    /// Of `result`.
    #[schema(required = false)]
    duration_ms: u64,
    /// Of `notice`: the type of its line.
    #[schema(required = false)]
    notice: String,
    /// Of `error`: `parse`, `truncated`, `unexpected_exit`, `reconnect_failed`, `session_timeout`,
    /// `answer_undelivered` or `gap`.
    #[schema(required = false)]
    error: String,
    /// Schema 2: the turn; `null` between turns.
    #[schema(required = false)]
    turn: Option<String>,
    /// Schema 2: arrival of the first line, in milliseconds since the Unix epoch.
    #[schema(required = false)]
    at_ms: Option<u64>,
    /// Schema 2: `[from, to]`, byte offsets in the agent's output.
    #[schema(required = false, min_items = 2, max_items = 2)]
    bytes: Vec<u64>,
    /// Schema 2: whether the agent repeated it from its own history.
    #[schema(required = false)]
    history: bool,
}

/// A part of a message. Its further members depend on `type`.
#[derive(ToSchema)]
struct Block {
    /// `text`, `thinking`, `redacted_thinking`, `tool_call` or `other`.
    r#type: String,
    /// Of `text` and `thinking`.
    #[schema(required = false)]
    text: String,
    /// Of `tool_call`.
    #[schema(required = false)]
    id: String,
    /// Of `other`: the block as the agent wrote it.
    #[schema(required = false, value_type = Object)]
    raw: serde_json::Value,
    /// Schema 2: `[from, to]`, byte offsets in the agent's output.
    #[schema(required = false, min_items = 2, max_items = 2)]
    bytes: Vec<u64>,
}

/// A tool call and its result.
#[derive(ToSchema)]
struct ToolCall {
    id: String,
    name: String,
    /// The arguments; `null` while the model writes them.
    #[schema(value_type = Option<Object>)]
    input: Option<serde_json::Value>,
    /// `pending`, `awaiting_permission`, `running`, `succeeded`, `failed`, `interrupted` or `lost`.
    state: String,
    result: Option<ToolResult>,
    /// Schema 2: a line that says what it does.
    #[schema(required = false)]
    title: Option<String>,
    /// Schema 2: `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or
    /// `other`.
    #[schema(required = false)]
    kind: Option<String>,
    /// Schema 2: the files that it works on.
    #[schema(required = false)]
    locations: Vec<Location>,
    /// Schema 2: texts, changes of files, commands.
    #[schema(required = false)]
    content: Vec<Content>,
    /// Schema 2: what its command has printed so far.
    #[schema(required = false)]
    output: Option<String>,
    /// Schema 2.
    #[schema(required = false)]
    exit_code: Option<i64>,
    /// Schema 2: when it was first seen, in milliseconds since the Unix epoch.
    #[schema(required = false)]
    started_ms: Option<u64>,
    /// Schema 2: when it ended, in milliseconds since the Unix epoch.
    #[schema(required = false)]
    ended_ms: Option<u64>,
    /// Schema 2: `[from, to]`, byte offsets in the agent's output.
    #[schema(required = false, min_items = 2, max_items = 2)]
    bytes: Vec<u64>,
    /// Schema 2: what it has used.
    #[schema(required = false)]
    usage: Option<Tokens>,
    subagent: Option<Subagent>,
}

/// The result of a tool call.
#[derive(ToSchema)]
struct ToolResult {
    is_error: bool,
    text: String,
}

/// A file that a tool call works on.
#[derive(ToSchema)]
struct Location {
    path: String,
    /// From 1.
    line: Option<u64>,
}

/// A part of what a tool call shows. Its further members depend on `type`.
#[derive(ToSchema)]
struct Content {
    /// `text`, `diff` or `terminal`.
    r#type: String,
    /// Of `text`.
    #[schema(required = false)]
    text: String,
    /// Of `diff`.
    #[schema(required = false)]
    path: String,
    /// Of `diff`: the replaced text.
    #[schema(required = false)]
    old: Option<String>,
    /// Of `diff`: the new text.
    #[schema(required = false)]
    new: Option<String>,
    /// Of `diff`: a unified diff.
    #[schema(required = false)]
    patch: Option<String>,
    /// Of `terminal`.
    #[schema(required = false)]
    command: String,
    /// Of `terminal`.
    #[schema(required = false)]
    cwd: Option<String>,
}

/// A sub-agent, with its entries and tool calls.
#[derive(ToSchema)]
struct Subagent {
    agent_id: Option<String>,
    r#type: Option<String>,
    /// Schema 2: what it works on.
    #[schema(required = false)]
    title: Option<String>,
    /// Schema 2: see `Thread`.
    #[schema(required = false)]
    state: Option<String>,
    /// Schema 2: what it has used.
    #[schema(required = false)]
    usage: Option<Tokens>,
    entries: Vec<Entry>,
    #[schema(no_recursion)]
    tool_calls: BTreeMap<String, ToolCall>,
}

/// A background task.
#[derive(ToSchema)]
struct Task {
    kind: Option<String>,
    /// `pending`, `running`, `completed`, `failed`, `killed`, `paused` or `lost`.
    state: String,
    description: String,
    tool_use_id: Option<String>,
}

/// A permission request.
#[derive(ToSchema)]
struct TranscriptPermission {
    request_id: String,
    tool_use_id: Option<String>,
    tool_name: String,
    /// `open`, `allowed`, `denied`, `answered`, `withdrawn`, `expired` or `orphaned`.
    state: String,
    /// Schema 2: `permission`, `question` or `url`.
    #[schema(required = false)]
    kind: String,
    /// Schema 2: the answers to choose from.
    #[schema(required = false)]
    options: Vec<RequestOption>,
    /// Schema 2: the questions to answer.
    #[schema(required = false)]
    questions: Vec<Question>,
    /// Schema 2: the URL to open.
    #[schema(required = false)]
    url: Option<String>,
    /// Schema 2: the name of the thread that asks; `null` for the main one.
    #[schema(required = false)]
    thread: Option<String>,
    /// Schema 2: what a lasting answer would add.
    #[schema(required = false)]
    rule: Option<String>,
    /// Schema 2.
    #[schema(required = false)]
    decided_by: Option<DecidedBy>,
    /// Schema 2: `[from, to]`, byte offsets in the agent's output.
    #[schema(required = false, min_items = 2, max_items = 2)]
    bytes: Vec<u64>,
}

/// An answer that the host may choose by its id.
#[derive(ToSchema)]
struct RequestOption {
    id: String,
    name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    kind: String,
}

/// A question with an answer of its own.
#[derive(ToSchema)]
pub(super) struct Question {
    id: String,
    title: Option<String>,
    text: String,
    /// `single`, `multiple` or `text`.
    kind: String,
    options: Vec<QuestionOption>,
    /// Whether the answer may be a text that is not among the options.
    free_text: bool,
}

/// A choice of a question.
#[derive(ToSchema)]
struct QuestionOption {
    value: String,
    name: String,
    description: Option<String>,
}

/// The answer to a permission request.
#[derive(ToSchema)]
pub(super) struct DecidedBy {
    /// The host, or the rule.
    who: Option<String>,
    /// The id of the option, or `allow`, `deny`, `answer` or `cancel`.
    how: Option<String>,
    /// In milliseconds since the Unix epoch.
    at_ms: Option<u64>,
}

/// Tokens and cost of all conversations.
#[derive(ToSchema)]
struct Usage {
    cost_usd: f64,
    /// By model.
    models: BTreeMap<String, Tokens>,
}

/// Tokens.
#[derive(ToSchema)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_creation_tokens: u64,
}

/// Counts of the agent's output.
#[derive(ToSchema)]
struct Stats {
    bytes: u64,
    lines: u64,
    events: u64,
    duplicates: u64,
    parse_errors: u64,
    /// Lines of unknown types, by type.
    unknown: BTreeMap<String, u64>,
    truncated: bool,
    /// Bytes that are missing; absent if none are.
    #[schema(required = false)]
    missing: u64,
    /// Whether a part of unknown length is missing; absent if none is.
    #[schema(required = false)]
    damaged: bool,
}

/// The thread of a sub-agent.
#[derive(ToSchema)]
struct Thread {
    /// Id of the call that started it, whose `subagent` has its entries and tool calls.
    call: Option<String>,
    title: Option<String>,
    /// `running`, `requires_action`, `idle`, `completed`, `failed`, `interrupted` or `lost`.
    state: Option<String>,
    usage: Option<Tokens>,
    /// `null` if a call holds it.
    entries: Option<Vec<Entry>>,
    /// `null` if a call holds it.
    tool_calls: Option<BTreeMap<String, ToolCall>>,
}
