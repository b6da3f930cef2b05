//! The agent's lines, with their members in the order in which the agent writes them.

use super::rng::Rng;
use super::text::{quote, quoted};

const MODEL: &str = "claude-opus-5-5";
const NAMES: &[&str] = &[
    "deep-research",
    "dataviz",
    "update-config",
    "verify",
    "debug",
    "code-review",
    "simplify",
    "batch",
    "doctor",
    "loop",
    "run",
    "agents",
    "autocompact",
    "clear",
    "color",
    "compact",
    "config",
    "output-style",
    "context",
    "effort",
    "fast",
    "focus",
    "heapdump",
    "init",
    "mcp",
    "model",
    "rename",
    "security-review",
    "usage",
    "insights",
    "recap",
    "goal",
    "list-agents",
];
const TOOLS: &[&str] = &[
    "Task",
    "Bash",
    "CronCreate",
    "CronDelete",
    "Edit",
    "EnterWorktree",
    "Monitor",
    "NotebookEdit",
    "Read",
    "ReportFindings",
    "SendMessage",
    "Skill",
    "TaskStop",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "Write",
];

/// One session: the values that its lines share, and the stream so far.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) rng: Rng,
    pub(super) out: String,
    session: String,
    /// The current API message.
    message: String,
    request: String,
    /// The tool use that spawned the current sub-agent.
    parent: Option<String>,
    clock: u64,
    turns: u64,
}

