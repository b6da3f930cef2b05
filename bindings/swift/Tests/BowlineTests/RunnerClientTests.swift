// Tests: RunnerClient
import Bowline
import Foundation
import XCTest

final class RunnerClientTests: TimedTestCase {
    func testAHostSeesWhatARunnerHasAndEndsIt() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let client = try engine().runner(runner: runner.configuration)
        let none = try await client.sessions()
        XCTAssertEqual(none, [])
        var started = try configuration()
        started.runner = runner.configuration
        let session = try await engine().start(configuration: started)
        _ = try await session.say("hello").settled()
        try await session.until { $0.results.count == 1 }
        let id = try session.id()
        _ = try await session.detach()
        let all = try await client.sessions()
        XCTAssertEqual(all.count, 1)
        guard let there = all.first else { return }
        XCTAssertEqual(there.id, id)
        XCTAssertEqual(there.kind, .dialogue)
        XCTAssertEqual(there.state, .running)
        XCTAssertEqual(there.program, programs.appendingPathComponent("understudy").path)
        XCTAssertEqual(there.cwd, started.cwd)
        XCTAssertNotNil(there.pid)
        let transcript = try await client.transcript(id: id)
        XCTAssertTrue(transcript.contains(#""text":"hello""#), transcript)
        let log = try await client.log(id: id)
        XCTAssertEqual(log.first, UInt8(ascii: "{"))
        let rest = try await client.log(id: id, from: 7)
        XCTAssertEqual(rest, log.dropFirst(7))
        try await client.end(id: id, isForced: true, keepsLog: true)
        let ended = try await client.session(id: id)
        XCTAssertEqual(ended.state, .exited)
        XCTAssertNil(ended.pid)
        // It may hear of the end of its input before it is killed.
        XCTAssertTrue(ended.signal != nil || ended.code != nil, ended.json)
        XCTAssertGreaterThanOrEqual(ended.endedMs ?? 0, ended.startedMs)
        try await client.end(id: id)
        let left = try await client.sessions()
        XCTAssertEqual(left, [])
        let gone = await refused { _ = try await client.session(id: id) }
        XCTAssertEqual(gone, "NotFound")
        let wild = await refused { _ = try await client.log(id: "../tokens") }
        XCTAssertEqual(wild, "Configuration")
        var wrong = runner.configuration
        wrong.token = String(repeating: "0", count: runner.token.count)
        let (stranger, nowhere) = (wrong, RunnerConfiguration(url: "nowhere"))
        let refusal = await refused { _ = try await engine().runner(runner: stranger).sessions() }
        XCTAssertEqual(refusal, "Start")
        let address = await refused { _ = try engine().runner(runner: nowhere) }
        XCTAssertEqual(address, "Configuration")
    }

    /// What `body` is refused for: the kind of error, which must be `Start`, and its words.
    private func reason(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "nothing was refused"
        } catch BowlineError.Start(let reason) {
            return reason
        } catch {
            return "\(error) is no Start"
        }
    }

    func testARunnerThatWantsCertificatesLetsInWhoShowsOne() async throws {
        let folder = try temporary()
        let making = Process()
        making.executableURL = programs.appendingPathComponent("examples/certificates")
        making.arguments = [folder.path]
        try making.run()
        making.waitUntilExit()
        XCTAssertEqual(making.terminationStatus, 0)
        let runner = try Runner(authority: folder.appendingPathComponent("authority.pem"))
        defer { runner.stop() }
        let showing = { (name: String?) -> DialogueConfiguration in
            var there = try configuration()
            there.runner = runner.configuration
            there.runner?.identity = name.map {
                ClientIdentity(
                    certificate: folder.appendingPathComponent("\($0).crt").path,
                    key: folder.appendingPathComponent("\($0).key").path)
            }
            return there
        }
        let friend = try showing("friend")
        let there = friend.runner ?? runner.configuration
        try await withSession(friend) { session in
            let settled = try await session.say("hello").settled()
            XCTAssertEqual(settled, .answered)
            let all = try await engine().runner(runner: there).sessions()
            XCTAssertEqual(all.map(\.id), [try session.id()])
        }
        for name in [nil, "stranger"] {
            let other = try showing(name)
            let words = await reason { _ = try await engine().start(configuration: other) }
            XCTAssertTrue(words.contains("show it one"), words)
        }
        try FileManager.default.removeItem(at: folder.appendingPathComponent("friend.key"))
        let words = await reason { _ = try await engine().runner(runner: there).sessions() }
        XCTAssertTrue(words.contains("friend.key"), words)
    }
}
