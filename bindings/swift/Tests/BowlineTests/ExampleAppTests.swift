// Tests: AppModel of the example app, with HookStore, OutputStore and SessionListStore
import Bowline
import BowlineUI
import Foundation
import XCTest

@testable import ExampleApp

/// A run of the app: what its views follow, until it is closed.
@MainActor
private struct Run {
    let model: AppModel
    let list: SessionListStore
    private let followers: [Task<Void, Never>]

    init(_ settings: AppSettings) async throws {
        let model = AppModel(settings: settings)
        await model.open()
        XCTAssertNil(model.failure)
        let list = try XCTUnwrap(model.list)
        (self.model, self.list) = (model, list)
        followers = [Task { await model.follow() }, Task { await list.follow() }]
        await until { list.following == .active }
    }

    /// Starts a session in a new folder and returns its store, which follows it.
    func create(policy: String? = nil) async throws -> SessionStore {
        let project = try temporaryDirectory()
        if let policy {
            let file = project.appendingPathComponent("policy.toml")
            try policy.write(to: file, atomically: true, encoding: .utf8)
        }
        await model.create(in: project)
        XCTAssertNil(model.failure)
        XCTAssertNil(list.failure)
        return try store(of: XCTUnwrap(list.selection))
    }

    func store(of session: String) throws -> SessionStore {
        let store = try XCTUnwrap(list.store(of: session))
        Task { await store.follow() }
        return store
    }

    func session(_ id: String) throws -> ManagedSession {
        try XCTUnwrap(list.sessions.first { $0.id == id })
    }

    func close(endsAll: Bool = false) async {
        await model.close(endsAll: endsAll)
        XCTAssertNil(list.failure)
        followers.forEach { $0.cancel() }
        for follower in followers { await follower.value }
    }
}

@MainActor
final class ExampleAppTests: TimedTestCase {
    private func settings(runner: RunnerConfiguration? = nil, backend: String? = nil) throws -> AppSettings {
        AppSettings(
            program: programs.appendingPathComponent("understudy").path,
            folder: try temporaryDirectory().appendingPathComponent("app"), runner: runner, backend: backend)
    }

    private func send(_ text: String, _ store: SessionStore) async {
        let count = store.transcript.transcript.results.count
        store.prompt.draft = text
        await store.prompt.send()
        XCTAssertNil(store.prompt.failure)
        await until { store.transcript.transcript.results.count == count + 1 }
    }

    func testSessionHasRulesHooksOutputAndAReport() async throws {
        let run = try await Run(try settings())
        let store = try await run.create(policy: "[[rule]]\ndecision = \"allow\"\ncommand = \"make *\"\n")
        let reading = Task { await store.followOutput() }
        await send("/ask make test", store)
        XCTAssertEqual(store.transcript.transcript.permissions.map(\.decidedBy?.who), ["policy"])
        await send("/tool ls", store)
        let hooks = try XCTUnwrap(run.model.hooks[store.id])
        await until { hooks.events.contains { $0.kind == "PreToolUse" } }
        await until { store.output.text.contains("The command is over.") }
        let saved = await run.model.report(on: store)
        let report = try XCTUnwrap(saved)
        let again = await store.writeReport(to: report)
        XCTAssertFalse(again)
        guard case .Io = store.failure?.error else { return XCTFail("\(store.failure as Any)") }
        store.dismissFailures()
        XCTAssertNil(store.failure)
        await run.close()
        await reading.value
        XCTAssertEqual(store.output.following, .ended)
        XCTAssertEqual(try run.session(store.id).state, .terminated)
        let stopped = await hooks.stop()
        XCTAssertNil(stopped)
    }

