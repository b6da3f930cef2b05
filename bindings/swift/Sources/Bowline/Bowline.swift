// The generated types are part of this module's own surface.
@_exported import BowlineCore

/// The revision of the surface that these sources were generated for.
private let revision: UInt32 = 4

extension Engine {
    /// An engine, which makes sessions.
    ///
    /// ```swift
    /// let engine = try Engine.make()
    /// let session = try await engine.start(configuration: DialogueConfiguration(cwd: "/some/project"))
    /// try await session.say("What is in this folder?")
    /// for try await transcript in session.transcripts() {
    ///     print(transcript.phase)
    /// }
    /// ```
    ///
    /// Everything may be called from any task and any thread. What waits is `async`, and gives up
    /// when its task is cancelled.
    ///
    /// - Parameters:
    ///   - program: The agent, a name that is looked up in `PATH` or a path; `claude` when absent.
    ///   - guardedBy: A program that ends sessions if the host is killed: `bowline`, as a path.
    /// - Throws: ``BowlineError/Internal(reason:)`` when the native library is another version than
    ///   these sources.
    public static func make(program: String? = nil, guardedBy: String? = nil) throws -> Engine {
        let found = apiRevision()
        guard found == revision else {
            throw BowlineError.Internal(
                reason: "use the native library: it has revision \(found) of the surface and not "
                    + "\(revision), take the one of this package")
        }
        return Engine(configuration: EngineConfiguration(program: program, guard: guardedBy))
    }
}

extension BowlineError {
    /// What went wrong, for people: a fragment that reads after "failed to" and says what to do next.
    public var reason: String {
        switch self {
        case .Start(let reason), .Configuration(let reason), .Ended(let reason),
            .NotFound(let reason), .Refused(let reason), .NoAnswer(let reason),
            .TooLate(let reason), .Invalid(let reason), .Busy(let reason), .Resume(let reason),
            .Io(let reason), .Cancelled(let reason), .Host(let reason), .Internal(let reason):
            return reason
        }
    }
}

/// Hands log lines of `level` and graver ones to `sink`, from one thread and in order.
public func log(_ level: LogLevel, to sink: @escaping @Sendable (LogLine) -> Void) throws {
    try setLogging(level: level, sink: ClosureSink(sink: sink))
}

/// Ends what ``log(_:to:)`` began.
public func stopLogging() throws {
    try setLogging(level: .off, sink: nil)
}

private final class ClosureSink: LogSink {
    private let sink: @Sendable (LogLine) -> Void

    init(sink: @escaping @Sendable (LogLine) -> Void) {
        self.sink = sink
    }

    func log(line: LogLine) throws {
        sink(line)
    }
}
