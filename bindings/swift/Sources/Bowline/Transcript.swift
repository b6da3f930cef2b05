/// A transcript that is kept up to date by batches of changes.
public struct Transcript: Sendable {
    /// The session's conversation, model and mode.
    public private(set) var session: SessionView?
    /// What the session is doing.
    public private(set) var phase = Phase.starting
    /// Why the session is in its phase, in a few words.
    public private(set) var reason = ""
    /// What was used.
    public private(set) var usage: UsageView?
    /// What was counted.
    public private(set) var stats: StatsView?
    /// The cursor of the last batch: where to read on.
    public private(set) var cursor: UInt64 = 0

    private var threads: [String?: Thread] = [:]
    private var rows: [UInt32: Entry] = [:]
    /// The entry that a block belongs to.
    private var owners: [UInt32: UInt32] = [:]
    private var calls: [UInt32: Call] = [:]
    private var named: [String: UInt32] = [:]
    private var taskViews = Sorted<TaskView>()
    private var permissionViews = Sorted<PermissionView>()

    /// An empty transcript.
    public init() {}

    /// One row of a transcript.
    public struct Entry: Sendable, Identifiable {
        /// Names the entry; entries stand in the order of their numbers.
        public let id: UInt32
        /// The tool call that holds its thread; none on the main thread.
        public internal(set) var thread: String?
        /// When it began, in milliseconds since 1970; 0 in a recording.
        public internal(set) var atMs: UInt64
        /// What it says, without blocks.
        public internal(set) var value: EntryKind
        fileprivate var parts = Sorted<Block>()
        /// The parts of a message, in order.
        public var blocks: [Block] { parts.values }
    }

    /// One part of a message.
    public struct Block: Sendable, Identifiable {
        /// Names the block; blocks stand in the order of their numbers.
        public let id: UInt32
        /// What it was when it came. The text of one that grows is `text`.
        public let value: BlockKind
        /// What a text or thinking block says, as far as it has come; empty for other kinds.
        public private(set) var text: String

        init(id: UInt32, value: BlockKind) {
            self.id = id
            self.value = value
            switch value {
            case .text(let text), .thinking(let text): self.text = text
            default: self.text = ""
            }
        }

        mutating func append(from: Int, _ more: String) {
            if from < text.utf8.count {
                let index = text.utf8.index(text.utf8.startIndex, offsetBy: from)
                text.removeSubrange(index...)
            }
            text += more
        }
    }

    private struct Thread: Sendable {
        var entries: [UInt32] = []
        var calls: [UInt32] = []
    }

    private struct Call: Sendable {
        var thread: String?
        var value: ToolCallView
    }

    /// The background tasks, in the order of announcement.
    public var tasks: [TaskView] { taskViews.values }

    /// The permission requests, in the order of asking.
    public var permissions: [PermissionView] { permissionViews.values }

    /// The entries of the main thread, or of a sub-agent by the `tool_use` id of its call, in order.
    public func entries(of thread: String? = nil) -> [Entry] {
        threads[thread]?.entries.compactMap { rows[$0] } ?? []
    }

    /// The tool calls of a thread, in the order of announcement.
    public func toolCalls(of thread: String? = nil) -> [ToolCallView] {
        threads[thread]?.calls.compactMap { calls[$0]?.value } ?? []
    }

    /// A tool call of any thread, by its `tool_use` id.
    public func toolCall(_ id: String) -> ToolCallView? {
        named[id].flatMap { calls[$0]?.value }
    }

    /// Takes the next batch.
    public mutating func apply(_ batch: ChangeBatch) {
        if batch.isReset {
            self = Transcript()
        }
        for change in batch.changes {
            apply(change)
        }
        cursor = batch.cursor
    }

    private mutating func apply(_ change: Change) {
        switch change {
        case .session(let value): session = value
        case .status(let phase, let reason): (self.phase, self.reason) = (phase, reason)
        case .entry(let entry, let thread, let atMs, let value):
            put(entry, thread, atMs, value)
        case .entryRemoved(let entry):
            if let row = rows.removeValue(forKey: entry) {
                threads[row.thread]?.entries.remove(number: entry)
            }
        case .block(let block, let entry, let value):
            owners[block] = entry
            rows[entry]?.parts[block] = Block(id: block, value: value)
        case .append(let block, let from, let text):
            if let entry = owners[block] {
                rows[entry]?.parts.change(block) { $0.append(from: Int(from), text) }
            }
        case .blockRemoved(let block):
            if let entry = owners.removeValue(forKey: block) {
                rows[entry]?.parts[block] = nil
            }
        case .toolCall(let call, let thread, let value): put(call, thread, value)
        case .toolCallRemoved(let call):
            if let gone = calls.removeValue(forKey: call) {
                threads[gone.thread]?.calls.remove(number: call)
                if named[gone.value.id] == call { named[gone.value.id] = nil }
            }
        case .backgroundTask(let number, let value): taskViews[number] = value
        case .permission(let number, let value): permissionViews[number] = value
        case .usage(let value): usage = value
        case .stats(let value): stats = value
        }
    }

    private mutating func put(
        _ entry: UInt32, _ thread: String?, _ atMs: UInt64, _ value: EntryKind
    ) {
        if let old = rows[entry]?.thread, old != thread {
            threads[old]?.entries.remove(number: entry)
        } else if let row = rows[entry], row.thread == nil, thread != nil {
            threads[nil]?.entries.remove(number: entry)
        }
        var row = rows[entry] ?? Entry(id: entry, thread: thread, atMs: atMs, value: value)
        (row.thread, row.atMs, row.value) = (thread, atMs, value)
        rows[entry] = row
        threads[thread, default: Thread()].entries.insert(number: entry)
    }

    private mutating func put(_ call: UInt32, _ thread: String?, _ value: ToolCallView) {
        if let old = calls[call], old.thread != thread {
            threads[old.thread]?.calls.remove(number: call)
        }
        calls[call] = Call(thread: thread, value: value)
        named[value.id] = call
        threads[thread, default: Thread()].calls.insert(number: call)
    }

    /// The transcript as one line of JSON, schema 1, byte for byte as the library writes it.
    public func json() -> String {
        var writer = TranscriptWriter(transcript: self)
        return writer.write()
    }
}

/// Values in the order of their numbers, which grow as a rule.
struct Sorted<Value: Sendable>: Sendable {
    private(set) var numbers: [UInt32] = []
    private(set) var values: [Value] = []

    subscript(number: UInt32) -> Value? {
        get { numbers.place(of: number).found.map { values[$0] } }
        set {
            let place = numbers.place(of: number)
            switch (place.found, newValue) {
            case (let at?, let value?): values[at] = value
            case (let at?, nil):
                numbers.remove(at: at)
                values.remove(at: at)
            case (nil, let value?):
                numbers.insert(number, at: place.at)
                values.insert(value, at: place.at)
            case (nil, nil): break
            }
        }
    }

    /// Changes a value where it stands, without a copy of it.
    mutating func change(_ number: UInt32, _ body: (inout Value) -> Void) {
        if let at = numbers.place(of: number).found {
            body(&values[at])
        }
    }
}

extension [UInt32] {
    /// Where a number stands, or would stand.
    fileprivate func place(of number: UInt32) -> (at: Int, found: Int?) {
        if let last, last < number { return (count, nil) }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return (low, low < count && self[low] == number ? low : nil)
    }

    fileprivate mutating func insert(number: UInt32) {
        let place = place(of: number)
        if place.found == nil { insert(number, at: place.at) }
    }

    fileprivate mutating func remove(number: UInt32) {
        if let at = place(of: number).found { remove(at: at) }
    }
}
