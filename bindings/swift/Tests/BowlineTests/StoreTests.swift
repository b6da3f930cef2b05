// Tests: TranscriptStore, PermissionStore, PromptStore, DraftStore, SessionListStore, ConnectionStore
import Bowline
import BowlineUI
import Foundation
import Observation
import XCTest

/// The cursors of a store's transcript before each of its updates.
@MainActor
private final class Updates {
    private(set) var cursors: [UInt64] = []
    private let store: TranscriptStore

    init(_ store: TranscriptStore) {
        self.store = store
        observe()
    }

    private func observe() {
        withObservationTracking {
            _ = store.transcript
        } onChange: {
            MainActor.assumeIsolated {
                self.cursors.append(self.store.transcript.cursor)
                self.observe()
            }
        }
    }
}

private func texts(_ entries: [Transcript.Entry]) -> [String] {
    entries.compactMap { if case .user(_, let text, _, _) = $0.value { text } else { nil } }
}

@MainActor
final class StoreTests: TimedTestCase {
    /// A session with its stores, which follow it until it ends.
    private func withStore(
        _ configuration: DialogueConfiguration, drafts: DraftStore? = nil,
        _ body: @MainActor (SessionStore, DialogueSession) async throws -> Void
    ) async throws {
        let session = try await engine().start(configuration: configuration)
        let drafts = if let drafts { drafts } else { await DraftStore.open(nil) }
        let store = SessionStore(session: session, id: "s", drafts: drafts, answeredBy: "a test")
        let following = Task { await store.follow() }
        do {
            try await body(store, session)
        } catch {
            XCTFail("\(error)")
        }
        _ = try await session.terminate()
        await following.value
        XCTAssertEqual(store.transcript.following, .ended)
        XCTAssertEqual(store.connection.following, .ended)
    }

    private func send(_ text: String, _ store: SessionStore) async {
        store.prompt.draft = text
        await store.prompt.send()
        XCTAssertNil(store.prompt.failure)
    }

    func testEachBatchIsOneUpdateOfTheStore() async throws {
        let store = TranscriptStore()
        let updates = Updates(store)
        let recording = try await engine().openRecording(
            path: fixtures.appendingPathComponent("partial.jsonl").path)
        await store.follow(recording)
        XCTAssertEqual(store.following, .ended)
        XCTAssertGreaterThan(updates.cursors.count, 0)
        XCTAssertEqual(Set(updates.cursors).count, updates.cursors.count)
        let expected = try await recording.snapshot().json()
        XCTAssertEqual(store.transcript.json(), expected)
    }

    func testCancelledStoreContinuesWhereItStopped() async throws {
        try await withStore(configuration()) { store, session in
            await self.send("one", store)
            let other = TranscriptStore()
            let first = Task { await other.follow(session, coalesceFor: .zero) }
            await until { !other.transcript.results.isEmpty }
            first.cancel()
            await first.value
            XCTAssertEqual(other.following, .paused)
            let updates = Updates(other)
            await self.send("two", store)
            await until { store.transcript.transcript.results.count == 2 }
            let second = Task { await other.follow(session, coalesceFor: .zero) }
            await until { other.transcript.results.count == 2 }
            // A reset would have begun at 0 again.
            XCTAssertFalse(updates.cursors.contains(0))
            XCTAssertEqual(texts(other.entries), ["one", "two"])
            second.cancel()
            await second.value
        }
    }

    func testFailedReadIsAValue() async throws {
        let file = try temporaryDirectory().appendingPathComponent("broken.jsonl.gz")
        var data = try Data(contentsOf: fixtures.appendingPathComponent("big.jsonl.gz"))
        data.replaceSubrange(data.count / 2..<data.count, with: Data(count: data.count / 2))
        try data.write(to: file)
        let store = TranscriptStore()
        await store.follow(try await engine().openRecording(path: file.path))
        guard case .failed(.Io) = store.following else { return XCTFail("\(store.following)") }
    }

