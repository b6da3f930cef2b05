// Tests: DialogueSession, DialogueEventStream, Receipt, Engine, TokenProvider
import Bowline
import XCTest

private func prompts(_ changes: [Change]) -> [String] {
    changes.compactMap {
        guard case .entry(_, _, _, .user(_, let text, _, _)) = $0 else { return nil }
        return text
    }
}

final class DialogueSessionTests: TimedTestCase {
    func testEntriesDroppedFromTheWindowAreReadFromTheRecording() async throws {
        var windowed = try configuration()
        windowed.window = TranscriptWindow(entries: 8)
        windowed.record = try temporaryDirectory().appendingPathComponent("session.bjl").path
        let expected = (0..<20).map { "prompt \($0)" }
        try await withSession(windowed) { session in
            for prompt in expected { _ = try await session.send(prompt).waitUntilSettled() }
            try await session.until { $0.phase == .idle && !$0.results.isEmpty }
            var found: [String] = []
            var before: UInt32?
            while let page = try await session.entriesBefore(entry: before) {
                before = page.firstEntry
                found = prompts(page.changes) + found
                if !page.hasOlder { break }
            }
            XCTAssertTrue(found.contains("prompt 0"))
            let page = try await session.snapshot().page()
            found += prompts(page.changes)
            let once = found.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
            XCTAssertEqual(once, expected)
        }
        windowed.record = nil
        try await withSession(windowed) { session in
            for prompt in expected { _ = try await session.send(prompt).waitUntilSettled() }
            let without = await errorKind { _ = try await session.entriesBefore() }
            XCTAssertEqual(without, "Invalid")
        }
    }

