/// Writes a transcript as JSON.
struct TranscriptWriter {
    let transcript: Transcript
    private let isNewest: Bool
    var out: [UInt8] = []
    var isFirst = true

    init(transcript: Transcript, schema: TranscriptSchema) {
        self.transcript = transcript
        isNewest = schema == .two
    }

    mutating func write() -> String {
        members { w in
            w.raw("schema", w.isNewest ? "2" : "1")
            w.session()
            w.value("status") { w in
                w.members { w in
                    w.text("phase", snakeCase(w.transcript.phase))
                    w.text("reason", w.transcript.reason)
                }
            }
            w.thread(nil)
            w.value("tasks") { w in
                w.members { w in
                    for task in w.transcript.tasks { w.value(task.id) { $0.task(task) } }
                }
            }
            w.value("permissions") { w in w.list(w.transcript.permissions) { $0.permission($1) } }
            w.value("usage") { $0.usage() }
            w.value("stats") { $0.stats() }
            if w.isNewest { w.value("threads") { w in w.members { $0.threads() } } }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private mutating func session() {
        let session = transcript.session
        text("session_id", session?.sessionId)
        value("conversations") { $0.list(session?.conversations ?? []) { $0.quote($1) } }
        text("model", session?.model)
        text("cwd", session?.cwd)
        text("cli_version", session?.cliVersion)
        text("permission_mode", session?.permissionMode)
        if isNewest, let session { agent(session) }
    }

    private mutating func agent(_ session: SessionView) {
        text("dialect", session.dialect)
        value("agent") {
            $0.members {
                $0.text("name", session.agentName)
                $0.text("version", session.cliVersion)
            }
        }
        text("title", session.title)
        objects("plan", session.plan) {
            $0.text("text", $1.text)
            $0.text("state", snakeCase($1.state))
            $0.text("priority", $1.priority.map { snakeCase($0) })
        }
        objects("queue", session.queue) {
            $0.text("id", $1.id)
            $0.text("text", $1.text)
            $0.text("state", snakeCase($1.state))
        }
        optional("context", session.context) {
            $0.raw("used", $1.used)
            $0.raw("size", $1.size)
        }
        objects("limits", session.limits) {
            $0.text("window", $1.window)
            $0.raw("used_share", $1.usedShareDecimal)
            $0.raw("resets_at_ms", $1.resetsAtMs)
        }
        objects("options", session.options) {
            $0.text("id", $1.id)
            $0.text("name", $1.name)
            $0.text("category", $1.category)
            $0.text("value", $1.value)
            $0.objects("choices", $1.choices) {
                $0.text("id", $1.id)
                $0.text("name", $1.name)
                $0.text("description", $1.description)
            }
        }
        objects("commands", session.commands) {
            $0.text("name", $1.name)
            $0.text("description", $1.description)
        }
    }

    /// The threads of sub-agents by name. One that a tool call holds has its content there.
    private mutating func threads() {
        var names: Set<String> = []
        for thread in transcript.session?.threads ?? [] {
            names.insert(thread.name)
            value(thread.name) { w in
                w.members {
                    $0.text("call", nil)
                    $0.subagent(thread.title, thread.state, thread.usage)
                    $0.thread(thread.name)
                }
            }
        }
        for call in transcript.allCalls {
            guard let subagent = call.subagent else { continue }
            let name = subagent.agentId.flatMap { names.insert($0).inserted ? $0 : nil }
            value(name ?? call.id) { w in
                w.members {
                    $0.text("call", call.id)
                    $0.subagent(subagent.title, subagent.state, subagent.usage)
                    $0.raw("entries", nil as String?)
                    $0.raw("tool_calls", nil as String?)
                }
            }
        }
    }

    private mutating func subagent(_ title: String?, _ state: ThreadState?, _ usage: TokenUsage?) {
        text("title", title)
        text("state", state.map { snakeCase($0) })
        optional("usage", usage) { $0.tokens($1) }
    }

    private mutating func tokens(_ tokens: TokenUsage) {
        raw("input_tokens", tokens.inputTokens)
        raw("output_tokens", tokens.outputTokens)
        raw("cache_read_tokens", tokens.cacheReadTokens)
        raw("cache_creation_tokens", tokens.cacheCreationTokens)
    }

    private mutating func thread(_ call: String?) {
        value("entries") { w in w.list(w.transcript.entries(of: call)) { $0.entry($1) } }
        value("tool_calls") { w in
            w.members { w in
                for call in w.transcript.toolCalls(of: call) { w.value(call.id) { $0.call(call) } }
            }
        }
    }

    private mutating func entry(_ entry: Transcript.Entry) {
        members { w in
            switch entry.value {
            case .user(let uuid, let text, let isReplay, let isSynthetic):
                w.text("kind", "user")
                w.text("uuid", uuid)
                w.text("text", text)
                w.raw("replay", isReplay)
                w.raw("synthetic", isSynthetic)
            case .assistant(let messageId, let model, let state):
                w.text("kind", "assistant")
                w.text("message_id", messageId)
                w.text("model", model)
                w.text("state", snakeCase(state))
                w.value("blocks") { $0.list(entry.blocks) { $0.block($1) } }
            case .result(
                let subtype, let isError, let outcome, let text, let origin, let turns, let duration):
                w.text("kind", "result")
                w.text("subtype", subtype)
                w.raw("is_error", isError)
                w.text("outcome", snakeCase(outcome))
                w.text("text", text)
                w.text("origin", origin)
                w.raw("num_turns", turns)
                w.raw("duration_ms", duration)
            case .notice(let notice, let text):
                w.text("kind", "notice")
                w.text("notice", notice)
                w.text("text", text)
            case .error(let kind, let text):
                w.text("kind", "error")
                w.text("error", snakeCase(kind))
                w.text("text", text)
            }
            if w.isNewest { w.detail(entry) }
        }
    }

    private mutating func detail(_ entry: Transcript.Entry) {
        let detail = entry.detail
        text("turn", detail.turn)
        raw("at_ms", detail.atMs)
        var range = detail.bytes
        if case .assistant = entry.value {
            // A message ends with the last of its blocks.
            range.end = entry.blocks.map(\.bytes.end).max() ?? range.start
        }
        bytes(range)
        raw("history", detail.isHistory)
    }

    private mutating func bytes(_ range: ByteRange) {
        raw("bytes", "[\(range.start),\(range.end)]")
    }

    private mutating func block(_ block: Transcript.Block) {
        members { w in
            switch block.value {
            case .text:
                w.text("type", "text")
                w.text("text", block.text)
            case .thinking:
                w.text("type", "thinking")
                w.text("text", block.text)
            case .redactedThinking: w.text("type", "redacted_thinking")
            case .toolCall(let id):
                w.text("type", "tool_call")
                w.text("id", id)
            case .other(let json):
                w.text("type", "other")
                w.raw("raw", json)
            }
            if w.isNewest { w.bytes(block.bytes) }
        }
    }

    private mutating func call(_ call: ToolCallView) {
        members { w in
            w.text("id", call.id)
            w.text("name", call.name)
            w.raw("input", call.input)
            w.text("state", snakeCase(call.state))
            w.optional("result", call.result) {
                $0.raw("is_error", $1.isError)
                $0.text("text", $1.text)
            }
            if w.isNewest { w.shown(call) }
            w.optional("subagent", call.subagent) {
                $0.text("agent_id", $1.agentId)
                $0.text("type", $1.agentType)
                if $0.isNewest { $0.subagent($1.title, $1.state, $1.usage) }
                $0.thread(call.id)
            }
        }
    }

    private mutating func shown(_ call: ToolCallView) {
        text("title", call.title)
        text("kind", call.kind.map { snakeCase($0) })
        objects("locations", call.locations) {
            $0.text("path", $1.path)
            $0.raw("line", $1.line)
        }
        objects("content", call.content) { $0.content($1) }
        text("output", call.output)
        raw("exit_code", call.exitCode.map { String($0) })
        raw("started_ms", call.startedMs)
        raw("ended_ms", call.endedMs)
        bytes(call.bytes)
        optional("usage", call.usage) { $0.tokens($1) }
    }

    private mutating func content(_ content: CallContent) {
        switch content {
        case .text(let text):
            self.text("type", "text")
            self.text("text", text)
        case .diff(let path, let old, let new, let patch):
            text("type", "diff")
            text("path", path)
            text("old", old)
            text("new", new)
            text("patch", patch)
        case .terminal(let command, let cwd):
            text("type", "terminal")
            text("command", command)
            text("cwd", cwd)
        }
    }

    private mutating func task(_ task: TaskView) {
        members {
            $0.text("kind", task.kind)
            $0.text("state", snakeCase(task.state))
            $0.text("description", task.description)
            $0.text("tool_use_id", task.toolUseId)
        }
    }

    private mutating func permission(_ permission: PermissionView) {
        members {
            $0.text("request_id", permission.requestId)
            $0.text("tool_use_id", permission.toolUseId)
            $0.text("tool_name", permission.toolName)
            $0.text("state", snakeCase(permission.state))
            if $0.isNewest { $0.asked(permission) }
        }
    }

    private mutating func asked(_ permission: PermissionView) {
        text("kind", snakeCase(permission.kind))
        objects("options", permission.options) {
            $0.text("id", $1.id)
            $0.text("name", $1.name)
            $0.text("kind", snakeCase($1.kind))
        }
        objects("questions", permission.questions) {
            $0.text("id", $1.id)
            $0.text("title", $1.title)
            $0.text("text", $1.text)
            $0.text("kind", snakeCase($1.kind))
            $0.objects("options", $1.options) {
                $0.text("value", $1.value)
                $0.text("name", $1.name)
                $0.text("description", $1.description)
            }
            $0.raw("free_text", $1.freeText)
        }
        text("url", permission.url)
        text("thread", permission.thread)
        text("rule", permission.rule)
        optional("decided_by", permission.decidedBy) {
            $0.text("who", $1.who)
            $0.text("how", $1.how)
            $0.raw("at_ms", $1.atMs)
        }
        bytes(permission.bytes)
    }

    private mutating func usage() {
        let usage = transcript.usage
        members {
            $0.raw("cost_usd", usage?.costDecimal ?? "0.0")
            $0.value("models") {
                $0.members { w in
                    for model in usage?.models ?? [] {
                        w.value(model.model) {
                            $0.members {
                                $0.raw("input_tokens", model.inputTokens)
                                $0.raw("output_tokens", model.outputTokens)
                                $0.raw("cache_read_tokens", model.cacheReadTokens)
                                $0.raw("cache_creation_tokens", model.cacheCreationTokens)
                            }
                        }
                    }
                }
            }
        }
    }

    private mutating func stats() {
        let stats = transcript.stats
        members {
            $0.raw("bytes", stats?.bytes ?? 0)
            $0.raw("lines", stats?.lines ?? 0)
            $0.raw("events", stats?.events ?? 0)
            $0.raw("duplicates", stats?.duplicates ?? 0)
            $0.raw("parse_errors", stats?.parseErrors ?? 0)
            $0.value("unknown") {
                $0.members { w in
                    for unknown in stats?.unknown ?? [] { w.raw(unknown.name, unknown.count) }
                }
            }
            $0.raw("truncated", stats?.isTruncated ?? false)
            // Only of streams with losses.
            if let missing = stats?.missing, missing > 0 { $0.raw("missing", missing) }
            if stats?.isDamaged == true { $0.raw("damaged", true) }
        }
    }
}
