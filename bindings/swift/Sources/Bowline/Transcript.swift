/// A transcript, updated by batches of changes.
///
/// Apply batches from ``DialogueSession/changes(from:maxCount:coalesceFor:)`` in order, or read complete
/// transcripts from ``DialogueSession/transcripts(coalesceFor:)``.
public struct Transcript: Sendable {
    /// The conversation, agent, plan and settings.
    public private(set) var session: SessionView?
    /// The phase of the session.
    public private(set) var phase = Phase.starting
    /// A short description of the evidence for the phase.
    public private(set) var reason = ""
    /// The token usage and cost.
    public private(set) var usage: UsageView?
    /// The counts of lines and events.
    public private(set) var stats: StatsView?
    /// The cursor of the last batch, from which to read on.
    public private(set) var cursor: UInt64 = 0

    private var threads: [String?: Thread] = [:]
    private var entriesByNumber: [UInt32: Entry] = [:]
    /// The entry of each block.
    private var entryOfBlock: [UInt32: UInt32] = [:]
    private var calls: [UInt32: Call] = [:]
    private var callNumbers: [String: UInt32] = [:]
    private var taskViews = NumberedList<TaskView>()
    private var permissionViews = NumberedList<PermissionView>()

    /// Creates an empty transcript.
    public init() {}

    /// An entry of a transcript.
    public struct Entry: Sendable, Identifiable {
        /// The number of the entry. Entries are ordered by number.
        public let id: UInt32
        /// The id of the tool call whose sub-agent wrote the entry, or the name of a thread that no call
        /// holds; absent on the main thread.
        public internal(set) var thread: String?
        /// The entry's turn, time and place.
        public internal(set) var detail: EntryDetail
        /// The entry's content without blocks.
        public internal(set) var value: EntryKind
        fileprivate var numberedBlocks = NumberedList<Block>()
        /// The blocks of a message, in order.
        public var blocks: [Block] { numberedBlocks.values }
    }

    /// A block of a message.
    public struct Block: Sendable, Identifiable {
        /// The number of the block. Blocks are ordered by number.
        public let id: UInt32
        /// The block's lines in the agent's output.
        public private(set) var bytes: ByteRange
        /// The block's content when it was added. For a block that grows, ``text`` has the current text.
        public let value: BlockKind
        /// The current text of a text or thinking block; empty for other blocks.
        public private(set) var text: String

        init(id: UInt32, bytes: ByteRange, value: BlockKind) {
            self.id = id
            self.bytes = bytes
            self.value = value
            switch value {
            case .text(let text), .thinking(let text): self.text = text
            default: self.text = ""
            }
        }