    func testPromptIsAnsweredAndSnapshotMatchesTranscript() async throws {
        try await withSession(configuration()) { session in
            XCTAssertNotNil(try session.pid())
            XCTAssertEqual(try session.id().count, 36)
            XCTAssertFalse(try session.hasEnded())
            XCTAssertEqual(try session.connection(), .connected)
            let uuid = "0f0e0d0c-0b0a-4908-8706-050403020100"
            let receipt = try await session.send("hello", uuid: uuid)
            XCTAssertEqual(try receipt.uuid(), uuid)
            let settled = try await receipt.waitUntilSettled()
            XCTAssertEqual(settled, .answered)
            XCTAssertEqual(try receipt.state(), .answered)
            let reached = try await receipt.waitFor(state: .echoed)
            XCTAssertEqual(reached, .answered)
            let transcript = try await session.until { !$0.results.isEmpty }
            XCTAssertFalse(transcript.text.isEmpty)
            XCTAssertEqual(transcript.results, [.completed])
            let phase = try await session.phase()
            XCTAssertEqual(phase, .idle)
            let activity = try await session.lastActivity()
            XCTAssertLessThan(activity.ageMs, 60_000)
            let snapshot = try await session.snapshot()
            // The agent may write another line in between, which changes only the statistics.
            let withoutStats = { (json: String) in json.components(separatedBy: #","stats":"#)[0] }
            XCTAssertEqual(withoutStats(try snapshot.json()), withoutStats(transcript.json()))
            let end = try await session.end()
            XCTAssertTrue(end.isExpected, end.reason)
            XCTAssertTrue(try session.hasEnded())
            let ended = try await session.waitForEnd()
            XCTAssertEqual(end, ended)
        }
    }

    func testCancelledTaskEndsItsCall() async throws {
        try await withSession(configuration()) { session in
            let receipt = try await session.send("/ask make test")
            _ = try await session.awaitPermissionRequest()
            let changes = try session.changeStream()
            let events = try session.eventStream()
            let cursor = try await session.snapshot().cursor()
            let calls: [@Sendable () async throws -> Void] = [
                { _ = try await session.waitForEnd() },
                { _ = try await receipt.waitFor(state: .answered) },
                { _ = try await receipt.waitUntilSettled() },
                { try await session.pause() },
                { _ = try await events.next(cursor: 0, maxCount: 1, coalesceForMs: 0) },
                { while true { _ = try await changes.next(cursor: cursor, maxCount: 1, coalesceForMs: .max) } },
            ]
            for (number, call) in calls.enumerated() {
                let pending = try liveCounters().pendingCalls
                let task = Task { try await call() }
                try await eventually("call \(number) waits") { try liveCounters().pendingCalls > pending }
                task.cancel()
                let kind = await errorKind { try await task.value }
                XCTAssertEqual(kind, "CancellationError", "call \(number)")
                try await eventually("call \(number) ends") { try liveCounters().pendingCalls == pending }
            }
        }
    }

    func testCancelledTaskTerminatesItsSession() async throws {
        let session = try await engine().start(configuration: configuration())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await session.terminate()
        }
        let kind = await errorKind { try await task.value }
        XCTAssertEqual(kind, "CancellationError")
        _ = try await session.waitForEnd()
    }

    func testToolRunsIfAllowedAndNotIfDenied() async throws {
        try await withSession(configuration()) { session in
            let first = try await session.send("/ask make test")
            let request = try await session.awaitPermissionRequest()
            XCTAssertEqual(request.toolName, "Bash")
            try await session.allow(request.requestId)
            try await session.allow(request.requestId)
            _ = try await first.waitUntilSettled()
            let second = try await session.send("/ask rm -rf build")
            let other = try await session.awaitPermissionRequest()
            let no = PermissionAnswer.deny(reason: "not now", interrupt: false)
            try await session.respond(requestId: other.requestId, answer: no, answeredBy: "a test")
            _ = try await second.waitUntilSettled()
            let transcript = try await session.until { $0.results.count == 2 }
            XCTAssertEqual(transcript.toolCalls().map(\.state), [.succeeded, .failed])
            XCTAssertEqual(transcript.permissions.map(\.state), [.allowed, .denied])
            let late = await errorKind { try await session.deny(request.requestId, reason: "late") }
            XCTAssertEqual(late, "TooLate")
        }
    }

    func testQuestionsAndPlansTakeTheirOwnAnswers() async throws {
        let folder = try temporaryDirectory()
        let file = folder.appendingPathComponent("scenario.toml")
        let scenario = """
            [[turn]]
            steps = [
              { tool = { name = "AskUserQuestion", ask = true, result = "{{input.answers}}", input = { questions = [
                { question = "Which colour?", header = "Colour", multiSelect = false, options = [
                  { label = "red", description = "warm" }, { label = "blue", description = "cold" } ] } ] } } },
              { tool = { name = "ExitPlanMode", ask = true, result = "go", input = { plan = "1. Begin" } } },
            ]
            """
        try scenario.write(to: file, atomically: true, encoding: .utf8)
        try await withSession(configuration("--scenario", file.path, folder: folder)) { session in
            try await session.send("begin")
            let question = try await session.awaitPermissionRequest()
            guard case .questions(let questions) = question.kind else { return XCTFail("\(question)") }
            XCTAssertEqual(questions[0].options.map(\.label), ["red", "blue"])
            let wrong = await errorKind {
                try await session.respond(
                    requestId: question.requestId, answer: .approvePlan(mode: nil))
            }
            XCTAssertEqual(wrong, "Invalid")
            let blue = QuestionAnswer(question: "Which colour?", answer: "blue")
            try await session.respond(
                requestId: question.requestId, answer: .answers(answers: [blue]))
            try await session.until { $0.permissions.count == 2 && $0.phase == .awaitingPermission }
            let plan = try await session.awaitPermissionRequest()
            XCTAssertEqual(plan.kind, .plan(plan: "1. Begin"))
            try await session.respond(
                requestId: plan.requestId, answer: .approvePlan(mode: "acceptEdits"))
            let transcript = try await session.until { !$0.results.isEmpty }
            XCTAssertTrue(transcript.toolCalls()[0].result?.text.contains("blue") == true)
        }
    }

    func testInterruptEndsTheTurnButNotTheSession() async throws {
        try await withSession(configuration("--pace", "1")) { session in
            try await session.send("/sleep 600")
            try await session.until { $0.toolCalls().contains { $0.state == .running } }
            _ = try await session.interrupt(scope: .turnAndQueued)
            let transcript = try await session.until { !$0.results.isEmpty }
            XCTAssertEqual(transcript.results, [.cancelled])
            _ = try await session.send("hello").waitUntilSettled()
        }
    }

    func testModelModeAndCustomRequestsReachTheAgent() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.send("hello").waitUntilSettled()
            try await session.setModel(model: "claude-other")
            try await session.setPermissionMode(mode: "plan")
            try await session.until { $0.session?.permissionMode == "plan" }
            let answer = try await session.request(
                subtype: "set_max_thinking_tokens", fields: #"{"max_thinking_tokens":null}"#)
            XCTAssertTrue(answer.hasPrefix("{"), answer)
            let broken = await errorKind { _ = try await session.request(subtype: "x", fields: "[") }
            XCTAssertEqual(broken, "Invalid")
            let unknown = await errorKind { _ = try await session.request(subtype: "no_such_request") }
            XCTAssertEqual(unknown, "Refused")
        }
    }

