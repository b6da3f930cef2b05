/// A generated stream that is read by cursor.
protocol CursorStream: Sendable {
    associatedtype Batch: Sendable
    func next(cursor: UInt64, maxCount: UInt32, coalesceForMs: UInt32) async throws -> Batch?
    func stop()
}

extension ChangeStream: CursorStream {}
extension DialogueEventStream: CursorStream {}
extension SessionEventStream: CursorStream {}
extension HookStream: CursorStream {}
extension HookQuestionStream: CursorStream {}

/// The maximum number of changes or events in a batch, unless given.
private let defaultMaxCount: UInt32 = 10_000

/// The read position in a stream. Only one task uses it at a time.
private final class StreamReader<Source: CursorStream>: @unchecked Sendable {
    private let source: Source
    private var cursor: UInt64

    init(_ source: Source, from cursor: UInt64) {
        self.source = source
        self.cursor = cursor
    }

    deinit {
        source.stop()
    }

    func next(
        maxCount: UInt32, coalesceForMs: UInt32,
        cursorAfter: @Sendable (Source.Batch) -> UInt64
    ) async throws -> Source.Batch? {
        let batch = try await withTaskCancellationHandler {
            try await source.next(
                cursor: cursor, maxCount: maxCount, coalesceForMs: coalesceForMs)
        } onCancel: {
            source.stop()
        }
        if let batch {
            cursor = cursorAfter(batch)
        }
        return batch
    }
}

/// Reads a stream on demand: nothing is buffered, and cancelling the task ends the read in the library.
private func batches<Source: CursorStream>(
    of source: Source, from cursor: UInt64 = 0, maxCount: UInt32 = defaultMaxCount,
    coalesceFor: Duration, cursorAfter: @escaping @Sendable (Source.Batch) -> UInt64
) -> AsyncThrowingStream<Source.Batch, any Error> {
    let reader = StreamReader(source, from: cursor)
    let coalesceForMs = coalesceFor.wholeMilliseconds
    return AsyncThrowingStream {
        try await reader.next(
            maxCount: maxCount, coalesceForMs: coalesceForMs, cursorAfter: cursorAfter)
    }
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
    /// has applied.
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