    func testPagesShowAllEntriesOnce() async throws {
        var windowed = try configuration()
        windowed.window = TranscriptWindow(entries: 8)
        windowed.record = try temporaryDirectory().appendingPathComponent("session.bjl").path
        let expected = (0..<20).map { "prompt \($0)" }
        try await withStore(windowed) { store, session in
            for prompt in expected { _ = try await session.send(prompt).waitUntilSettled() }
            let paged = TranscriptStore(pageSize: 3)
            let following = Task { await paged.follow(session) }
            await until { paged.transcript.phase == .idle && paged.entries.count == 3 }
            var counts = [paged.entries.count]
            while paged.hasEarlier {
                await paged.showEarlier()
                XCTAssertNil(paged.failure)
                counts.append(paged.entries.count)
            }
            XCTAssertEqual(texts(paged.entries), expected)
            XCTAssertEqual(counts, counts.sorted())
            XCTAssertEqual(Set(counts).count, counts.count, "a page added nothing")
            // More entries are dropped now. They are read again with the next page.
            _ = try await session.send("last").waitUntilSettled()
            await until { texts(paged.entries).last == "last" }
            while paged.hasEarlier { await paged.showEarlier() }
            XCTAssertEqual(texts(paged.entries), expected + ["last"])
            paged.showNewest()
            XCTAssertEqual(paged.entries.count, 3)
            following.cancel()
            await following.value
        }
    }

    func testSessionWithoutARecordingHasNoEarlierPages() async throws {
        var windowed = try configuration()
        windowed.window = TranscriptWindow(entries: 4)
        try await withStore(windowed) { store, session in
            for number in 0..<8 { _ = try await session.send("\(number)").waitUntilSettled() }
            await until { store.transcript.transcript.firstEntry ?? 0 > 0 }
            while store.transcript.hasEarlier { await store.transcript.showEarlier() }
            XCTAssertNil(store.transcript.failure)
            XCTAssertFalse(texts(store.transcript.entries).contains("0"))
        }
    }

    func testRequestIsAllowedDeniedWithAReasonAndAnsweredOnce() async throws {
        try await withStore(configuration()) { store, session in
            let permissions = store.permissions
            await self.send("/ask make test", store)
            await until { permissions.open.count == 1 }
            let first = permissions.open[0]
            let allow = try XCTUnwrap(first.options.first { $0.kind == .allowOnce })
            async let once: Void = permissions.choose(allow, for: first)
            async let twice: Void = permissions.choose(allow, for: first)
            _ = await (once, twice)
            XCTAssertTrue(permissions.open.isEmpty)
            XCTAssertTrue(permissions.failures.isEmpty)
            await until { store.transcript.transcript.results.count == 1 }

            await self.send("/ask rm -rf build", store)
            await until { permissions.open.count == 1 }
            let second = permissions.open[0]
            permissions[draft: second.requestId].reason = "keep the folder"
            let deny = try XCTUnwrap(second.options.first { $0.kind == .rejectOnce })
            await permissions.choose(deny, for: second)
            XCTAssertEqual(permissions[draft: second.requestId], PermissionStore.Draft())
            await until { store.transcript.transcript.results.count == 2 }
            let calls = store.transcript.transcript.toolCalls()
            XCTAssertEqual(calls.map(\.state), [.succeeded, .failed])
            XCTAssertTrue(calls[1].result?.text.contains("keep the folder") == true)
            XCTAssertEqual(try session.permissions().last?.answeredBy, "a test")
        }
    }

    func testFailedAnswerKeepsTheRequestAndItsDraft() async throws {
        try await withStore(configuration()) { store, _ in
            let permissions = store.permissions
            await self.send("/ask make test", store)
            await until { permissions.open.count == 1 }
            let request = permissions.open[0]
            permissions[draft: request.requestId].reason = "no"
            await permissions.respond(.choose(option: "no such option"), to: request)
            guard case .Invalid = permissions.failures[request.requestId]?.error else {
                return XCTFail("\(permissions.failures)")
            }
            XCTAssertEqual(permissions.open, [request])
            XCTAssertEqual(permissions[draft: request.requestId].reason, "no")
            await permissions.dismiss(request)
            XCTAssertTrue(permissions.failures.isEmpty)
            await until { !store.transcript.transcript.results.isEmpty }
        }
    }