    func testRelaunchedAppFindsItsSessionsWhatWasReadAndTheirHooks() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let settings = try settings(runner: runner.configuration)
        let id = try await startAndQuit(settings)
        let run = try await Run(settings)
        let store = try run.store(of: id)
        await until { store.transcript.transcript.results.count == 1 }
        await until { run.list.notice(of: run.list.sessions[0]) != nil }
        XCTAssertFalse(run.list.isUnread(try run.session(id)))
        await send("/tool ls", store)
        await until { run.list.isUnread(run.list.sessions[0]) }
        let hooks = try XCTUnwrap(run.model.hooks[id])
        await until { hooks.events.contains { $0.kind == "PreToolUse" } }
        await run.close(endsAll: true)
        XCTAssertEqual(try run.session(id).state, .terminated)
        let left = try await engine().runner(runner: runner.configuration).sessions()
        XCTAssertEqual(left.count, 1)
        XCTAssertNotEqual(left.first?.state, .running)
    }

    /// Runs the app once, so that its manager is released: starts a session at the runner, reads what it has to say,
    /// and leaves it.
    private func startAndQuit(_ settings: AppSettings) async throws -> String {
        let run = try await Run(settings)
        let store = try await run.create()
        await send("hello", store)
        let session = try run.session(store.id)
        await until { run.list.isUnread(session) }
        await run.list.markRead(session)
        XCTAssertNil(run.list.failure)
        XCTAssertFalse(run.list.isUnread(session))
        await run.close()
        return store.id
    }

    func testReadMarkLeavesOtherMetadataOfTheApp() async throws {
        let engine = try engine()
        let manager = try await engine.openManager(
            configuration: ManagerConfiguration(stateDirectory: try temporaryDirectory().path))
        let inbox = InboxStore(engine: engine)
        let list = SessionListStore(manager: manager, drafts: await DraftStore.open(nil), inbox: inbox)
        let followers = [Task { await inbox.follow() }, Task { await list.follow() }]
        let created = await list.create(try configuration(), label: "noted")
        let session = try XCTUnwrap(created)
        try await manager.setMetadata(id: session.id, metadata: "not JSON")
        _ = try await manager.dialogue(id: session.id).send("hello").waitUntilSettled()
        await until { if case .finished = list.notice(of: session)?.reason { true } else { false } }
        await list.markRead(session)
        guard case .Invalid = list.failure?.error else { return XCTFail("\(list.failure as Any)") }
        XCTAssertTrue(list.isUnread(session))
        try await manager.setMetadata(id: session.id, metadata: #"{"order":7}"#)
        await list.markRead(session)
        XCTAssertFalse(list.isUnread(session))
        let metadata = try await manager.metadata(id: session.id)
        XCTAssertTrue(metadata?.hasPrefix(#"{"order":7,"readNotice":""#) == true, "\(metadata as Any)")
        await list.endAll()
        followers.forEach { $0.cancel() }
        for follower in followers { await follower.value }
    }

    func testHooksAreAddedToOwnEnvironmentButNotToOwnSettings() async throws {
        let hooks = try await HookStore.start(try engine(), HookConfiguration(), limit: 1)
        let changes = EnvironmentChanges(set: ["OWN": "1"])
        let added = try hooks.adding(to: DialogueConfiguration(environment: changes))
        XCTAssertEqual(added.environment?.set["OWN"], "1")
        XCTAssertNotNil(added.environment?.set["BOWLINE_HOOK_URL"])
        let own = AgentOptions(settings: .json(json: "{}"))
        XCTAssertThrowsError(try hooks.adding(to: DialogueConfiguration(options: own))) { error in
            guard case .Configuration? = error as? BowlineError else { return XCTFail("\(error)") }
        }
        let report = await hooks.stop()
        XCTAssertEqual(report?.events, 0)
    }

    func testTokenOfTheBackendIsReadForEachAttempt() async throws {
        let file = try temporaryDirectory().appendingPathComponent("token")
        let tokens = FileTokens(file: file)
        XCTAssertThrowsError(try tokens.token(wasRefused: false)) { error in
            guard case .Host(let reason)? = error as? BowlineError else { return XCTFail("\(error)") }
            XCTAssertTrue(reason.contains(file.path), reason)
        }
        for token in ["first", "second"] {
            try "\(token)\n".write(to: file, atomically: true, encoding: .utf8)
            XCTAssertEqual(try tokens.token(wasRefused: token == "second"), token)
        }
    }
}
