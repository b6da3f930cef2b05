package dev.bowline

/** Writes a transcript as JSON. */
internal class TranscriptJson(private val transcript: Transcript, schema: TranscriptSchema) {
    private val out = StringBuilder()
    private val isNewest = schema == TranscriptSchema.TWO

    fun write(): String {
        members {
            raw("schema", if (isNewest) 2 else 1)
            session()
            value("status") {
                members {
                    text("phase", schemaName(transcript.phase))
                    text("reason", transcript.reason)
                }
            }
            thread(null)
            value("tasks") { members { transcript.tasks.forEach { task -> value(task.id) { task(task) } } } }
            value("permissions") { list(transcript.permissions, ::permission) }
            value("usage") { usage() }
            value("stats") { stats() }
            if (isNewest) value("threads") { members { threads() } }
        }
        return out.toString()
    }

    private fun session() {
        val session = transcript.session
        text("session_id", session?.sessionId)
        value("conversations") { list(session?.conversations.orEmpty(), ::quote) }
        text("model", session?.model)
        text("cwd", session?.cwd)
        text("cli_version", session?.cliVersion)
        text("permission_mode", session?.permissionMode)
        if (!isNewest) return
        text("dialect", session?.dialect)
        value("agent") {
            members {
                text("name", session?.agentName)
                text("version", session?.cliVersion)
            }
        }
        text("title", session?.title)
        objects("plan", session?.plan) {
            text("text", it.text)
            text("state", schemaName(it.state))
            text("priority", it.priority?.let(::schemaName))
        }
        objects("queue", session?.queue) {
            text("id", it.id)
            text("text", it.text)
            text("state", schemaName(it.state))
        }
        optional("context", session?.context) {
            raw("used", it.used)
            raw("size", it.size)
        }
        objects("limits", session?.limits) {
            text("window", it.window)
            raw("used_share", it.usedShareDecimal)
            raw("resets_at_ms", it.resetsAtMs)
        }
        objects("options", session?.options) { option ->
            text("id", option.id)
            text("name", option.name)
            text("category", option.category)
            text("value", option.value)
            objects("choices", option.choices) {
                text("id", it.id)
                text("name", it.name)
                text("description", it.description)
            }
        }
        objects("commands", session?.commands) {
            text("name", it.name)
            text("description", it.description)
        }
    }

    /** The threads of sub-agents by name. One that a tool call holds has its content there. */
    private fun threads() {
        val names = HashSet<String>()
        transcript.session?.threads.orEmpty().forEach { thread ->
            names += thread.name
            value(thread.name) { members { thread(null, thread.title, thread.state, thread.usage); thread(thread.name) } }
        }
        for (call in transcript.allCalls()) {
            val subagent = call.subagent ?: continue
            val name = subagent.agentId?.takeIf(names::add) ?: call.id
            value(name) {
                members {
                    thread(call.id, subagent.title, subagent.state, subagent.usage)
                    raw("entries", null)
                    raw("tool_calls", null)
                }
            }
        }
    }

    private fun thread(call: String?, title: String?, state: ThreadState?, usage: TokenUsage?) {
        text("call", call)
        agent(title, state, usage)
    }

    private fun agent(title: String?, state: ThreadState?, usage: TokenUsage?) {
        text("title", title)
        text("state", state?.let(::schemaName))
        optional("usage", usage, ::tokens)
    }

    private fun thread(call: String?) {
        value("entries") { list(transcript.entries(call), ::entry) }
        value("tool_calls") { members { transcript.toolCalls(call).forEach { value(it.id) { call(it) } } } }
    }