impl Agent {
    pub(super) fn new(seed: u64, size: usize) -> Self {
        let mut rng = Rng::new(seed);
        Self {
            out: String::with_capacity(size + (1 << 20)),
            session: rng.uuid(),
            message: rng.id("msg_"),
            request: rng.id("req_"),
            parent: None,
            clock: 0,
            turns: 0,
            rng,
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn timestamp(&mut self) -> String {
        self.clock += self.rng.next() % 900;
        let seconds = self.clock / 1000;
        format!(
            "2026-11-21T{:02}:{:02}:{:02}.{:03}Z",
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60,
            self.clock % 1000
        )
    }

    /// Switches to the lines of the sub-agent that `tool_use` spawned, or back to the main thread.
    pub(super) fn speak_for(&mut self, tool_use: Option<String>) {
        self.parent = tool_use;
    }

    pub(super) fn init(&mut self) {
        let uuid = self.rng.uuid();
        let names = quoted_list(NAMES);
        self.line(&format!(
            r#"{{"type":"system","subtype":"init","cwd":"/home/dev/project","session_id":"{}","tools":[{}],"mcp_servers":[],"model":"{MODEL}","permissionMode":"default","slash_commands":[{names}],"terminal_slash_commands":["doctor","color","focus"],"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.330","output_style":"default","agents":["claude","Explore","general-purpose","Plan"],"skills":[{names}],"plugins":[{{"name":"agents-md","path":"builtin","source":"agents-md@builtin"}}],"capabilities":["interrupt_receipt_v1","interrupt_send_now_v1","msg_lifecycle_v1","request_marker_lists_v1","sdk_mcp_tools_list_changed","sdk_mcp_manifests","get_usage_detached_v1"],"analytics_disabled":true,"uuid":"{uuid}","memory_paths":{{"auto":"/home/dev/.claude/projects/-home-dev-project/memory/"}},"additional_directories":[],"fast_mode_state":"off","view_mode":"default"}}"#,
            self.session,
            quoted_list(TOOLS),
        ));
    }

    pub(super) fn status(&mut self) {
        let uuid = self.rng.uuid();
        self.line(&format!(
            r#"{{"type":"system","subtype":"status","status":"requesting","session_id":"{}","uuid":"{uuid}"}}"#,
            self.session,
        ));
    }

    pub(super) fn thinking_tokens(&mut self, tokens: usize) {
        let uuid = self.rng.uuid();
        self.line(&format!(
            r#"{{"type":"system","subtype":"thinking_tokens","estimated_tokens":{tokens},"estimated_tokens_delta":3,"session_id":"{}","uuid":"{uuid}"}}"#,
            self.session,
        ));
    }

    /// Begins an API message, to which the lines up to the next one belong.
    pub(super) fn next_message(&mut self) {
        self.message = self.rng.id("msg_");
        self.request = self.rng.id("req_");
    }

    fn usage(&mut self, output: usize) -> String {
        let input = self.rng.range(2_000, 90_000);
        let cached = self.rng.range(0, 60_000);
        format!(
            r#"{{"input_tokens":{input},"cache_creation_input_tokens":0,"cache_read_input_tokens":{cached},"output_tokens":{output},"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}},"service_tier":"standard"}}"#
        )
    }

    /// Appends a `stream_event` line; `more` is inserted between `uuid` and `api_message_id`.
    fn stream(&mut self, event: &str, more: &str) {
        let uuid = self.rng.uuid();
        self.line(&format!(
            r#"{{"type":"stream_event","event":{event},"session_id":"{}","parent_tool_use_id":null,"uuid":"{uuid}",{more}"api_message_id":"{}"}}"#,
            self.session, self.message,
        ));
    }

    pub(super) fn message_start(&mut self) {
        self.next_message();
        let usage = self.usage(1);
        let event = format!(
            r#"{{"type":"message_start","message":{{"id":"{}","type":"message","role":"assistant","model":"{MODEL}","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}}}"#,
            self.message,
        );
        self.stream(&event, r#""ttft_ms":913,"thinking_display":"updates","#);
    }

    pub(super) fn block_start(&mut self, index: usize, block: &str) {
        self.stream(
            &format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#),
            "",
        );
    }

    /// Appends a delta of `kind`, such as `text_delta`, whose text is the member `key`.
    pub(super) fn delta(&mut self, index: usize, kind: &str, key: &str, text: &str) {
        let mut event = format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{key}":"#
        );
        quote(&mut event, text);
        event.push_str("}}");
        self.stream(&event, "");
    }

    pub(super) fn block_stop(&mut self, index: usize) {
        self.stream(
            &format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
            "",
        );
    }

    pub(super) fn message_end(&mut self, stop_reason: &str, output: usize) {
        let usage = self.usage(output);
        self.stream(
            &format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop_reason}","stop_sequence":null}},"usage":{usage}}}"#
            ),
            "",
        );
        self.stream(r#"{"type":"message_stop"}"#, "");
    }

    /// Appends an `assistant` line of one block.
    pub(super) fn assistant(&mut self, block: &str) {
        let (usage, timestamp) = (self.usage(1), self.timestamp());
        let uuid = self.rng.uuid();
        let (parent, agent, tail) = self.sub_agent();
        self.line(&format!(
            r#"{{"type":"assistant","message":{{"id":"{}","type":"message","role":"assistant","model":"{MODEL}","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{usage},"context_management":null}},"parent_tool_use_id":{parent},{agent}"session_id":"{}","uuid":"{uuid}","timestamp":"{timestamp}","request_id":"{}"{tail}}}"#,
            self.message, self.session, self.request,
        ));
    }

    /// Appends a `user` line: the result of tool use `id`. Without a structured result it has the
    /// shape of a sub-agent's line.
    pub(super) fn tool_result(&mut self, id: &str, content: &str, structured: Option<&str>) {
        let timestamp = self.timestamp();
        let uuid = self.rng.uuid();
        let (parent, agent, tail) = self.sub_agent();
        let structured = structured
            .map(|value| format!(r#""tool_use_result":{value},"#))
            .unwrap_or_default();
        self.line(&format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":{content},"is_error":false}}]}},"parent_tool_use_id":{parent},{agent}"session_id":"{}","uuid":"{uuid}","timestamp":"{timestamp}",{structured}"tool_result_meta":[{{"id":"{id}","permission_decision":{{"decision":"accept","source":"config","reason_type":"rule"}}}}]{tail}}}"#,
            self.session,
        ));
    }

    fn sub_agent(&self) -> (String, &'static str, &'static str) {
        match &self.parent {
            None => ("null".into(), "", ""),
            Some(id) => (
                format!("\"{id}\""),
                r#""agent_id":"a4674a8778b1330ea","#,
                r#","subagent_type":"general-purpose","task_description":"look around""#,
            ),
        }
    }

    /// Appends the `result` line, whose `type` is near its end.
    pub(super) fn result(&mut self, text: &str) {
        self.turns += 1;
        let uuid = self.rng.uuid();
        let cost = self.rng.range(1, 90_000_000) as f64 / 1e8;
        let (input, output) = (self.rng.range(9_000, 99_000), self.rng.range(20, 9_000));
        let models = format!(
            r#"{{"{MODEL}":{{"inputTokens":{input},"outputTokens":{output},"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":{cost},"contextWindow":1000000,"maxOutputTokens":128000,"thinkingTokens":0,"canonicalModel":"{MODEL}","provider":"firstParty","costBasis":"list"}}}}"#
        );
        self.line(&format!(
            r#"{{"duration_api_ms":{output},"stop_reason":"end_turn","session_id":"{}","total_cost_usd":{cost},"usage":{{"input_tokens":{input},"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":{output},"output_tokens_details":{{"thinking_tokens":0}},"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard","inference_geo":"","iterations":[],"speed":"standard"}},"modelUsage":{models},"permission_denials":[],"terminal_reason":"completed","fast_mode_state":"off","subagent_stats":{{"spawned":0,"requested":{{"background":0,"foreground":0,"unset":0}},"max_depth":0,"completed":0,"failed":0,"by_type":{{}}}},"safety_stops":0,"is_error":false,"num_turns":{},"subtype":"success","api_error_status":null,"result":{},"ttft_ms":177,"type":"result","duration_ms":4071,"uuid":"{uuid}","queued_turn_count":0,"result_index":0,"model_usage_since_last_result":{models}}}"#,
            self.session,
            self.turns,
            quoted(text),
        ));
    }

    /// Returns whether another turn fits.
    pub(super) fn wants_more(&self, size: usize) -> bool {
        self.out.len() < size
    }
}

/// Returns a `text` block.
pub(super) fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
}

/// Returns a `tool_use` block; `input` is JSON.
pub(super) fn tool_use_block(id: &str, name: &str, input: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)
}

fn quoted_list(names: &[&str]) -> String {
    format!("\"{}\"", names.join("\",\""))
}
