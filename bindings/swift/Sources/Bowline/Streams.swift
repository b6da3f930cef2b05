/// What can be pulled by a cursor and stopped.
protocol Pullable: Sendable {
    associatedtype Batch: Sendable
    func next(cursor: UInt64, most: UInt32, lingerMs: UInt32) async throws -> Batch?
    func stop()
}

extension ChangeStream: Pullable {}
extension DialogueEventStream: Pullable {}
extension SessionEventStream: Pullable {}
extension HookStream: Pullable {}
extension HookQuestionStream: Pullable {}

/// One frame of a screen at 60 Hz: what comes within it is told as one.
private let frame: UInt32 = 16

/// Most changes or events of one batch.
private let many: UInt32 = 10_000

/// The place of one reader. It is used by one task at a time.
private final class Place<Source: Pullable>: @unchecked Sendable {
    private let source: Source
    private var cursor: UInt64

    init(_ source: Source, _ cursor: UInt64) {
        self.source = source
        self.cursor = cursor
    }

    deinit {
        source.stop()
    }

    func next(
        _ most: UInt32, _ linger: UInt32, _ behind: @Sendable (Source.Batch) -> UInt64
    ) async throws -> Source.Batch? {
        let batch = try await withTaskCancellationHandler {
            try await source.next(cursor: cursor, most: most, lingerMs: linger)
        } onCancel: {
            source.stop()
        }
        if let batch {
            cursor = behind(batch)
        }
        return batch
    }
}

/// The batches of a source, pulled as they are asked for: nothing is buffered, and cancelling the
/// task stops the reader inside of the library.
private func batches<Source: Pullable>(
    _ source: Source, from cursor: UInt64 = 0, most: UInt32 = many, linger: UInt32,
    behind: @escaping @Sendable (Source.Batch) -> UInt64
) -> AsyncThrowingStream<Source.Batch, any Error> {
    let place = Place(source, cursor)
    return AsyncThrowingStream { try await place.next(most, linger, behind) }
}

extension DialogueSession {
    /// The changes of the transcript, batch by batch. A reader that was cancelled goes on where it
    /// was with the cursor of the last batch that it has used. The stream ends with the session.
    ///
    /// - Parameters:
    ///   - cursor: Where to begin; 0 for the beginning.
    ///   - most: The most changes of one batch; a reset comes whole.
    ///   - linger: How long to wait for more when something came, in milliseconds.
    public func batches(
        from cursor: UInt64 = 0, most: UInt32 = 10_000, linger: UInt32 = 16
    ) throws -> AsyncThrowingStream<ChangeBatch, any Error> {
        Bowline.batches(try changes(), from: cursor, most: most, linger: linger) { $0.cursor }
    }

    /// What happens in the session from now on, batch by batch.
    public func happenings(
        limits: EventLimits? = nil, linger: UInt32 = 0
    ) throws -> AsyncThrowingStream<DialogueEventBatch, any Error> {
        Bowline.batches(try events(limits: limits), linger: linger) { $0.cursor }
    }
}

extension Recording {
    /// The changes of the recording, batch by batch; see ``DialogueSession/batches(from:most:linger:)``.
    public func batches(
        from cursor: UInt64 = 0, most: UInt32 = 10_000
    ) throws -> AsyncThrowingStream<ChangeBatch, any Error> {
        Bowline.batches(try changes(), from: cursor, most: most, linger: 0) { $0.cursor }
    }
}

extension ShellSession {
    /// What the shell tells, from the oldest line kept or from now on.
    public func happenings(
        fromStart: Bool = true, linger: UInt32 = 0
    ) throws -> AsyncThrowingStream<SessionEventBatch, any Error> {
        Bowline.batches(try events(fromStart: fromStart), linger: linger) { $0.cursor }
    }
}

extension SessionManager {
    /// What all sessions of the manager tell from now on.
    public func happenings(linger: UInt32 = 0) throws -> AsyncThrowingStream<SessionEventBatch, any Error> {
        Bowline.batches(try events(), linger: linger) { $0.cursor }
    }
}

extension HookServer {
    /// The hooks from now on.
    public func happenings(linger: UInt32 = 0) throws -> AsyncThrowingStream<HookBatch, any Error> {
        Bowline.batches(try events(), linger: linger) { $0.cursor }
    }

    /// The questions of the gate, once: there is one who decides.
    public func asked() throws -> AsyncThrowingStream<HookQuestionBatch, any Error> {
        Bowline.batches(try questions(), linger: 0) { $0.cursor }
    }
}

extension TerminalExecutor {
    /// The hooks from now on.
    public func happenings(linger: UInt32 = 0) throws -> AsyncThrowingStream<HookBatch, any Error> {
        Bowline.batches(try hooks(), linger: linger) { $0.cursor }
    }

    /// The questions of the hooks' gate, once: there is one who decides.
    public func asked() throws -> AsyncThrowingStream<HookQuestionBatch, any Error> {
        Bowline.batches(try questions(), linger: 0) { $0.cursor }
    }
}