    private fun entry(entry: Transcript.Entry) = members {
        when (val value = entry.value) {
            is EntryKind.User -> {
                text("kind", "user")
                text("uuid", value.uuid)
                text("text", value.text)
                raw("replay", value.isReplay)
                raw("synthetic", value.isSynthetic)
            }
            is EntryKind.Assistant -> {
                text("kind", "assistant")
                text("message_id", value.messageId)
                text("model", value.model)
                text("state", schemaName(value.state))
                value("blocks") { list(entry.blocks, ::block) }
            }
            is EntryKind.Result -> {
                text("kind", "result")
                text("subtype", value.subtype)
                raw("is_error", value.isError)
                text("outcome", schemaName(value.outcome))
                text("text", value.text)
                text("origin", value.origin)
                raw("num_turns", value.numTurns)
                raw("duration_ms", value.durationMs)
            }
            is EntryKind.Notice -> {
                text("kind", "notice")
                text("notice", value.notice)
                text("text", value.text)
            }
            is EntryKind.Error -> {
                text("kind", "error")
                text("error", schemaName(value.kind))
                text("text", value.text)
            }
        }
        if (isNewest) detail(entry)
    }

    private fun detail(entry: Transcript.Entry) {
        val detail = entry.detail
        text("turn", detail.turn)
        raw("at_ms", detail.atMs)
        // A message ends with the last of its blocks.
        val start = detail.bytes.start
        val end = if (entry.value is EntryKind.Assistant) entry.blocks.maxOfOrNull { it.bytes.end } ?: start else detail.bytes.end
        bytes(ByteRange(start, end))
        raw("history", detail.isHistory)
    }

    private fun bytes(range: ByteRange) = raw("bytes", "[${range.start},${range.end}]")

    private fun block(block: Transcript.Block) = members {
        when (val value = block.value) {
            is BlockKind.Text -> {
                text("type", "text")
                text("text", block.text)
            }
            is BlockKind.Thinking -> {
                text("type", "thinking")
                text("text", block.text)
            }
            is BlockKind.RedactedThinking -> text("type", "redacted_thinking")
            is BlockKind.ToolCall -> {
                text("type", "tool_call")
                text("id", value.id)
            }
            is BlockKind.Other -> {
                text("type", "other")
                raw("raw", value.json)
            }
        }
        if (isNewest) bytes(block.bytes)
    }

    private fun call(call: ToolCallView) = members {
        text("id", call.id)
        text("name", call.name)
        raw("input", call.input)
        text("state", schemaName(call.state))
        optional("result", call.result) {
            raw("is_error", it.isError)
            text("text", it.text)
        }
        if (isNewest) shown(call)
        optional("subagent", call.subagent) {
            text("agent_id", it.agentId)
            text("type", it.agentType)
            if (isNewest) agent(it.title, it.state, it.usage)
            thread(call.id)
        }
    }

    private fun shown(call: ToolCallView) {
        text("title", call.title)
        text("kind", call.kind?.let(::schemaName))
        objects("locations", call.locations) {
            text("path", it.path)
            raw("line", it.line)
        }
        objects("content", call.content, ::content)
        text("output", call.output)
        raw("exit_code", call.exitCode)
        raw("started_ms", call.startedMs)
        raw("ended_ms", call.endedMs)
        bytes(call.bytes)
        optional("usage", call.usage, ::tokens)
    }

    private fun content(content: CallContent) = when (content) {
        is CallContent.Text -> {
            text("type", "text")
            text("text", content.text)
        }
        is CallContent.Diff -> {
            text("type", "diff")
            text("path", content.path)
            text("old", content.old)
            text("new", content.new)
            text("patch", content.patch)
        }
        is CallContent.Terminal -> {
            text("type", "terminal")
            text("command", content.command)
            text("cwd", content.cwd)
        }
    }

    private fun tokens(tokens: TokenUsage) {
        raw("input_tokens", tokens.inputTokens)
        raw("output_tokens", tokens.outputTokens)
        raw("cache_read_tokens", tokens.cacheReadTokens)
        raw("cache_creation_tokens", tokens.cacheCreationTokens)
    }

    private fun task(task: TaskView) = members {
        text("kind", task.kind)
        text("state", schemaName(task.state))
        text("description", task.description)
        text("tool_use_id", task.toolUseId)
    }

    private fun permission(permission: PermissionView) = members {
        text("request_id", permission.requestId)
        text("tool_use_id", permission.toolUseId)
        text("tool_name", permission.toolName)
        text("state", schemaName(permission.state))
        if (isNewest) asked(permission)
    }