        mutating func append(from: Int, end: UInt64, _ more: String) {
            bytes.end = end
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

    /// The background tasks, oldest first.
    public var tasks: [TaskView] { taskViews.values }

    /// The permission requests, oldest first.
    public var permissions: [PermissionView] { permissionViews.values }

    /// Returns the entries of a thread, in order.
    ///
    /// - Parameter thread: The `tool_use` id of the call that started a sub-agent, or the name of a thread
    ///   that no call holds; `nil` for the main thread.
    public func entries(of thread: String? = nil) -> [Entry] {
        threads[thread]?.entries.compactMap { entriesByNumber[$0] } ?? []
    }

    /// The number of the main thread's first entry. More than 0 if entries were dropped before it.
    public var firstEntry: UInt32? { threads[nil]?.entries.first }

    /// Returns the newest entries of a thread, in order.
    ///
    /// - Parameters:
    ///   - thread: As for ``entries(of:)``.
    ///   - count: The maximum number of entries.
    public func entries(of thread: String? = nil, last count: Int) -> [Entry] {
        threads[thread]?.entries.suffix(max(0, count)).compactMap { entriesByNumber[$0] } ?? []
    }

    /// Returns the entries of a thread from a number on, in order.
    ///
    /// - Parameters:
    ///   - thread: As for ``entries(of:)``.
    ///   - number: The lowest number to return; there need not be such an entry.
    public func entries(of thread: String? = nil, from number: UInt32) -> [Entry] {
        guard let numbers = threads[thread]?.entries else { return [] }
        return numbers[numbers.position(of: number).at...].compactMap { entriesByNumber[$0] }
    }

    /// Returns the tool calls of a thread, in order.
    ///
    /// - Parameter thread: As for ``entries(of:)``.
    public func toolCalls(of thread: String? = nil) -> [ToolCallView] {
        threads[thread]?.calls.compactMap { calls[$0]?.value } ?? []
    }

    /// Returns a tool call of any thread.
    ///
    /// - Parameter id: The call's `tool_use` id.
    public func toolCall(_ id: String) -> ToolCallView? {
        callNumbers[id].flatMap { calls[$0]?.value }
    }

    /// Applies a batch of changes. Batches must be applied in order.
    ///
    /// - Parameter batch: The batch.
    public mutating func apply(_ batch: ChangeBatch) {
        if batch.isReset {
            self = Transcript()
        }
        for change in batch.changes {
            apply(change)
        }
        cursor = batch.cursor
    }

    /// Adds the entries and tool calls of a page, which may be there already.
    ///
    /// - Parameter page: The page of a snapshot or of a recording.
    public mutating func apply(_ page: SnapshotPage) {
        for change in page.changes {
            apply(change)
        }
    }

    private mutating func apply(_ change: Change) {
        switch change {
        case .session(let value): session = value
        case .status(let phase, let reason): (self.phase, self.reason) = (phase, reason)
        case .entry(let entry, let thread, let detail, let value):
            put(entry, thread, detail, value)
        case .entryRemoved(let entry):
            if let removed = entriesByNumber.removeValue(forKey: entry) {
                threads[removed.thread]?.entries.remove(number: entry)
            }
        case .block(let block, let entry, let bytes, let value):
            entryOfBlock[block] = entry
            let added = Block(id: block, bytes: bytes, value: value)
            entriesByNumber[entry]?.numberedBlocks[block] = added
        case .append(let block, let from, let end, let text):
            if let entry = entryOfBlock[block] {
                entriesByNumber[entry]?.numberedBlocks.update(block) {
                    $0.append(from: Int(from), end: end, text)
                }
            }
        case .blockRemoved(let block):
            if let entry = entryOfBlock.removeValue(forKey: block) {
                entriesByNumber[entry]?.numberedBlocks[block] = nil
            }
        case .toolCall(let call, let thread, let value): put(call, thread, value)
        case .toolCallRemoved(let call):
            if let removed = calls.removeValue(forKey: call) {
                threads[removed.thread]?.calls.remove(number: call)
                if callNumbers[removed.value.id] == call { callNumbers[removed.value.id] = nil }
            }
        case .backgroundTask(let number, let value): taskViews[number] = value
        case .permission(let number, let value): permissionViews[number] = value
        case .usage(let value): usage = value
        case .stats(let value): stats = value
        }
    }

    private mutating func put(
        _ entry: UInt32, _ thread: String?, _ detail: EntryDetail, _ value: EntryKind
    ) {
        if let old = entriesByNumber[entry]?.thread, old != thread {
            threads[old]?.entries.remove(number: entry)
        } else if let old = entriesByNumber[entry], old.thread == nil, thread != nil {
            threads[nil]?.entries.remove(number: entry)
        }
        var updated =
            entriesByNumber[entry] ?? Entry(id: entry, thread: thread, detail: detail, value: value)
        (updated.thread, updated.detail, updated.value) = (thread, detail, value)
        entriesByNumber[entry] = updated
        threads[thread, default: Thread()].entries.insert(number: entry)
    }

    private mutating func put(_ call: UInt32, _ thread: String?, _ value: ToolCallView) {
        if let old = calls[call], old.thread != thread {
            threads[old.thread]?.calls.remove(number: call)
        }
        calls[call] = Call(thread: thread, value: value)
        callNumbers[value.id] = call
        threads[thread, default: Thread()].calls.insert(number: call)
    }

    /// The tool calls of all threads, in the order in which they began.
    var allCalls: [ToolCallView] {
        calls.keys.sorted().compactMap { calls[$0]?.value }
    }

    /// Returns the transcript as one line of JSON, equal to ``TranscriptSnapshot`` of the same state byte by
    /// byte.
    ///
    /// - Parameter schema: The version of the schema.
    public func json(schema: TranscriptSchema = .two) -> String {
        var writer = TranscriptWriter(transcript: self, schema: schema)
        return writer.write()
    }
}

/// Values in the order of their numbers. Appending is the common case.
struct NumberedList<Value: Sendable>: Sendable {
    private(set) var numbers: [UInt32] = []
    private(set) var values: [Value] = []

    subscript(number: UInt32) -> Value? {
        get { numbers.position(of: number).found.map { values[$0] } }
        set {
            let position = numbers.position(of: number)
            switch (position.found, newValue) {
            case (let at?, let value?): values[at] = value
            case (let at?, nil):
                numbers.remove(at: at)
                values.remove(at: at)
            case (nil, let value?):
                numbers.insert(number, at: position.at)
                values.insert(value, at: position.at)
            case (nil, nil): break
            }
        }
    }

    /// Updates a value in place.
    mutating func update(_ number: UInt32, _ body: (inout Value) -> Void) {
        if let at = numbers.position(of: number).found {
            body(&values[at])
        }
    }
}

extension [UInt32] {
    /// Returns the index of a number, or the index to insert it at.
    fileprivate func position(of number: UInt32) -> (at: Int, found: Int?) {
        if let last, last < number { return (count, nil) }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return (low, low < count && self[low] == number ? low : nil)
    }

    fileprivate mutating func insert(number: UInt32) {
        let position = position(of: number)
        if position.found == nil { insert(number, at: position.at) }
    }

    fileprivate mutating func remove(number: UInt32) {
        if let at = position(of: number).found { remove(at: at) }
    }
}
