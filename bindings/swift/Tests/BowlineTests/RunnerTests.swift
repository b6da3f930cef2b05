// Tests: Engine, DialogueSession, ShellSession, ConnectionStream, TokenProvider
import Bowline
import XCTest

/// Returns a wrong token until it is refused, and the right one from then on.
private final class Tokens: TokenProvider {
    let refusals = Shared<Bool>()
    private let right: String

    init(_ right: String) {
        self.right = right
    }

    func token(wasRefused: Bool) throws -> String? {
        refusals.add(wasRefused)
        return refusals.all.contains(true)
            ? right : String(repeating: "0", count: right.count)
    }
}

private func isIdle(_ transcript: Transcript, turns: Int) -> Bool {
    transcript.results.count == turns && transcript.phase == .idle
}

/// Attaches, retrying if the first connection fails.
private func attach(_ runner: RunnerConfiguration, _ id: String) async throws -> SessionWithEvents {
    for _ in 0..<50 {
        do {
            return try await engine().attachWithEvents(
                runner: runner, session: id, configuration: configuration())
        } catch BowlineError.Start {
            continue
        }
    }
    throw MissingValue()
}

/// Runs a conversation with all kinds of output and returns its text.
private func converse(_ session: DialogueSession) async throws -> String {
    for prompt in ["hello", "/tool ls", "/lines 300", "/big 300000"] {
        let settled = try await session.send(prompt).waitUntilSettled()
        XCTAssertEqual(settled, .answered)
    }
    let receipt = try await session.send("/ask make")
    try await session.allow(session.awaitPermissionRequest().requestId)
    let settled = try await receipt.waitUntilSettled()
    XCTAssertEqual(settled, .answered)
    return try await session.until { isIdle($0, turns: 5) }.text
}

private func states(_ events: DialogueEventStream) async throws -> [ConnectionView] {
    var states: [ConnectionView] = []
    var cursor: UInt64 = 0
    while let batch = try await events.next(cursor: cursor, maxCount: 10_000, coalesceForMs: 0) {
        cursor = batch.cursor
        for case .event(let event) in batch.events {
            if case .connection(let state) = event.kind { states.append(state) }
        }
    }
    return states
}

final class RunnerTests: TimedTestCase {
    private func at(_ runner: RunnerConfiguration) throws -> DialogueConfiguration {
        var there = try configuration()
        there.runner = runner
        return there
    }

    func testRemoteDialogueSurvivesConnectionFaults() async throws {
        let expected = try await withSession(configuration()) { try await converse($0) }
        let first = try Runner()
        first.stopAndWait()
        // The runner needs the proxies' host names, and the proxies need the runner's address.
        let faults = ["cut", "reset", "half-close", "stall"].flatMap { ["--fault", $0] }
        let chaos = try (1...6).map {
            try RunningProgram("chaos", ["--to", first.address, "--seed", "\($0)"] + faults)
        }
        defer { chaos.forEach { $0.stop() } }
        let proxies = try chaos.map { try String($0.line(after: "listening on ").prefix { $0 != "," }) }
        let runner = try Runner(at: first.address, for: proxies)
        defer { runner.stop() }
        var reconnected = 0
        for proxy in proxies {
            // Starting a session is not retried, so it bypasses the proxy.
            let first = try await engine().start(configuration: at(runner.configuration))
            let id = try first.id()
            _ = try await first.detach()
            let tokens = Tokens(runner.token)
            let proxied = RunnerConfiguration(url: "http://\(proxy)", tokenProvider: tokens)
            let started = try await attach(proxied, id)
            async let connections = states(started.events)
            let text = try await converse(started.session)
            XCTAssertEqual(text, expected)
            let end = try await started.session.terminate()
            XCTAssertTrue(end.isExpected)
            for state in try await connections {
                guard case .reconnected(_, let gap) = state else { continue }
                XCTAssertEqual(gap, 0)
                reconnected += 1
            }
            XCTAssertTrue(tokens.refusals.all.contains(true))
        }
        XCTAssertGreaterThan(reconnected, 0)
        print("\(reconnected) reconnects")
    }

