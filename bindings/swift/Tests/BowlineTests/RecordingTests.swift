// Tests: Recording, ChangeStream, TranscriptSnapshot
import Bowline
import BowlineUI
import XCTest

final class RecordingTests: TimedTestCase {
    func testTasksShareTheElementsOfOneStream() async throws {
        let recording = try await recording("partial.jsonl")
        var expected: [UInt64] = []
        for try await batch in try recording.changes(maxCount: 1) { expected.append(batch.cursor) }
        let batches = try recording.changes(maxCount: 1)
        let transcripts = try recording.transcripts()
        let (cursors, jsons) = (Shared<UInt64>(), Shared<String>())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for try await batch in batches { cursors.add(batch.cursor) } }
                group.addTask { for try await it in transcripts { jsons.add(it.json()) } }
            }
            try await group.waitForAll()
        }
        XCTAssertEqual(cursors.all.sorted(), expected)
        let complete = try await recording.snapshot().json()
        XCTAssertTrue(jsons.all.contains(complete))
    }

    @MainActor
    func testStoreThatFollowsAnotherTranscriptBeginsAnew() async throws {
        let store = TranscriptStore()
        for name in ["plain.jsonl", "partial.jsonl", "plain.jsonl"] {
            let path = fixtures.appendingPathComponent(name).path
            let recording = try await engine().openRecording(path: path)
            await store.follow(recording)
            let expected = try await recording.snapshot().json()
            XCTAssertEqual(store.transcript.json(), expected, name)
        }
    }

    /// The SHA-256 of the transcript of each fixture, written by `.ci/sums`; of schema 1 with `#1`.
    private func sums() throws -> [String: String] {
        let file = programs.appendingPathComponent("fixtures.sha256")
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw XCTSkip("\(file.path) is missing; run .ci/sums")
        }
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return Dictionary(
            uniqueKeysWithValues: lines.map { line in
                let parts = line.split(separator: " ", omittingEmptySubsequences: true)
                return (String(parts[1]), String(parts[0]))
            })
    }

    private func recording(_ name: String) async throws -> Recording {
        try await engine().openRecording(path: fixtures.appendingPathComponent(name).path)
    }

    private func read(_ recording: Recording, maxCount: UInt32) async throws -> Transcript {
        var transcript = Transcript()
        for try await batch in try recording.changes(maxCount: maxCount) { transcript.apply(batch) }
        return transcript
    }

    private func everyFixture(_ fold: (Recording) async throws -> Transcript) async throws {
        let sums = try sums()
        XCTAssertGreaterThan(sums.count, 350)
        for (name, sum) in sums where !name.hasSuffix("#1") {
            let transcript = try await fold(recording(name))
            XCTAssertEqual(sha256(transcript.json()), sum, name)
            XCTAssertEqual(sha256(transcript.json(schema: .one)), sums[name + "#1"], name)
        }
    }

    func testCommandHasPermissionOutputAndExitCode() async throws {
        let transcript = try await read(
            recording("agents/codex/app-server.approve.trace.jsonl"), maxCount: 64)
        let session = try XCTUnwrap(transcript.session)
        XCTAssertEqual(session.dialect, "codex")
        XCTAssertEqual(session.agentName, "codex")
        XCTAssertEqual(session.context, ContextView(used: 110, size: 258_400))
        let call = try XCTUnwrap(transcript.toolCalls().first)
        XCTAssertEqual(call.kind, .execute)
        XCTAssertEqual(call.output, "approved-out\n")
        XCTAssertEqual(call.exitCode, 0)
        XCTAssertLessThan(try XCTUnwrap(call.startedMs), try XCTUnwrap(call.endedMs))
        guard case .terminal(let command, _) = call.content.first else { return XCTFail("no command") }
        XCTAssertTrue(command.contains("echo approved-out"))
        let permission = try XCTUnwrap(transcript.permissions.first)
        let kinds: [AnswerKind] = [.allowOnce, .allowAlways, .rejectOnce, .rejectOnce]
        XCTAssertEqual(permission.options.map(\.kind), kinds)
        XCTAssertEqual(permission.rule, #"["echo", "approved-out"]"#)
        XCTAssertEqual(permission.decidedBy?.how, "accept")
        let prompt = try XCTUnwrap(
            transcript.entries().first { if case .user = $0.value { true } else { false } })
        XCTAssertEqual(prompt.detail.turn, "1")
        XCTAssertNotNil(prompt.detail.atMs)
        XCTAssertFalse(prompt.detail.isHistory)
    }

    func testEditHasDiffQuestionHasChoicesPlanHasSteps() async throws {
        let edit = try await read(
            recording("agents/codex/app-server.edit.trace.jsonl"), maxCount: 64)
        let call = try XCTUnwrap(edit.toolCalls().first)
        XCTAssertEqual(call.kind, .edit)
        XCTAssertEqual(call.locations.map(\.path), ["/home/dev/project/hello.txt"])
        guard case .diff(_, _, let new, _) = call.content.first else { return XCTFail("no diff") }
        XCTAssertNotNil(new)
        let path = fixtures.appendingPathComponent("agents/claude-agent-acp/acp.ask.trace.jsonl").path
        let asking = try await read(
            engine().openRecording(path: path, dialect: "acp"), maxCount: 64)
        XCTAssertEqual(asking.session?.options.count, 5)
        XCTAssertEqual(asking.session?.commands.count, 40)
        let questions = try XCTUnwrap(asking.permissions.first).questions
        XCTAssertEqual(questions.map(\.kind), [.single, .text])
        XCTAssertEqual(questions.map(\.options.count), [2, 0])
        let plan = try await read(recording("agents/claude-agent-acp/acp.todo.trace.jsonl"), maxCount: 64)
        XCTAssertTrue(plan.session?.plan.contains { $0.state == .inProgress } ?? false)
        let unknown = await errorKind {
            _ = try await engine().openRecording(path: path, dialect: "aider")
        }
        XCTAssertEqual(unknown, "Invalid")
    }

    func testFixturesMatchRustOneChangeAtATime() async throws {
        try await everyFixture { try await read($0, maxCount: 1) }
    }

    func testFixturesMatchRustInBatchesOf64() async throws {
        try await everyFixture { try await read($0, maxCount: 64) }
    }

    func testFixturesMatchRustInBatchesOf10000() async throws {
        try await everyFixture { try await read($0, maxCount: 10_000) }
    }

    func testCancelledReaderContinuesFromItsCursor() async throws {
        try await everyFixture { recording in
            let first = Task {
                var transcript = Transcript()
                var batches = 0
                for try await batch in try recording.changes(maxCount: 7) {
                    transcript.apply(batch)
                    batches += 1
                    if batches == 5 { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return transcript
            }
            var transcript = try await first.value
            for try await batch in try recording.changes(from: transcript.cursor, maxCount: 64) {
                transcript.apply(batch)
            }
            return transcript
        }
    }

    func testCutJournalIsDamaged() async throws {
        let folder = try temporaryDirectory()
        let journal = folder.appendingPathComponent("session.bjl")
        var recorded = try configuration()
        recorded.record = journal.path
        try await withSession(recorded) { _ = try await $0.send("hello").waitUntilSettled() }
        let bytes = try Data(contentsOf: journal)
        for length in [8, bytes.count / 2, bytes.count - 1, bytes.count] {
            let cut = folder.appendingPathComponent("\(length).bjl")
            try bytes.prefix(length).write(to: cut)
            let recording = try await engine().openRecording(path: cut.path)
            let transcript = try await read(recording, maxCount: 10_000)
            XCTAssertEqual(transcript.stats?.isDamaged, length < bytes.count, "\(length)")
            let json = try await recording.snapshot().json()
            XCTAssertEqual(transcript.json(), json)
        }
    }

    func testReadingByCursorDoesNotConsume() async throws {
        let stream = try await recording("partial.jsonl").changeStream()
        let first = try await stream.next(cursor: 0, maxCount: 5, coalesceForMs: 0)
        XCTAssertEqual(first?.isReset, true)
        let again = try stream.nextBlocking(cursor: 0, maxCount: 5, coalesceForMs: 0, timeoutMs: 10_000)
        XCTAssertEqual(first?.cursor, again?.cursor)
        let second = try await stream.next(cursor: first?.cursor ?? 0, maxCount: 5, coalesceForMs: 0)
        XCTAssertEqual(second?.isReset, false)
        let zero = await errorKind { _ = try await stream.next(cursor: 0, maxCount: 0, coalesceForMs: 0) }
        XCTAssertEqual(zero, "Invalid")
        stream.stop()
        let none = try await stream.next(cursor: 0, maxCount: 5, coalesceForMs: 0)
        XCTAssertNil(none)
    }

    func testSnapshotIsPagedFromItsEnd() async throws {
        let recording = try await recording("sub_par_fg_partial.jsonl")
        let snapshot = try await recording.snapshot()
        let transcript = try await read(recording, maxCount: 10_000)
        XCTAssertEqual(try snapshot.json(), transcript.json())
        XCTAssertEqual(try snapshot.cursor(), transcript.cursor)
        XCTAssertEqual(try snapshot.entryCount(thread: nil), UInt64(transcript.entries().count))
        var seen: [UInt32] = []
        var before: UInt32?
        var hasOlder = true
        while hasOlder {
            let page = try snapshot.page(before: before, maxCount: 2)
            let entries = page.changes.compactMap {
                if case .entry(let entry, _, _, _) = $0 { entry } else { nil }
            }
            seen = entries + seen
            (before, hasOlder) = (page.firstEntry, page.hasOlder)
        }
        XCTAssertEqual(seen, transcript.entries().map(\.id))
        let call = try XCTUnwrap(transcript.toolCalls().first { $0.subagent != nil })
        XCTAssertFalse(try snapshot.page(thread: call.id).changes.isEmpty)
        guard case .toolCall(_, _, let value) = try snapshot.toolCall(toolUseId: call.id) else {
            return XCTFail("no call")
        }
        XCTAssertEqual(value.id, call.id)
        let missing = await errorKind { _ = try snapshot.toolCall(toolUseId: "none") }
        XCTAssertEqual(missing, "NotFound")
    }

    func testStoreFollowsARecording() async throws {
        let store = TranscriptStore()
        await store.follow(try await recording("partial.jsonl"))
        let transcript = await store.transcript
        XCTAssertEqual(transcript.phase, .ended)
        XCTAssertNotNil(transcript.usage)
        var last = Transcript()
        for try await next in try await recording("partial.jsonl").transcripts() { last = next }
        XCTAssertEqual(last.json(), transcript.json())
        let missing = await errorKind { _ = try await engine().openRecording(path: "/no/such/file") }
        XCTAssertEqual(missing, "NotFound")
    }
}
