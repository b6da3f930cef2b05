import Bowline
import Foundation
import Observation
import XCTest

/// The directory of the programs that cargo has built.
let programs = URL(
    fileURLWithPath: ProcessInfo.processInfo.environment["BOWLINE_PROGRAMS"]
        ?? "\(package)/../../target/debug")

/// The directory of the recorded streams.
let fixtures = URL(fileURLWithPath: "\(package)/../../tests/fixtures")

private let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

func engine() throws -> Engine {
    try Engine.make(program: programs.appendingPathComponent("understudy").path)
}

func temporaryDirectory() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
}

/// A dialogue with the simulated agent, without delays, in an empty directory.
func configuration(
    _ args: String..., folder: URL? = nil, options: AgentOptions? = nil,
    conversation: Conversation? = nil, set: [String: String] = [:]
) throws -> DialogueConfiguration {
    let folder = try folder ?? temporaryDirectory()
    let agent = folder.appendingPathComponent("agent").path
    let variables = set.merging(["CLAUDE_CONFIG_DIR": agent]) { given, _ in given }
    return DialogueConfiguration(
        args: ["--pace", "0"] + args, options: options,
        environment: EnvironmentChanges(set: variables), cwd: folder.path,
        conversation: conversation)
}

/// Runs `body` with a session and terminates it.
func withSession<Value: Sendable>(
    _ configuration: DialogueConfiguration, _ body: @Sendable (DialogueSession) async throws -> Value
) async throws -> Value {
    let session = try await engine().start(configuration: configuration)
    do {
        let value = try await body(session)
        _ = try await session.terminate()
        return value
    } catch {
        _ = try await session.terminate()
        throw error
    }
}

struct MissingValue: Error {}

extension DialogueSession {
    /// Waits until the transcript satisfies the predicate.
    @discardableResult
    func until(_ predicate: @Sendable (Transcript) -> Bool) async throws -> Transcript {
        for try await transcript in try transcripts(coalesceFor: .zero) where predicate(transcript) {
            return transcript
        }
        throw MissingValue()
    }

    /// Waits for a permission request and returns it.
    func awaitPermissionRequest() async throws -> PermissionRecord {
        try await until { $0.phase == .awaitingPermission }
        guard let open = try permissions().first(where: { $0.state == .open }) else { throw MissingValue() }
        return open
    }
}

extension Transcript {
    var results: [TurnOutcome] {
        entries().compactMap {
            if case .result(_, _, let outcome, _, _, _, _) = $0.value { outcome } else { nil }
        }
    }

    var text: String {
        entries().flatMap(\.blocks).map(\.text).joined(separator: "\n")
    }
}

/// Returns the case of the error that `body` throws.
func errorKind(
    _ body: () async throws -> Void, file: StaticString = #filePath, line: UInt = #line
) async -> String {
    do {
        try await body()
        XCTFail("no error was thrown", file: file, line: line)
        return ""
    } catch let error as BowlineError {
        return String(String(describing: error).prefix { $0 != "(" })
    } catch {
        return String(describing: type(of: error))
    }
}

/// Waits until what stores show satisfies a condition.
@MainActor
func until(
    file: StaticString = #filePath, line: UInt = #line, _ holds: @MainActor @escaping () -> Bool
) async {
    // Each change of what `holds` has read wakes the loop, which looks again.
    while true {
        let changed = AsyncStream<Void>.makeStream()
        let isTrue = withObservationTracking(holds) {
            changed.continuation.yield()
            changed.continuation.finish()
        }
        if isTrue { return }
        for await _ in changed.stream {}
        // `onChange` runs before the value is set, on the main actor; it is set once this task runs again.
        await Task.yield()
    }
}

/// Waits for a condition without an event to wait for, such as a counter of the library.
func eventually(
    _ what: String, file: StaticString = #filePath, line: UInt = #line,
    _ holds: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while try !holds() {
        if ContinuousClock.now > deadline {
            XCTFail("\(what): \(try liveCounters())", file: file, line: line)
            return
        }
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// A list that several tasks append to.
final class Shared<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var values: [Value] = []

    func add(_ value: Value) {
        lock.withLock { values.append(value) }
    }

    var all: [Value] { lock.withLock { values } }
}