    private fun asked(permission: PermissionView) {
        text("kind", schemaName(permission.kind))
        objects("options", permission.options) {
            text("id", it.id)
            text("name", it.name)
            text("kind", schemaName(it.kind))
        }
        objects("questions", permission.questions) { question ->
            text("id", question.id)
            text("title", question.title)
            text("text", question.text)
            text("kind", schemaName(question.kind))
            objects("options", question.options) {
                text("value", it.value)
                text("name", it.name)
                text("description", it.description)
            }
            raw("free_text", question.freeText)
        }
        text("url", permission.url)
        text("thread", permission.thread)
        text("rule", permission.rule)
        optional("decided_by", permission.decidedBy) {
            text("who", it.who)
            text("how", it.how)
            raw("at_ms", it.atMs)
        }
        bytes(permission.bytes)
    }

    private fun usage() = members {
        raw("cost_usd", transcript.usage?.costDecimal ?: "0.0")
        value("models") {
            members {
                transcript.usage?.models.orEmpty().forEach {
                    value(it.model) {
                        members {
                            raw("input_tokens", it.inputTokens)
                            raw("output_tokens", it.outputTokens)
                            raw("cache_read_tokens", it.cacheReadTokens)
                            raw("cache_creation_tokens", it.cacheCreationTokens)
                        }
                    }
                }
            }
        }
    }

    private fun stats() = members {
        val stats = transcript.stats
        raw("bytes", stats?.bytes ?: 0)
        raw("lines", stats?.lines ?: 0)
        raw("events", stats?.events ?: 0)
        raw("duplicates", stats?.duplicates ?: 0)
        raw("parse_errors", stats?.parseErrors ?: 0)
        value("unknown") { members { stats?.unknown.orEmpty().forEach { raw(it.name, it.count) } } }
        raw("truncated", stats?.isTruncated ?: false)
        // Only of streams with losses.
        stats?.missing?.let { if (it > 0u) raw("missing", it) }
        if (stats?.isDamaged == true) raw("damaged", true)
    }

    /** Returns the name of an enum constant in the schema. */
    private fun schemaName(value: Enum<*>): String = value.name.lowercase()

    private var isFirst = true

    private fun members(write: () -> Unit) = nested('{', '}', write)

    private fun <T> list(values: Collection<T>, write: (T) -> Unit) = nested('[', ']') {
        for (value in values) {
            comma()
            write(value)
        }
    }

    /** A list of objects. */
    private fun <T> objects(name: String, values: List<T>?, write: (T) -> Unit) =
        value(name) { list(values.orEmpty()) { members { write(it) } } }

    /** An object, or null without a value. */
    private fun <T : Any> optional(name: String, value: T?, write: (T) -> Unit) =
        if (value == null) raw(name, null) else value(name) { members { write(value) } }

    private fun nested(open: Char, close: Char, write: () -> Unit) {
        out.append(open)
        isFirst = true
        write()
        isFirst = false
        out.append(close)
    }

    private fun comma() {
        if (!isFirst) out.append(',')
        isFirst = false
    }

    private fun value(name: String, write: () -> Unit) {
        comma()
        quote(name)
        out.append(':')
        write()
    }

    private fun raw(name: String, value: Any?) = value(name) { out.append(value ?: "null") }

    private fun text(name: String, value: String?) = value(name) {
        if (value == null) out.append("null") else quote(value)
    }

    private fun quote(text: String) {
        out.append('"')
        for (char in text) {
            when (char) {
                '"' -> out.append("\\\"")
                '\\' -> out.append("\\\\")
                '\b' -> out.append("\\b")
                '\t' -> out.append("\\t")
                '\n' -> out.append("\\n")
                '\u000c' -> out.append("\\f")
                '\r' -> out.append("\\r")
                else -> if (char < ' ') out.append("\\u%04x".format(char.code)) else out.append(char)
            }
        }
        out.append('"')
        isFirst = false
    }
}
