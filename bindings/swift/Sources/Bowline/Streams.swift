/// A generated stream that is read by cursor.
protocol CursorStream: Sendable {
    associatedtype Batch: Sendable
    func next(cursor: UInt64, maxCount: UInt32, coalesceForMs: UInt32) async throws -> Batch?
    func stop()
}

extension ChangeStream: CursorStream {}
extension DialogueEventStream: CursorStream {}
extension SessionEventStream: CursorStream {}
extension RawStream: CursorStream {
    func next(cursor: UInt64, maxCount: UInt32, coalesceForMs: UInt32) async throws -> RawBatch? {
        try await next(offset: cursor, maxBytes: maxCount, coalesceForMs: coalesceForMs)
    }
}
extension ConnectionStream: CursorStream {}
extension HookStream: CursorStream {}
extension HookQuestionStream: CursorStream {}
extension InboxStream: CursorStream {}

/// The maximum number of changes or events in a batch, unless given.
private let defaultMaxCount: UInt32 = 10_000

/// Reads a stream and converts its batches, for one task at a time: several tasks may take elements of one
/// stream, each of which goes to one of them.
private actor StreamReader<Source: CursorStream, State: Sendable, Element: Sendable> {
    typealias Step = @Sendable (inout State, Source.Batch) -> (cursor: UInt64, element: Element)

    private let source: Source
    private let maxCount: UInt32
    private let coalesceForMs: UInt32
    private let step: Step
    private var cursor: UInt64
    private var state: State
    private var isReading = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(
        _ source: Source, from cursor: UInt64, maxCount: UInt32, coalesceFor: Duration, state: State,
        step: @escaping Step
    ) {
        self.source = source
        self.cursor = cursor
        self.maxCount = maxCount
        self.coalesceForMs = coalesceFor.wholeMilliseconds
        self.state = state
        self.step = step
    }

    deinit {
        source.stop()
    }

    /// Returns the next element, or nil at the end or once the task is cancelled.
    func next() async throws -> Element? {
        await enter()
        defer { leave() }
        guard let batch = try await read() else { return nil }
        let (cursorAfter, element) = step(&state, batch)
        cursor = cursorAfter
        return element
    }

    private func read() async throws -> Source.Batch? {
        let (source, cursor) = (source, cursor)
        let (maxCount, coalesceForMs) = (maxCount, coalesceForMs)
        do {
            return try await source.next(
                cursor: cursor, maxCount: maxCount, coalesceForMs: coalesceForMs)
        } catch is CancellationError {
            source.stop()
            return nil
        }
    }

    /// Waits until no other task reads.
    private func enter() async {
        guard isReading else {
            isReading = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func leave() {
        if waiting.isEmpty {
            isReading = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}

/// Reads a stream on demand: nothing is buffered, and cancelling the task ends the read in the library.
private func batches<Source: CursorStream>(
    of source: Source, from cursor: UInt64 = 0, maxCount: UInt32 = defaultMaxCount,
    coalesceFor: Duration, cursorAfter: @escaping @Sendable (Source.Batch) -> UInt64
) -> AsyncThrowingStream<Source.Batch, any Error> {
    let reader = StreamReader<Source, Void, Source.Batch>(
        source, from: cursor, maxCount: maxCount, coalesceFor: coalesceFor, state: ()
    ) { (cursorAfter($1), $1) }
    return AsyncThrowingStream { try await reader.next() }
}

/// Reads a stream of changes and returns the transcript after each batch.
func transcriptStream(
    of source: ChangeStream, coalesceFor: Duration
) -> AsyncThrowingStream<Transcript, any Error> {
    let reader = StreamReader<ChangeStream, Transcript, Transcript>(
        source, from: 0, maxCount: defaultMaxCount, coalesceFor: coalesceFor, state: Transcript()
    ) { transcript, batch in
        transcript.apply(batch)
        return (batch.cursor, transcript)
    }
    return AsyncThrowingStream { try await reader.next() }
}

/// Reads the states of a connection one by one.
private func states(
    of source: ConnectionStream
) -> AsyncThrowingStream<ConnectionView, any Error> {
    let reader = StreamReader<ConnectionStream, Void, ConnectionView?>(
        source, from: 0, maxCount: 1, coalesceFor: .zero, state: ()
    ) { ($1.cursor, $1.events.first) }
    return AsyncThrowingStream { try await reader.next() ?? nil }
}

extension Duration {
    fileprivate var wholeMilliseconds: UInt32 {
        let (seconds, attoseconds) = components
        let milliseconds = seconds.multipliedReportingOverflow(by: 1_000)
        guard seconds >= 0, !milliseconds.overflow else { return seconds < 0 ? 0 : .max }
        return UInt32(clamping: milliseconds.partialValue + attoseconds / 1_000_000_000_000_000)
    }
}

extension DialogueSession {
    /// The changes of the transcript, batch by batch, until the session ends.
    ///
    /// A reader that was cancelled can continue without loss from the cursor of the last batch that it
    /// has applied. A cursor of another session begins anew, with a reset.
    ///
    /// - Parameters:
    ///   - cursor: The cursor to read from; 0 for the whole transcript.
    ///   - maxCount: The maximum number of changes in a batch. A reset is never split.
    ///   - coalesceFor: How long to wait for further changes after the first one. The default is one
    ///     frame of a display at 60 Hz.
    /// - Throws: ``BowlineError``.
    public func changes(
        from cursor: UInt64 = 0, maxCount: UInt32 = 10_000, coalesceFor: Duration = .milliseconds(16)
    ) throws -> AsyncThrowingStream<ChangeBatch, any Error> {
        batches(of: try changeStream(), from: cursor, maxCount: maxCount, coalesceFor: coalesceFor) {
            $0.cursor
        }
    }

    /// The events of the session from now on, batch by batch, until the session ends.
    ///
    /// - Parameters:
    ///   - limits: How many unread events are kept.
    ///   - coalesceFor: How long to wait for further events after the first one.
    /// - Throws: ``BowlineError``.
    public func events(
        limits: EventLimits? = nil, coalesceFor: Duration = .zero
    ) throws -> AsyncThrowingStream<DialogueEventBatch, any Error> {
        batches(of: try eventStream(limits: limits), coalesceFor: coalesceFor) { $0.cursor }
    }

    /// The bytes of the agent's output from an offset on, batch by batch, until the session ends.
    ///
    /// Bytes that are no longer kept, or that were not read in time, are a gap; a reader never holds the
    /// program back.
    ///
    /// - Parameters:
    ///   - offset: The offset to read from: 0 for the beginning, ``rawEnd(kind:)`` for what comes.
    ///   - kind: The stream; the output if it is nil.
    ///   - maxBytes: About how many bytes a batch has at most.
    /// - Throws: ``BowlineError``.
    public func rawOutput(
        from offset: UInt64 = 0, kind: OutputKind? = nil, maxBytes: UInt32 = 65_536
    ) throws -> AsyncThrowingStream<RawBatch, any Error> {
        batches(of: try rawStream(kind: kind), from: offset, maxCount: maxBytes, coalesceFor: .zero) {
            $0.offset
        }
    }

    /// The states of the connection to the agent's machine, from the current one until the session ends.
    ///
    /// No outage is left out; attempts that were not read in time are one, the newest.
    ///
    /// - Throws: ``BowlineError``.
    public func connectionStates() throws -> AsyncThrowingStream<ConnectionView, any Error> {
        states(of: try connectionStream())
    }
}

extension Engine {
    /// The permission requests of all sessions of this process, local and at runners, and what else needs
    /// attention, one by one: first the requests that are open, then what happens from now on.
    ///
    /// Answer with ``respond(session:requestId:answer:answeredBy:)``. The stream ends once its task is cancelled.
    ///
    /// - Throws: ``BowlineError``.
    public func inbox() throws -> AsyncThrowingStream<InboxEvent, any Error> {
        let reader = StreamReader<InboxStream, Void, InboxEvent?>(
            try inboxStream(), from: 0, maxCount: 1, coalesceFor: .zero, state: ()
        ) { ($1.cursor, $1.events.first) }
        return AsyncThrowingStream { try await reader.next() ?? nil }
    }
}

extension Recording {
    /// The changes of the recording's transcript, batch by batch; see
    /// ``DialogueSession/changes(from:maxCount:coalesceFor:)``.
    public func changes(
        from cursor: UInt64 = 0, maxCount: UInt32 = 10_000
    ) throws -> AsyncThrowingStream<ChangeBatch, any Error> {
        batches(of: try changeStream(), from: cursor, maxCount: maxCount, coalesceFor: .zero) {
            $0.cursor
        }
    }
}

extension ShellSession {
    /// The events of the shell, batch by batch, until its program ends.
    ///
    /// - Parameters:
    ///   - fromStart: Whether to begin with the oldest line that is kept, instead of now.
    ///   - coalesceFor: How long to wait for further events after the first one.
    /// - Throws: ``BowlineError``.
    public func events(
        fromStart: Bool = true, coalesceFor: Duration = .zero
    ) throws -> AsyncThrowingStream<SessionEventBatch, any Error> {
        batches(of: try eventStream(fromStart: fromStart), coalesceFor: coalesceFor) { $0.cursor }
    }

    /// The bytes of the terminal from an offset on, batch by batch, until the program ends.
    ///
    /// Bytes that are no longer kept, or that were not read in time, are a gap; a reader never holds the
    /// program back.
    ///
    /// - Parameters:
    ///   - offset: The offset to read from: 0 for the beginning, ``outputBytes()`` for what comes.
    ///   - maxBytes: About how many bytes a batch has at most.
    /// - Throws: ``BowlineError``.
    public func rawOutput(
        from offset: UInt64 = 0, maxBytes: UInt32 = 65_536
    ) throws -> AsyncThrowingStream<RawBatch, any Error> {
        batches(of: try rawStream(), from: offset, maxCount: maxBytes, coalesceFor: .zero) {
            $0.offset
        }
    }

    /// The states of the connection to the shell's machine; see ``DialogueSession/connectionStates()``.
    ///
    /// - Throws: ``BowlineError``.
    public func connectionStates() throws -> AsyncThrowingStream<ConnectionView, any Error> {
        states(of: try connectionStream())
    }
}

extension SessionManager {
    /// The events of all sessions from now on, batch by batch.
    ///
    /// - Parameter coalesceFor: How long to wait for further events after the first one.
    /// - Throws: ``BowlineError``.
    public func events(
        coalesceFor: Duration = .zero
    ) throws -> AsyncThrowingStream<SessionEventBatch, any Error> {
        batches(of: try eventStream(), coalesceFor: coalesceFor) { $0.cursor }
    }
}

extension HookServer {
    /// The hook events from now on, batch by batch, until the server stops.
    ///
    /// - Parameter coalesceFor: How long to wait for further events after the first one.
    /// - Throws: ``BowlineError``.
    public func events(
        coalesceFor: Duration = .zero
    ) throws -> AsyncThrowingStream<HookBatch, any Error> {
        batches(of: try eventStream(), coalesceFor: coalesceFor) { $0.cursor }
    }

    /// The hooks that wait for a decision of the host. They can be read once.
    ///
    /// - Throws: ``BowlineError/Busy(reason:)`` if they are being read.
    public func questions() throws -> AsyncThrowingStream<HookQuestionBatch, any Error> {
        batches(of: try questionStream(), coalesceFor: .zero) { $0.cursor }
    }
}

extension TerminalExecutor {
    /// The bytes of all commands, one after another, from an offset on, batch by batch, until the executor is cleaned up.
    ///
    /// Bytes that are no longer kept, or that were not read in time, are a gap; a reader never holds the
    /// program back.
    ///
    /// - Parameters:
    ///   - offset: The offset to read from: 0 for the beginning, that of the last batch for what comes.
    ///   - maxBytes: About how many bytes a batch has at most.
    /// - Throws: ``BowlineError``.
    public func rawOutput(
        from offset: UInt64 = 0, maxBytes: UInt32 = 65_536
    ) throws -> AsyncThrowingStream<RawBatch, any Error> {
        batches(of: try rawStream(), from: offset, maxCount: maxBytes, coalesceFor: .zero) {
            $0.offset
        }
    }

    /// The hook events from now on, batch by batch, until the executor is cleaned up.
    ///
    /// - Parameter coalesceFor: How long to wait for further events after the first one.
    /// - Throws: ``BowlineError``.
    public func events(
        coalesceFor: Duration = .zero
    ) throws -> AsyncThrowingStream<HookBatch, any Error> {
        batches(of: try hookStream(), coalesceFor: coalesceFor) { $0.cursor }
    }

    /// The hooks that wait for a decision of the host. They can be read once.
    ///
    /// - Throws: ``BowlineError/Busy(reason:)`` if they are being read.
    public func questions() throws -> AsyncThrowingStream<HookQuestionBatch, any Error> {
        batches(of: try questionStream(), coalesceFor: .zero) { $0.cursor }
    }
}