    func testQuestionsAreAnsweredFromTheDraft() async throws {
        let folder = try temporaryDirectory()
        let file = folder.appendingPathComponent("scenario.toml")
        let scenario = """
            [[turn]]
            steps = [
              { tool = { name = "AskUserQuestion", ask = true, result = "{{input.answers}}", input = { questions = [
                { question = "Which colours?", header = "Colour", multiSelect = true, options = [
                  { label = "red", description = "" }, { label = "blue", description = "" } ] },
                { question = "Which size?", header = "Size", multiSelect = false, options = [
                  { label = "small", description = "" }, { label = "large", description = "" } ] } ] } } },
              { tool = { name = "ExitPlanMode", ask = true, result = "go", input = { plan = "1. Begin" } } },
            ]
            """
        try scenario.write(to: file, atomically: true, encoding: .utf8)
        try await withStore(configuration("--scenario", file.path, folder: folder)) { store, _ in
            let permissions = store.permissions
            await self.send("begin", store)
            await until { permissions.open.count == 1 }
            let request = permissions.open[0]
            XCTAssertEqual(request.questions.map(\.kind), [.multiple, .single])
            var draft = PermissionStore.Draft()
            draft.toggle("blue", of: request.questions[0])
            draft.toggle("red", of: request.questions[0])
            draft.toggle("small", of: request.questions[1])
            draft.toggle("large", of: request.questions[1])
            permissions[draft: request.requestId] = draft
            XCTAssertTrue(permissions.isComplete(request))
            draft.toggle("large", of: request.questions[1])
            XCTAssertNil(draft.answers(to: request.questions))
            draft[text: request.questions[1].id] = "huge"
            permissions[draft: request.requestId] = draft
            await permissions.answer(request)
            XCTAssertTrue(permissions.failures.isEmpty, "\(permissions.failures)")
            await until { permissions.open.first?.plan != nil }
            let plan = permissions.open[0]
            XCTAssertEqual(plan.plan, "1. Begin")
            await permissions.choose(plan.options[0], for: plan)
            XCTAssertTrue(permissions.failures.isEmpty, "\(permissions.failures)")
            await until { !store.transcript.transcript.results.isEmpty }
            let answers = store.transcript.transcript.toolCalls()[0].result?.text ?? ""
            XCTAssertTrue(answers.contains("red, blue") && answers.contains("huge"), answers)
        }
    }

    func testFailedPromptBecomesTheDraftAgain() async throws {
        try await withStore(configuration()) { store, session in
            XCTAssertFalse(store.prompt.canSend)
            await self.send("hello", store)
            XCTAssertEqual(store.prompt.draft, "")
            await until { store.prompt.waiting.isEmpty }
            await until { store.transcript.transcript.results == [.completed] }
            store.prompt.draft = "an accident"
            store.prompt.clear()
            XCTAssertTrue(store.prompt.canUndoClear)
            store.prompt.undoClear()
            XCTAssertEqual(store.prompt.draft, "an accident")
            _ = try await session.terminate()
            await store.prompt.send()
            XCTAssertEqual(store.prompt.draft, "an accident")
            guard case .Ended = store.failure?.error else { return XCTFail("\(store.prompt)") }
            store.dismissFailures()
            XCTAssertNil(store.failure)
        }
    }

    func testDraftsSurviveARestart() async throws {
        let file = try temporaryDirectory().appendingPathComponent("drafts.json")
        let drafts = await DraftStore.open(file)
        for length in 1...100 { drafts["a"] = String(repeating: "x", count: length) }
        drafts["b"] = "b"
        drafts["c"] = "c"
        drafts["c"] = ""
        await drafts.flush()
        drafts.keep(only: ["a"])
        await drafts.flush()
        let reopened = await DraftStore.open(file)
        XCTAssertNil(reopened.failure)
        XCTAssertEqual(reopened["a"].count, 100)
        XCTAssertEqual([reopened["b"], reopened["c"]], ["", ""])
        try Data("[".utf8).write(to: file)
        let broken = await DraftStore.open(file)
        guard case .Io = broken.failure?.error else { return XCTFail("no failure") }
        broken["a"] = "new"
        await broken.flush()
        let repaired = await DraftStore.open(file)
        XCTAssertEqual(repaired["a"], "new")
        let nowhere = await DraftStore.open(file.appendingPathComponent("not/a/folder"))
        nowhere["a"] = "lost"
        await nowhere.flush()
        guard case .Io = nowhere.failure?.error else { return XCTFail("no failure") }
    }

