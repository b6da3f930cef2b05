// Tests: Engine
import Bowline
import XCTest

final class AgentTests: TimedTestCase {
    /// A dialogue with the simulated agent as it was in an older version.
    private func older(_ version: String, options: AgentOptions? = nil) throws -> DialogueConfiguration {
        try configuration(options: options, set: ["UNDERSTUDY_VERSION": version])
    }

    func testInstalledAgentIsFoundWithItsVersion() async throws {
        let found = try await engine().findAgent()
        XCTAssertTrue(found.path.hasSuffix("/understudy"), found.path)
        XCTAssertTrue(found.versionLine.hasSuffix("(understudy)"), found.versionLine)
        let capabilities = try XCTUnwrap(found.capabilities)
        XCTAssertEqual(capabilities.version.major, 2)
        XCTAssertTrue(capabilities.missing.isEmpty && capabilities.missingText.isEmpty)
        XCTAssertFalse(capabilities.isUntested)
        let missing = await errorKind { _ = try await engine().findAgent(program: "no-such-agent-anywhere") }
        XCTAssertEqual(missing, "Start")
    }

    func testOlderAgentIsReportedWithWhatItLacks() async throws {
        let started = try await engine().startWithEvents(configuration: older("2.1.197"))
        _ = try await started.session.send("hello").waitUntilSettled()
        let batch = try await started.events.next(cursor: 0, maxCount: 10_000, coalesceForMs: 0)
        var agents: [AgentCapabilities] = []
        for case .event(let event) in batch?.events ?? [] {
            if case .olderAgent(let agent) = event.kind { agents.append(agent) }
        }
        let agent = try XCTUnwrap(agents.first)
        XCTAssertEqual(agents.count, 1)
        XCTAssertEqual(agent.version, AgentVersion(major: 2, minor: 1, patch: 197))
        XCTAssertEqual(agent.missing, [.nestedSubagents])
        XCTAssertEqual(agent.missingText, "content of nested sub-agents (2.1.219)")
        let capabilities = try await started.session.capabilities()
        XCTAssertEqual(capabilities, agent)
        let end = try await started.session.terminate()
        XCTAssertNil(end.unknownOption)
    }

    func testRefusedOptionIsNamedInTheEnd() async throws {
        let refusing = try older("2.0.77", options: AgentOptions(effort: .high))
        let session = try await engine().start(configuration: refusing)
        let end = try await session.waitForEnd()
        let refused = try XCTUnwrap(end.unknownOption)
        XCTAssertEqual(refused.option, "--effort")
        XCTAssertEqual(refused.added, AgentVersion(major: 2, minor: 1, patch: 100))
        XCTAssertTrue(refused.text.contains("omit the option"), refused.text)
    }
}
