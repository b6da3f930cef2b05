/// Writes a transcript as JSON, schema 1.
struct TranscriptWriter {
    let transcript: Transcript
    private var out: [UInt8] = []
    private var isFirst = true

    init(transcript: Transcript) {
        self.transcript = transcript
    }

    mutating func write() -> String {
        members { w in
            w.raw("schema", "1")
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
        }
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
        }
    }

    private mutating func call(_ call: ToolCallView) {
        members { w in
            w.text("id", call.id)
            w.text("name", call.name)
            w.raw("input", call.input)
            w.text("state", snakeCase(call.state))
            if let result = call.result {
                w.value("result") {
                    $0.members {
                        $0.raw("is_error", result.isError)
                        $0.text("text", result.text)
                    }
                }
            } else {
                w.raw("result", nil)
            }
            if let subagent = call.subagent {
                w.value("subagent") {
                    $0.members {
                        $0.text("agent_id", subagent.agentId)
                        $0.text("type", subagent.agentType)
                        $0.thread(call.id)
                    }
                }
            } else {
                w.raw("subagent", nil)
            }
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
        }
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

    // MARK: JSON

    private typealias Part = (inout TranscriptWriter) -> Void

    private mutating func members(_ write: Part) {
        nested("{", "}", write)
    }

    private mutating func list<Value>(
        _ values: [Value], _ write: (inout TranscriptWriter, Value) -> Void
    ) {
        nested("[", "]") {
            for value in values {
                $0.comma()
                write(&$0, value)
            }
        }
    }

    private mutating func nested(_ open: Unicode.Scalar, _ close: Unicode.Scalar, _ write: Part) {
        out.append(UInt8(ascii: open))
        isFirst = true
        write(&self)
        isFirst = false
        out.append(UInt8(ascii: close))
    }

    private mutating func comma() {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    private mutating func value(_ name: String, _ write: Part) {
        comma()
        quote(name)
        out.append(UInt8(ascii: ":"))
        write(&self)
    }

    private mutating func raw(_ name: String, _ json: String?) {
        value(name) { $0.out.append(contentsOf: (json ?? "null").utf8) }
    }

    private mutating func raw(_ name: String, _ number: UInt64) {
        raw(name, String(number))
    }

    private mutating func raw(_ name: String, _ value: Bool) {
        raw(name, value ? "true" : "false")
    }

    private mutating func text(_ name: String, _ text: String?) {
        guard let text else { return raw(name, nil) }
        value(name) { $0.quote(text) }
    }

    private mutating func quote(_ text: String) {
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 8: out += Array("\\b".utf8)
            case 9: out += Array("\\t".utf8)
            case 10: out += Array("\\n".utf8)
            case 12: out += Array("\\f".utf8)
            case 13: out += Array("\\r".utf8)
            case 0..<32:
                let digits = String(byte, radix: 16)
                out += Array("\\u00\(digits.count == 1 ? "0" : "")\(digits)".utf8)
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
        isFirst = false
    }
}

/// Returns the schema's name of an enum case: the Swift name in snake case.
private func snakeCase<Case>(_ value: Case) -> String {
    var text = ""
    for character in String(describing: value) {
        text += character.isUppercase ? "_" + character.lowercased() : String(character)
    }
    return text
}
