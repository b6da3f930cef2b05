package dev.bowline

/** Writes a transcript as JSON, schema 1. */
internal class TranscriptJson(private val transcript: Transcript) {
    private val out = StringBuilder()

    fun write(): String {
        members {
            raw("schema", "1")
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
    }

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
    }

    private fun call(call: ToolCallView) = members {
        text("id", call.id)
        text("name", call.name)
        raw("input", call.input)
        text("state", schemaName(call.state))
        val result = call.result
        if (result == null) raw("result", null) else value("result") {
            members {
                raw("is_error", result.isError)
                text("text", result.text)
            }
        }
        val subagent = call.subagent
        if (subagent == null) raw("subagent", null) else value("subagent") {
            members {
                text("agent_id", subagent.agentId)
                text("type", subagent.agentType)
                thread(call.id)
            }
        }
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