    func testQueueIsEditedUntilItIsSent() async throws {
        try await withSession(configuration("--pace", "1")) { session in
            try await session.send("/sleep 600")
            try await session.until { $0.toolCalls().contains { $0.state == .running } }
            var queued: [String] = []
            for text in ["first", "second", "third"] {
                let prompt = Prompt(parts: [.text(text: text)], priority: .later)
                queued.append(try await session.send(prompt: prompt).uuid())
            }
            let waiting = try await session.queue()
            XCTAssertEqual(waiting.map(\.id), queued)
            try await session.editQueue(uuid: queued[0], change: .replace(parts: [.text(text: "changed")]))
            try await session.editQueue(uuid: queued[1], change: .moveBefore(uuid: queued[0]))
            try await session.editQueue(uuid: queued[1], change: .moveAfter(uuid: queued[0]))
            try await session.editQueue(uuid: queued[2], change: .cancel)
            let edited = try await session.queue()
            XCTAssertEqual(edited.map(\.text), ["changed", "second"])
            XCTAssertEqual(edited.map(\.state), [.waiting, .waiting])
            let late = await errorKind { try await session.editQueue(uuid: queued[2], change: .cancel) }
            XCTAssertEqual(late, "TooLate")
            let unknown = await errorKind { try await session.editQueue(uuid: "none", change: .cancel) }
            XCTAssertEqual(unknown, "NotFound")
            _ = try await session.interrupt(scope: .turn)
            try await session.until { $0.results.count == 3 }
            let left = try await session.queue()
            XCTAssertEqual(left, [])
        }
    }

