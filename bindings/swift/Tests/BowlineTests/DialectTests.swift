// Tests: DialogueSession
import Bowline
import XCTest

/// Agents that speak another protocol than Claude Code's.
final class DialectTests: TimedTestCase {
    private func speaking(_ dialect: String) throws -> DialogueConfiguration {
        var speaking = try configuration("--dialect", dialect)
        speaking.dialect = dialect
        return speaking
    }

    func testPromptIsAnsweredInEveryDialect() async throws {
        for dialect in ["codex", "acp"] {
            try await withSession(speaking(dialect)) { session in
                let settled = try await session.send("hello").waitUntilSettled()
                XCTAssertEqual(settled, .answered, dialect)
                let transcript = try await session.until { !$0.results.isEmpty }
                XCTAssertFalse(transcript.text.isEmpty, dialect)
                XCTAssertEqual(transcript.results, [.completed], dialect)
            }
        }
    }

    func testRequestIsAnsweredByTheIdOfAnOption() async throws {
        for dialect in ["codex", "acp"] {
            for (kind, isAllowed) in [(AnswerKind.allowOnce, true), (.rejectOnce, false)] {
                try await withSession(speaking(dialect)) { session in
                    let receipt = try await session.send("/ask make test")
                    let request = try await session.awaitPermissionRequest()
                    let option = try XCTUnwrap(request.options.first { $0.kind == kind })
                    let unknown = await errorKind {
                        try await session.respond(
                            requestId: request.requestId, answer: .choose(option: "no such option"))
                    }
                    XCTAssertEqual(unknown, "Invalid", dialect)
                    try await session.respond(
                        requestId: request.requestId, answer: .choose(option: option.id))
                    _ = try await receipt.waitUntilSettled()
                    let answered = try session.permissions().first { $0.requestId == request.requestId }
                    XCTAssertEqual(answered?.state, .answered, dialect)
                    XCTAssertEqual(answered?.isAllowed, isAllowed, dialect)
                }
            }
        }
    }

    func testDismissedRequestIsDenied() async throws {
        try await withSession(speaking("acp")) { session in
            let receipt = try await session.send("/ask make test")
            let request = try await session.awaitPermissionRequest()
            try await session.respond(requestId: request.requestId, answer: .dismiss)
            _ = try await receipt.waitUntilSettled()
            let answered = try session.permissions().first { $0.requestId == request.requestId }
            XCTAssertEqual(answered?.isAllowed, false)
        }
    }

    func testSessionTellsWhatItCanDo() async throws {
        try await withSession(speaking("codex")) { session in
            let supported = try await session.supported()
            XCTAssertTrue(supported.contains(.steer) && supported.contains(.effort), "\(supported)")
            try await session.setOption(option: "effort", value: "high")
            let unknown = await errorKind {
                try await session.setOption(option: "no such option", value: "x")
            }
            XCTAssertEqual(unknown, "Invalid")
        }
    }

    func testUnknownDialectIsRefused() async throws {
        let refused = await errorKind {
            _ = try await engine().start(configuration: speaking("latin"))
        }
        XCTAssertEqual(refused, "Configuration")
    }

    func testMcpServersReachTheAgentAndOneItCannotReachIsRefusedByName() async throws {
        let files = McpServer(
            name: "files",
            transport: .stdio(command: "/bin/mcp-files", args: ["-x"], env: ["KEY": "secret"]))
        for dialect in ["codex", "acp"] {
            let journal = try temporaryDirectory().appendingPathComponent("session.bjl")
            var configuration = try speaking(dialect)
            configuration.mcpServers = [files]
            configuration.record = journal.path
            try await withSession(configuration) { session in
                _ = try await session.send("hello").waitUntilSettled()
            }
            let input = String(decoding: try Data(contentsOf: journal), as: UTF8.self)
            for part in ["files", "/bin/mcp-files", "-x", "KEY", "secret"] {
                XCTAssertTrue(input.contains("\"\(part)\""), "\(dialect): \(part)")
            }
        }
        let old = McpServer(
            name: "old", transport: .sse(url: "https://localhost/mcp", headers: ["key": "secret"]))
        let web = McpServer(name: "web", transport: .http(url: "https://localhost/mcp", headers: [:]))
        for (servers, reason) in [
            ([old], "the MCP server old over SSE"),
            ([web, web], "a second MCP server with the name web"),
        ] {
            var configuration = try speaking("codex")
            configuration.mcpServers = servers
            do {
                _ = try await engine().start(configuration: configuration)
                XCTFail("it started")
            } catch {
                XCTAssertTrue("\(error)".contains(reason), "\(error)")
            }
        }
    }
}