    func testListActionsAreUndoneAndDoneAgain() async throws {
        let folder = try temporaryDirectory()
        let manager = try await engine().openManager(
            configuration: ManagerConfiguration(
                stateDirectory: folder.appendingPathComponent("state").path,
                agentDirectory: folder.appendingPathComponent("agent").path))
        let again = try configuration(folder: folder)
        let list = SessionListStore(manager: manager, drafts: await .open(nil)) { _ in again }
        let following = Task { await list.follow() }
        await until { list.following == .active }
        await list.create(try configuration(folder: folder), label: "first")
        XCTAssertNil(list.failure)
        await list.create(try configuration(folder: folder), label: "second")
        let ids = list.sessions.map(\.id)
        XCTAssertEqual(list.sessions.map(\.label), ["first", "second"])
        XCTAssertEqual(list.selection, ids[1])

        await list.rename(list.sessions[0], to: "renamed")
        XCTAssertEqual(list.history.done.map(\.name), ["Rename to “renamed”"])
        await list.undo()
        XCTAssertEqual(list.sessions.map(\.label), ["first", "second"])
        await list.redo()
        XCTAssertEqual(list.sessions.map(\.label), ["renamed", "second"])

        // The stores of a session are the same each time, and follow it.
        let store = try XCTUnwrap(list.store(of: ids[0]))
        XCTAssertTrue(store === list.store(of: ids[0]))
        let reading = Task { await store.follow() }
        await send("hello", store)
        await until { store.transcript.transcript.results == [.completed] }
        await until { list.sessions[0].state == .idle }

        await list.end(list.sessions[0])
        await reading.value
        await until { list.sessions[0].state == .terminated }
        XCTAssertEqual(list.history.done.count, 2)
        // The simulated agent does not store conversations, so that the end cannot be undone.
        await list.undo()
        guard case .Resume = list.failure?.error else { return XCTFail("\(list.failure as Any)") }
        XCTAssertEqual(list.history.done.count, 2)
        list.dismissFailure()
        await list.remove(list.sessions[0])
        XCTAssertEqual(list.sessions.map(\.label), ["second"])
        XCTAssertEqual(list.history.done, [])
        _ = try await manager.endAll()
        following.cancel()
        await following.value
        await list.rename(list.sessions[0], to: "late")
        XCTAssertEqual(list.sessions.map(\.label), ["late"])
    }

    func testConnectionThatWasGivenUpIsRetried() async throws {
        let runner = try Runner()
        var there = try configuration()
        there.runner = runner.configuration
        there.runner?.reconnectTimeoutMs = 1
        try await withStore(there) { store, _ in
            XCTAssertNil(store.connection.banner)
            await self.send("hello", store)
            await until { store.transcript.transcript.results.count == 1 }
            runner.stopAndWait()
            await until {
                if case .failed(_, canRetry: true) = store.connection.banner { true } else { false }
            }
            store.prompt.draft = "while it is down"
            await store.prompt.send()
            guard case .Disconnected = store.prompt.failure?.error else {
                return XCTFail("\(store.prompt.failure as Any)")
            }
            let next = try Runner(at: runner.address, in: runner.folder)
            defer { next.stop() }
            await store.connection.retry()
            XCTAssertNil(store.connection.failure)
            await until { store.connection.banner == nil }
            await store.prompt.send()
            await until { store.transcript.transcript.results.count == 2 }
            await store.connection.retry()
            guard case .Invalid = store.connection.failure?.error else {
                return XCTFail("\(store.connection.failure as Any)")
            }
        }
    }
}
