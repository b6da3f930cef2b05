// The generated types are part of this module's API.
@_exported import BowlineCore
internal import BowlineCoreFFI

/// The API revision that these sources were generated for.
private let apiRevisionOfSources: UInt32 = 21

extension Engine {
    /// Creates an engine, which starts sessions.
    ///
    /// ```swift
    /// let engine = try Engine.make()
    /// let session = try await engine.start(configuration: DialogueConfiguration(cwd: "/some/project"))
    /// try await session.send("What is in this folder?")
    /// for try await transcript in try session.transcripts() {
    ///     print(transcript.phase)
    /// }
    /// ```
    ///
    /// Every method may be called from any task and any thread. Methods that wait are `async` and end
    /// when their task is cancelled. Releasing the last handle of a session terminates a local agent and
    /// detaches from one at a runner; see ``DialogueSession``.
    ///
    /// - Parameters:
    ///   - program: The agent's path, or a name to look up in `PATH`. The default is `claude`.
    ///   - guard: The path of `bowline`, run as a guard that terminates sessions if the host is killed. For
    ///     the default, see `EngineConfiguration`.
    /// - Throws: ``BowlineError/Internal(reason:)`` if the native library has another version than
    ///   these sources.
    public static func make(program: String? = nil, guard: String? = nil) throws -> Engine {
        try checkRevision(libraryRevision())
        return Engine(configuration: EngineConfiguration(program: program, guard: `guard`))
    }
}

/// Returns the API revision of the native library. Other calls compare the checksums of all functions first,
/// and end the process if one differs.
func libraryRevision() -> UInt32 {
    var status = RustCallStatus()
    return uniffi_bowline_ffi_fn_func_api_revision(&status)
}

/// Throws unless these sources were generated for the revision.
func checkRevision(_ found: UInt32) throws {
    guard found == apiRevisionOfSources else {
        throw BowlineError.Internal(
            reason: "load the native library: it has API revision \(found), not "
                + "\(apiRevisionOfSources); use the library of this package")
    }
}

extension BowlineError {
    /// A description for people: a fragment that reads after "failed to" and ends with what to do next.
    public var reason: String {
        switch self {
        case .Start(let reason), .Configuration(let reason), .Disconnected(let reason),
            .Ended(let reason), .NotFound(let reason), .Refused(let reason), .NoAnswer(let reason),
            .TooLate(let reason), .Invalid(let reason), .Busy(let reason), .Resume(let reason),
            .Io(let reason), .Cancelled(let reason), .Host(let reason), .Internal(let reason):
            return reason
        }
    }
}

/// Delivers the library's log lines to a closure.
///
/// The closure runs on one thread of the library and receives the lines in order. It replaces an
/// earlier one.
///
/// - Parameters:
///   - level: The least severe level to deliver.
///   - sink: The closure.
/// - Throws: ``BowlineError/Busy(reason:)`` if the process has its own log of the library.
public func log(_ level: LogLevel, to sink: @escaping @Sendable (LogLine) -> Void) throws {
    try setLogging(level: level, sink: ClosureSink(sink: sink))
}

/// Stops the delivery that ``log(_:to:)`` started.
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