    func testPauseHoldsBackPrompts() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.send("hello").waitUntilSettled()
            try await session.pause()
            try await session.pause()
            let held = try await session.send("held")
            XCTAssertEqual(try held.state(), .accepted)
            try await session.unpause()
            let settled = try await held.waitUntilSettled()
            XCTAssertEqual(settled, .answered)
        }
    }

    func testUnexpectedExitIsRecordedInTheTranscript() async throws {
        try await withSession(configuration()) { session in
            try await session.send("/exit 3")
            let end = try await session.waitForEnd()
            XCTAssertFalse(end.isExpected)
            XCTAssertEqual(end.exit.code, 3)
            var transcript = Transcript()
            for try await batch in try session.changes() { transcript.apply(batch) }
            XCTAssertEqual(transcript.phase, .ended)
            let errors = transcript.entries().compactMap {
                if case .error(let kind, _) = $0.value { kind } else { nil }
            }
            XCTAssertEqual(errors, [.unexpectedExit])
            let gone = await errorKind { try await session.send("hello?") }
            XCTAssertEqual(gone, "Ended")
        }
    }

    func testSignalReachesTheAgent() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.send("hello").waitUntilSettled()
            try session.signal(signal: .kill)
            let end = try await session.waitForEnd()
            XCTAssertEqual(end.exit.signal, 9)
            let late = await errorKind { try session.signal(signal: .interrupt) }
            XCTAssertEqual(late, "Ended")
            let retry = await errorKind { try session.retry() }
            XCTAssertEqual(retry, "Invalid")
        }
    }

    func testStartWithEventsMissesNoEvent() async throws {
        let started = try await engine().startWithEvents(configuration: configuration())
        let session = started.session
        let plain = try session.eventStream()
        plain.stop()
        let none = try await plain.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        XCTAssertNil(none)
        // Subscribed before the prompt: only later events are delivered.
        let events = try session.events()
        try await session.send("hello")
        for try await batch in events where batch.events.contains(where: isTurnEnd) {
            break
        }
        _ = try await session.end()
        var kinds: [DialogueEventKind] = []
        var cursor: UInt64 = 0
        while let batch = try await started.events.next(cursor: cursor, maxCount: 100, coalesceForMs: 0) {
            cursor = batch.cursor
            kinds += batch.events.compactMap { if case .event(let event) = $0 { event.kind } else { nil } }
        }
        XCTAssertTrue(kinds.contains { if case .delta = $0 { true } else { false } })
        guard case .sessionEnd(let isExpected, _) = kinds.last else { return XCTFail("no end") }
        XCTAssertTrue(isExpected)
    }

    func testSessionStreamsAreReadByCursor() async throws {
        try await withSession(configuration()) { session in
            let prompt = Prompt(parts: [.text(text: "hello")])
            _ = try await session.send(prompt: prompt).waitUntilSettled()
            XCTAssertTrue(try session.permissions().isEmpty)
            let changes = try session.changeStream()
            let first = try await changes.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
            XCTAssertEqual(first?.isReset, true)
            let again = try await changes.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
            XCTAssertEqual(first?.cursor, again?.cursor)
            let end = try await session.terminate()
            XCTAssertTrue(end.isExpected)
            let kept = await errorKind { _ = try await session.detach() }
            XCTAssertEqual(kept, "Invalid")
        }
    }

    func testUnreachableRunnerIsAnError() async throws {
        final class ThrowingProvider: TokenProvider {
            struct None: Error {}

            func token(wasRefused: Bool) throws -> String? { throw None() }
        }
        let id = "11111111-2222-4333-8444-555555555555"
        let (engine, plain) = (try engine(), try configuration())
        let unreachable = RunnerConfiguration(url: "http://127.0.0.1:1", reconnectTimeoutMs: 1)
        let throwing = RunnerConfiguration(url: "http://127.0.0.1:1", tokenProvider: ThrowingProvider(), reconnectTimeoutMs: 1)
        for runner in [unreachable, throwing] {
            let kind = await errorKind {
                _ = try await engine.attach(runner: runner, session: id, configuration: plain)
            }
            XCTAssertEqual(kind, "Start")
        }
        let wrong = await errorKind {
            _ = try await engine.attach(runner: unreachable, session: "no id", configuration: plain)
        }
        XCTAssertEqual(wrong, "Configuration")
    }

    private func isTurnEnd(_ started: DialogueEventItem) -> Bool {
        if case .event(let event) = started, case .turnEnd = event.kind { true } else { false }
    }

    func testConversationIsResumed() async throws {
        let folder = try temporaryDirectory()
        let id = "11111111-2222-4333-8444-555555555555"
        try await withSession(configuration(folder: folder, conversation: .newAs(id: id))) { session in
            _ = try await session.send("hello").waitUntilSettled()
            _ = try await session.end()
        }
        let again = Conversation.resume(id: id, fork: false)
        try await withSession(configuration(folder: folder, conversation: again)) { session in
            _ = try await session.send("again").waitUntilSettled()
            let transcript = try await session.until { !$0.results.isEmpty }
            XCTAssertEqual(transcript.session?.sessionId, id)
        }
        var unknown = try configuration(
            folder: folder,
            conversation: .resume(id: "99999999-2222-4333-8444-555555555555", fork: true))
        unknown.agentDirectory = folder.appendingPathComponent("agent").path
        let configuration = unknown
        let missing = await errorKind { _ = try await engine().start(configuration: configuration) }
        XCTAssertEqual(missing, "Resume")
    }

    func testEngineListsTerminalsTombstonesAndPermissions() async throws {
        let engine = try engine()
        let before = try engine.metrics()
        let id = try await withSession(configuration()) { session in
            let id = try session.id()
            try await session.send("/ask make")
            let request = try await session.awaitPermissionRequest()
            let entry = try engine.terminals().first { $0.id == id }
            XCTAssertEqual(entry?.tag, "agent-dialogue")
            XCTAssertEqual(entry?.connection, .connected)
            let open = try engine.openPermissions().first { $0.session == id }
            XCTAssertEqual(open?.record.requestId, request.requestId)
            let yes = PermissionAnswer.allow(updatedInput: nil, updatedPermissions: nil)
            try await engine.respond(
                session: id, requestId: request.requestId, answer: yes, answeredBy: "the list")
            try await session.until { !$0.results.isEmpty }
            return id
        }
        let tombstone = try engine.tombstones().first { $0.id == id }
        XCTAssertEqual(tombstone?.isExpected, true)
        XCTAssertNotNil(tombstone?.pid)
        XCTAssertGreaterThan(try engine.metrics().turns, before.turns)
        var absent = try configuration()
        absent.program = "no-such-agent-anywhere"
        let configuration = absent
        let missing = await errorKind { _ = try await engine.start(configuration: configuration) }
        XCTAssertEqual(missing, "Start")
    }
}
