import Bowline
import Foundation
import XCTest

/// Where cargo has put the programs.
let programs = URL(
    fileURLWithPath: ProcessInfo.processInfo.environment["BOWLINE_PROGRAMS"]
        ?? "\(package)/../../target/debug")

/// Recorded streams of the real agent.
let fixtures = URL(fileURLWithPath: "\(package)/../../tests/fixtures")

private let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

func engine() throws -> Engine {
    try Engine.make(program: programs.appendingPathComponent("understudy").path)
}

func temporary() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
}

/// A dialogue without pauses, in an empty folder.
func configuration(
    _ args: String..., folder: URL? = nil, options: AgentOptions? = nil,
    conversation: Conversation? = nil, set: [String: String] = [:]
) throws -> DialogueConfiguration {
    let folder = try folder ?? temporary()
    let agent = folder.appendingPathComponent("agent").path
    let variables = set.merging(["CLAUDE_CONFIG_DIR": agent]) { ours, _ in ours }
    return DialogueConfiguration(
        args: ["--pace", "0"] + args, options: options,
        environment: EnvironmentChanges(set: variables), cwd: folder.path,
        conversation: conversation)
}

/// Runs `body` with a session, and ends it.
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

struct NeverCame: Error {}

extension DialogueSession {
    /// Waits until the transcript is as wanted.
    @discardableResult
    func until(_ wanted: @Sendable (Transcript) -> Bool) async throws -> Transcript {
        for try await transcript in try transcripts(linger: 0) where wanted(transcript) {
            return transcript
        }
        throw NeverCame()
    }

    /// The permission request that waits.
    func asked() async throws -> PermissionRecord {
        try await until { $0.phase == .awaitingPermission }
        guard let open = try permissions().first(where: { $0.state == .open }) else { throw NeverCame() }
        return open
    }
}

extension Transcript {
    var results: [Bowline.Outcome] {
        entries().compactMap {
            if case .result(_, _, let outcome, _, _, _, _) = $0.value { outcome } else { nil }
        }
    }

    var said: String {
        entries().flatMap(\.blocks).map(\.text).joined(separator: "\n")
    }
}

/// The kind of error that a call gives.
func refused(
    _ body: () async throws -> Void, file: StaticString = #filePath, line: UInt = #line
) async -> String {
    do {
        try await body()
        XCTFail("nothing was refused", file: file, line: line)
        return ""
    } catch let error as BowlineError {
        return String(String(describing: error).prefix { $0 != "(" })
    } catch {
        return String(describing: type(of: error))
    }
}

/// Waits for what no event tells, such as a counter of the library.
func eventually(
    _ what: String, within seconds: Double = 10, file: StaticString = #filePath, line: UInt = #line,
    _ holds: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try !holds() {
        if ContinuousClock.now > deadline {
            XCTFail("\(what): \(try liveCounters())", file: file, line: line)
            return
        }
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// Values that several tasks add to.
final class Shared<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var values: [Value] = []

    func add(_ value: Value) {
        lock.withLock { values.append(value) }
    }

    var all: [Value] { lock.withLock { values } }
}
