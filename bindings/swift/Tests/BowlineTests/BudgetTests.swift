// Tests: DialogueSession, SessionManager
import Bowline
import XCTest

final class BudgetTests: TimedTestCase {
    func testSessionPausesAtItsLimitUntilItIsRaised() async throws {
        var limited = try configuration()
        limited.budget = Budget(turns: 1)
        try await withSession(limited) { session in
            _ = try await session.send("one").waitUntilSettled()
            let request = try await session.awaitPermissionRequest()
            XCTAssertEqual(request.toolName, "budget")
            XCTAssertEqual(request.options.map(\.id), ["raise", "go_on", "stop"])
            let held = try await session.send("two")
            let answer = PermissionAnswer.answers(answers: [QuestionAnswer(question: "budget", answer: "2")])
            try await session.respond(requestId: request.requestId, answer: answer)
            let settled = try await held.waitUntilSettled()
            XCTAssertEqual(settled, .answered)
            let record = try session.permissions().first { $0.requestId == request.requestId }
            XCTAssertEqual(record?.answeredHow, "raised to 2 turns")
            let next = try await session.awaitPermissionRequest()
            try await session.respond(requestId: next.requestId, answer: .choose(option: "stop"))
            let end = try await session.waitForEnd()
            XCTAssertTrue(end.isExpected)
        }
    }

    func testBudgetOfAManagerPausesAllItsSessions() async throws {
        let folder = try temporaryDirectory()
        let state = ManagerConfiguration(
            stateDirectory: folder.appendingPathComponent("state").path, budget: Budget(turns: 2))
        let manager = try await engine().openManager(configuration: state)
        var sessions = [DialogueSession]()
        for label in ["one", "two"] {
            let made = try await manager.createDialogue(configuration: configuration(folder: folder), label: label)
            let session = try manager.dialogue(id: made.id)
            _ = try await session.send("hello").waitUntilSettled()
            sessions.append(session)
        }
        let asked = try await sessions[0].awaitPermissionRequest()
        XCTAssertEqual(asked.toolName, "budget")
        _ = try await sessions[1].awaitPermissionRequest()
        let held = try await sessions[1].send("more")
        let raise = PermissionAnswer.answers(answers: [QuestionAnswer(question: "budget", answer: "3")])
        try await sessions[0].respond(requestId: asked.requestId, answer: raise)
        let settled = try await held.waitUntilSettled()
        XCTAssertEqual(settled, .answered)
        XCTAssertEqual(try manager.budget().limits, Budget(turns: 3))
        let last = try await sessions[1].awaitPermissionRequest()
        XCTAssertEqual(try manager.budget().turns, 3)
        try await sessions[1].respond(requestId: last.requestId, answer: .choose(option: "stop"))
        let end = try await sessions[1].waitForEnd()
        XCTAssertTrue(end.isExpected)
        try manager.setBudget(budget: nil)
        let next = try await sessions[0].send("on").waitUntilSettled()
        XCTAssertEqual(next, .answered)
        let refused = await errorKind { try manager.setBudget(budget: Budget(turns: 0)) }
        XCTAssertEqual(refused, "Invalid")
        _ = try await manager.endAll()
    }

    func testSessionContinuesAfterItsUsageLimit() async throws {
        let folder = try temporaryDirectory()
        let file = folder.appendingPathComponent("scenario.toml")
        let scenario = """
            [[turn]]
            match = "spend"
            steps = [
                { limits = { window_minutes = 300, used_percent = 100, resets_at = 4000000000 } },
                { fail = { status = 429, text = "limit reached", error = "rate_limit" } },
            ]
            """
        try scenario.write(to: file, atomically: true, encoding: .utf8)
        var resuming = try configuration("--scenario", file.path, folder: folder)
        resuming.resumeAtReset = "Go on with it."
        try await withSession(resuming) { session in
            _ = try await session.send("spend").waitUntilSettled()
            let request = try await session.awaitPermissionRequest()
            XCTAssertEqual(request.toolName, "usage_limit")
            XCTAssertEqual(request.options.map(\.id), ["go_on", "stop"])
            // The inbox has the time of the reset, for a countdown.
            let id = try session.id()
            for try await event in try engine().inbox() {
                guard case .attention(id, _, let reason) = event else { continue }
                guard case .limitReached(_, let resets) = reason else { return XCTFail("\(reason)") }
                XCTAssertEqual(resets, 4_000_000_000_000)
                break
            }
            try await session.respond(requestId: request.requestId, answer: .choose(option: "go_on"))
            let transcript = try await session.until { $0.results.count == 2 }
            let prompts = transcript.entries().compactMap {
                if case .user(_, let text, _, _) = $0.value { text } else { nil }
            }
            XCTAssertEqual(prompts, ["spend", "Go on with it."])
        }
    }

    func testLimitThatCannotBeKeptIsRefused() async throws {
        var refused = try configuration()
        refused.budget = Budget(turns: 0)
        var codex = try configuration("--dialect", "codex")
        codex.dialect = "codex"
        codex.budget = Budget(costUsd: 1)
        for configuration in [refused, codex] {
            let kind = await errorKind { _ = try await engine().start(configuration: configuration) }
            XCTAssertFalse(kind.isEmpty)
        }
    }
}
