// Tests: Engine, InboxStream, InboxStore
import Bowline
import BowlineUI
import Foundation
import XCTest

/// The inbox without the sessions of other tests.
private func events(
    of session: DialogueSession, where holds: @Sendable (InboxEvent) -> Bool
) async throws -> InboxEvent {
    let id = try session.id()
    for try await event in try engine().inbox() where event.session == id && holds(event) {
        return event
    }
    throw MissingValue()
}

private func openRequest(of session: DialogueSession) async throws -> SessionPermission {
    let event = try await events(of: session) { if case .opened = $0 { true } else { false } }
    guard case .opened(let request) = event else { throw MissingValue() }
    return request
}

private func reason(
    of session: DialogueSession, where holds: @Sendable (AttentionReason) -> Bool = { _ in true }
) async throws -> AttentionReason {
    let event = try await events(of: session) {
        if case .attention(_, _, let reason) = $0 { holds(reason) } else { false }
    }
    guard case .attention(_, _, let reason) = event else { throw MissingValue() }
    return reason
}

extension InboxEvent {
    fileprivate var session: String {
        switch self {
        case .opened(let request), .closed(let request): request.session
        case .attention(let session, _, _): session
        }
    }
}

final class InboxTests: TimedTestCase {
    func testRequestsOfLocalAndRemoteSessionsAreAnsweredFromTheInbox() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        var remote = try configuration()
        remote.runner = runner.configuration
        for configuration in [try configuration(), remote] {
            try await withSession(configuration) { session in
                let asked = try await session.send("/ask make test")
                let request = try await openRequest(of: session)
                // A new reader begins with what is open.
                let again = try await openRequest(of: session)
                XCTAssertEqual(request, again)
                let id = request.record.requestId
                let engine = try engine()
                let allow = PermissionAnswer.allow(updatedInput: nil, updatedPermissions: nil)
                try await engine.respond(
                    session: request.session, requestId: id, answer: allow, answeredBy: "phone")
                let late = await errorKind {
                    try await engine.respond(
                        session: request.session, requestId: id,
                        answer: .deny(reason: "late", interrupt: false), answeredBy: "laptop")
                }
                XCTAssertEqual(late, "TooLate")
                let settled = try await asked.waitUntilSettled()
                XCTAssertEqual(settled, .answered)
                let record = try session.permissions().first { $0.requestId == id }
                XCTAssertEqual(record?.answeredBy, "phone")
                _ = try await reason(of: session) { if case .finished = $0 { true } else { false } }
            }
        }
    }

    func testClosedRequestHasTheNameOfWhoAnswered() async throws {
        try await withSession(configuration()) { session in
            let asked = try await session.send("/ask make test")
            let id = try session.id()
            var opened: [PermissionRecord] = []
            for try await event in try engine().inbox() where event.session == id {
                if case .opened(let request) = event {
                    opened.append(request.record)
                    try await engine().respond(
                        session: id, requestId: request.record.requestId,
                        answer: .deny(reason: "no", interrupt: false), answeredBy: "laptop")
                }
                guard case .closed(let request) = event else { continue }
                XCTAssertEqual([request.record.requestId], opened.map(\.requestId))
                XCTAssertEqual(request.record.state, .answered)
                XCTAssertEqual(request.record.isAllowed, false)
                XCTAssertEqual(request.record.answeredBy, "laptop")
                break
            }
            _ = try await asked.waitUntilSettled()
        }
    }

    func testAttentionHasItsReasonAndALimitItsReset() async throws {
        let folder = try temporaryDirectory()
        let file = folder.appendingPathComponent("scenario.toml")
        let scenario = """
            [[turn]]
            match = "spend"
            steps = [
                { limits = { window_minutes = 300, used_percent = 100, resets_at = 1900000000 } },
                { fail = { status = 429, text = "limit reached", error = "rate_limit" } },
            ]
            """
        try scenario.write(to: file, atomically: true, encoding: .utf8)
        try await withSession(configuration("--scenario", file.path, folder: folder)) { session in
            _ = try await session.send("/error").waitUntilSettled()
            _ = try await reason(of: session) { if case .failure = $0 { true } else { false } }
            _ = try await session.send("spend").waitUntilSettled()
            let limit = try await reason(of: session) { if case .limitReached = $0 { true } else { false } }
            guard case .limitReached(_, let resets) = limit else { return XCTFail("\(limit)") }
            XCTAssertEqual(resets, 1_900_000_000_000)
            let asked = try await session.send("/ask make test")
            let question = try await reason(of: session) { if case .question = $0 { true } else { false } }
            guard case .question(let id, let kind, let tool) = question else { return XCTFail("\(question)") }
            XCTAssertEqual(kind, .permission)
            XCTAssertEqual(tool, "Bash")
            try await session.deny(id, reason: "no")
            _ = try await asked.waitUntilSettled()
        }
    }

    func testStoppedInboxReturnsNothing() async throws {
        let stream = try engine().inboxStream()
        stream.stop()
        let batch = try await stream.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        XCTAssertNil(batch)
    }

    @MainActor
    func testStoreHasTheRequestsOfAllSessionsAndAnswersEachOnce() async throws {
        let store = InboxStore(engine: try engine(), answeredBy: "a test")
        let notified = Shared<InboxStore.Notice>()
        let following = Task { await store.follow { notified.add($0) } }
        let sessions = [
            try await engine().start(configuration: configuration()),
            try await engine().start(configuration: configuration()),
        ]
        for session in sessions { _ = try await session.send("/ask make test") }
        let ids = try sessions.map { try $0.id() }
        await until { ids.allSatisfy { store.open(of: $0).count == 1 } }
        let first = try XCTUnwrap(store.open(of: ids[0]).first)
        // A wrong answer fails and leaves the request open.
        await store.respond(.choose(option: "no such option"), to: first)
        guard case .Invalid = store.failure(of: first)?.error else {
            return XCTFail("\(String(describing: store.failure(of: first)))")
        }
        XCTAssertEqual(store.open(of: ids[0]), [first])
        let allow = PermissionAnswer.allow(updatedInput: nil, updatedPermissions: nil)
        async let once: Void = store.respond(allow, to: first)
        async let twice: Void = store.respond(allow, to: first)
        _ = await (once, twice)
        XCTAssertNil(store.failure(of: first))
        XCTAssertTrue(store.open(of: ids[0]).isEmpty)
        XCTAssertEqual(store.open(of: ids[1]).count, 1)
        await until { if case .finished = store.notices[ids[0]]?.reason { true } else { false } }
        XCTAssertEqual(try sessions[0].permissions().last?.answeredBy, "a test")
        // A request that ends with its session is open no more.
        _ = try await sessions[1].terminate()
        await until { store.open(of: ids[1]).isEmpty }
        _ = try await sessions[0].terminate()
        let own = notified.all.filter { $0.session == ids[0] }
        XCTAssertEqual(Set(own.map(\.id)).count, own.count, "a reason was reported twice")
        following.cancel()
        await following.value
        XCTAssertEqual(store.following, .paused)
    }

    @MainActor
    func testListShowsWhichSessionNeedsAttention() async throws {
        let engine = try engine()
        let folder = try temporaryDirectory()
        let manager = try await engine.openManager(
            configuration: ManagerConfiguration(stateDirectory: folder.appendingPathComponent("state").path))
        let inbox = InboxStore(engine: engine)
        let list = SessionListStore(manager: manager, drafts: await DraftStore.open(nil), inbox: inbox)
        let followers = [Task { await inbox.follow() }, Task { await list.follow() }]
        let created = await list.create(try configuration(folder: folder), label: "asks")
        let session = try XCTUnwrap(created)
        let dialogue = try manager.dialogue(id: session.id)
        let asked = try await dialogue.send("/ask make test")
        await until { list.openRequests(of: session).count == 1 }
        let request = list.openRequests(of: session)[0]
        await inbox.respond(.deny(reason: "no", interrupt: false), to: request)
        _ = try await asked.waitUntilSettled()
        await until { if case .finished = list.notice(of: session)?.reason { true } else { false } }
        XCTAssertTrue(list.openRequests(of: session).isEmpty)
        _ = try await manager.endAll()
        followers.forEach { $0.cancel() }
        for follower in followers { await follower.value }
    }
}