    func testSecondHostContinuesADetachedSession() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        var there = try configuration("--pace", "1")
        there.runner = runner.configuration
        let first = try await engine().start(configuration: there)
        _ = try await first.send("hello").waitUntilSettled()
        let text = try await first.until { isIdle($0, turns: 1) }.text
        let detached = try await first.detach()
        XCTAssertTrue(detached.isExpected)
        let session = try await engine().attach(
            runner: runner.configuration, session: first.id(), configuration: configuration())
        let again = try await session.until { isIdle($0, turns: 1) }.text
        XCTAssertEqual(again, text)
        try await session.send("/sleep 600")
        try await session.until { $0.toolCalls().last?.state == .running }
        _ = try await session.interrupt()
        try await session.until { $0.results.count == 2 }
        try await session.send("/exit 3")
        let end = try await session.waitForEnd()
        XCTAssertEqual(end.exit.code, 3)
        let wrong = RunnerConfiguration(url: "http://\(runner.address)", token: "0000")
        let (plain, id) = (try configuration(), try first.id())
        let refusal = await errorKind {
            _ = try await engine().attach(runner: wrong, session: id, configuration: plain)
        }
        XCTAssertEqual(refusal, "Start")
    }

    func testCancelledStartLeavesNoAgentAtTheRunner() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let (engine, there) = (try engine(), try at(runner.configuration))
        let client = try engine.runner(runner: runner.configuration)
        for yields in [0, 1, 4, 16, 64, 256] {
            let start = Task { _ = try await engine.start(configuration: there) }
            let events = Task { _ = try await engine.startWithEvents(configuration: there) }
            let shell = try echo(runner.configuration)
            let shells = Task { _ = try await engine.startShell(configuration: shell) }
            for _ in 0..<yields { await Task.yield() }
            for task in [start, events, shells] {
                task.cancel()
                _ = await task.result
            }
        }
        try await eventually("no call is pending") { try liveCounters().pendingCalls == 0 }
        let sessions = try await client.sessions()
        XCTAssertEqual(sessions.count, 18)
        XCTAssertEqual(sessions.filter { $0.state == .running }.map(\.id), [])
    }

    func testCallWithoutAConnectionThrowsDisconnected() async throws {
        let runner = try Runner()
        var there = try at(runner.configuration)
        there.runner?.reconnectTimeoutMs = 1
        let session = try await engine().start(configuration: there)
        let events = try session.events()
        runner.stopAndWait()
        for try await batch in events {
            var hasFailed = false
            for case .event(let event) in batch.events {
                if case .connection(.failed) = event.kind { hasFailed = true }
            }
            if hasFailed { break }
        }
        let kind = await errorKind { try await session.send("hello") }
        XCTAssertEqual(kind, "Disconnected")
    }

    func testRetryContinuesASessionWhenItsRunnerIsBack() async throws {
        let runner = try Runner()
        var there = try at(runner.configuration)
        there.runner?.reconnectTimeoutMs = 1
        let session = try await engine().start(configuration: there)
        _ = try await session.send("hello").waitUntilSettled()
        let seen = Shared<ConnectionView>()
        var states = try session.connectionStates().makeAsyncIterator()
        func state(_ wanted: (ConnectionView) -> Bool) async throws -> ConnectionView {
            while let state = try await states.next() {
                seen.add(state)
                if wanted(state) { return state }
            }
            throw MissingValue()
        }
        _ = try await state { $0 == .connected }
        runner.stopAndWait()
        let failed = try await state { if case .failed = $0 { true } else { false } }
        guard case .failed(let reason, true) = failed else { return XCTFail("\(failed)") }
        let lost = try await session.until { $0.reason.hasPrefix("disconnected: ") }
        XCTAssertEqual(lost.phase, .idle, reason)
        let again = try Runner(at: runner.address, in: runner.folder)
        defer { again.stop() }
        try session.retry()
        let restored = try await state { if case .reconnected = $0 { true } else { false } }
        guard case .reconnected(_, 0) = restored else { return XCTFail("\(restored)") }
        try await session.until { !$0.reason.hasPrefix("disconnected: ") }
        let settled = try await session.send("again").waitUntilSettled()
        XCTAssertEqual(settled, .answered)
        _ = try await session.terminate()
        while let late = try await states.next() { XCTAssertNotEqual(late, failed) }
        XCTAssertEqual(seen.all.first, .connected)
    }

    func testLocalSessionsAreConnectedUntilTheyEnd() async throws {
        let states = try await withSession(configuration()) { session in
            let states = try session.connectionStates()
            _ = try await session.send("hello").waitUntilSettled()
            return states
        }
        var all: [ConnectionView] = []
        for try await state in states { all.append(state) }
        XCTAssertEqual(all, [.connected])
        let shell = try await engine().startShell(configuration: echo())
        for try await state in try shell.connectionStates() {
            XCTAssertEqual(state, .connected)
            break
        }
        let stream = try shell.connectionStream()
        let first = try await stream.next(cursor: 0, maxCount: 10, coalesceForMs: 0)
        XCTAssertEqual(first?.events, [.connected])
        stream.stop()
        let stopped = try await stream.next(cursor: first?.cursor ?? 0, maxCount: 10, coalesceForMs: 0)
        XCTAssertNil(stopped)
        _ = try await shell.kill()
    }

    private func echo(_ runner: RunnerConfiguration? = nil) throws -> ShellConfiguration {
        ShellConfiguration(
            cwd: try temporaryDirectory().path, runner: runner,
            program: .command(
                program: "/bin/sh", args: ["-c", "while read line; do echo got $line; done"]))
    }

    private func line(_ wanted: String, of shell: ShellSession) async throws {
        for try await batch in try shell.events() {
            for event in batch.events {
                if case .output(_, let text) = event, text == wanted { return }
            }
        }
        throw MissingValue()
    }

    func testShellAtARunnerOutlivesItsHost() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let first = try await engine().startShell(configuration: echo(runner.configuration))
        try await first.typeText(text: "one\n")
        try await line("got one", of: first)
        XCTAssertEqual(try first.connection(), .connected)
        let retried = await errorKind { try first.retry() }
        XCTAssertEqual(retried, "Invalid")
        let id = try first.terminal()
        try await first.detach()
        let second = try await engine().attachShell(
            runner: runner.configuration, session: id, configuration: echo())
        try await line("got one", of: second)
        try await second.typeText(text: "two\n")
        try await line("got two", of: second)
        let ended = try await second.terminate()
        XCTAssertTrue(ended.survivors.isEmpty)
        let here = try await engine().startShell(configuration: echo())
        let kept = await errorKind { try await here.detach() }
        XCTAssertEqual(kept, "Invalid")
        _ = try await here.kill()
        let list = ManagerConfiguration(stateDirectory: try temporaryDirectory().path)
        let manager = try await engine().openManager(configuration: list)
        let made = try await manager.createShell(
            configuration: echo(runner.configuration), label: "remote")
        let remote = try manager.shell(id: made.id)
        try await remote.typeText(text: "three\n")
        try await line("got three", of: remote)
        let killed = try await manager.kill(id: made.id)
        XCTAssertNotNil(killed.report)
        _ = try await manager.endAll()
    }

    func testManagerRunsDialoguesAtARunner() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let list = ManagerConfiguration(stateDirectory: try temporaryDirectory().path)
        let manager = try await engine().openManager(configuration: list)
        let made = try await manager.createDialogue(
            configuration: at(runner.configuration), label: "remote")
        let session = try manager.dialogue(id: made.id)
        _ = try await session.send("hello").waitUntilSettled()
        try await session.until { !$0.results.isEmpty }
        let killed = try await manager.kill(id: made.id)
        XCTAssertNotNil(killed.report)
        _ = try await manager.endAll()
    }
}
