// Tests: Engine, DialogueSession, ShellSession, TokenProvider
import Bowline
import XCTest

/// Gives a wrong token until that is refused, and the right one from then on.
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

private func isAtRest(_ transcript: Transcript, turns: Int) -> Bool {
    transcript.results.count == turns && transcript.phase == .idle
}

/// A first link that breaks is told to the host, which tries again.
private func attached(_ runner: RunnerConfiguration, _ id: String) async throws -> HeardSession {
    for _ in 0..<50 {
        do {
            return try await engine().attachHeard(
                runner: runner, session: id, configuration: configuration())
        } catch BowlineError.Start {
            continue
        }
    }
    throw NeverCame()
}

/// Asks for everything, answers what is asked, and gives what was said.
private func converse(_ session: DialogueSession) async throws -> String {
    for prompt in ["hello", "/tool ls", "/lines 300", "/big 300000"] {
        let settled = try await session.say(prompt).settled()
        XCTAssertEqual(settled, .answered)
    }
    let receipt = try await session.say("/ask make")
    try await session.allow(session.asked().requestId)
    let settled = try await receipt.settled()
    XCTAssertEqual(settled, .answered)
    return try await session.until { isAtRest($0, turns: 5) }.said
}

private func states(_ events: DialogueEventStream) async throws -> [ConnectionView] {
    var states: [ConnectionView] = []
    var cursor: UInt64 = 0
    while let batch = try await events.next(cursor: cursor, most: 10_000, lingerMs: 0) {
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

    func testADialogueAtARunnerSaysTheSameOverLinksThatBreak() async throws {
        let here = try await withSession(configuration()) { try await converse($0) }
        let first = try Runner()
        first.ended()
        // A runner has to know by which names it is reached, and a proxy what it stands in front of.
        let faults = ["cut", "reset", "half-close", "stall"].flatMap { ["--fault", $0] }
        let chaos = try (1...6).map {
            try Running("chaos", ["--to", first.address, "--seed", "\($0)"] + faults)
        }
        defer { chaos.forEach { $0.stop() } }
        let proxies = try chaos.map { try String($0.said("listening on ").prefix { $0 != "," }) }
        let runner = try Runner(at: first.address, for: proxies)
        defer { runner.stop() }
        var reconnected = 0
        for proxy in proxies {
            // The first order is not repeated: it goes the straight way.
            let first = try await engine().start(configuration: at(runner.configuration))
            let id = try first.id()
            _ = try await first.detach()
            let tokens = Tokens(runner.token)
            let broken = RunnerConfiguration(url: "http://\(proxy)", tokens: tokens)
            let heard = try await attached(broken, id)
            async let connections = states(heard.events)
            let said = try await converse(heard.session)
            XCTAssertEqual(said, here)
            let end = try await heard.session.terminate()
            XCTAssertTrue(end.isExpected)
            for state in try await connections {
                guard case .reconnected(_, let gap) = state else { continue }
                XCTAssertEqual(gap, 0)
                reconnected += 1
            }
            XCTAssertTrue(tokens.refusals.all.contains(true))
        }
        XCTAssertGreaterThan(reconnected, 0)
        print("\(reconnected) links were made again")
    }

    func testAHostGoesAndAnotherOneGoesOn() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        var there = try configuration("--pace", "1")
        there.runner = runner.configuration
        let first = try await engine().start(configuration: there)
        _ = try await first.say("hello").settled()
        let said = try await first.until { isAtRest($0, turns: 1) }.said
        let detached = try await first.detach()
        XCTAssertTrue(detached.isExpected)
        let session = try await engine().attach(
            runner: runner.configuration, session: first.id(), configuration: configuration())
        let again = try await session.until { isAtRest($0, turns: 1) }.said
        XCTAssertEqual(again, said)
        try await session.say("/sleep 600")
        try await session.until { $0.toolCalls().last?.state == .running }
        _ = try await session.interrupt()
        try await session.until { $0.results.count == 2 }
        try await session.say("/exit 3")
        let end = try await session.untilEnded()
        XCTAssertEqual(end.exit.code, 3)
        let wrong = RunnerConfiguration(url: "http://\(runner.address)", token: "0000")
        let (plain, id) = (try configuration(), try first.id())
        let refusal = await refused {
            _ = try await engine().attach(runner: wrong, session: id, configuration: plain)
        }
        XCTAssertEqual(refusal, "Start")
    }

    private func echo(_ runner: RunnerConfiguration? = nil) throws -> ShellConfiguration {
        ShellConfiguration(
            cwd: try temporary().path, runner: runner,
            program: .command(
                program: "/bin/sh", args: ["-c", "while read line; do echo heard $line; done"]))
    }

    private func line(_ wanted: String, of shell: ShellSession) async throws {
        for try await batch in try shell.happenings() {
            for event in batch.events {
                if case .output(_, let said) = event, said == wanted { return }
            }
        }
        throw NeverCame()
    }

    func testAShellAtARunnerOutlivesItsHost() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let first = try await engine().startShell(configuration: echo(runner.configuration))
        try await first.typeText(text: "one\n")
        try await line("heard one", of: first)
        XCTAssertEqual(try first.connection(), .connected)
        let retried = await refused { try first.retry() }
        XCTAssertEqual(retried, "Invalid")
        let id = try first.terminal()
        try await first.detach()
        let second = try await engine().attachShell(
            runner: runner.configuration, session: id, configuration: echo())
        try await line("heard one", of: second)
        try await second.typeText(text: "two\n")
        try await line("heard two", of: second)
        let ended = try await second.terminate()
        XCTAssertTrue(ended.survivors.isEmpty)
        let here = try await engine().startShell(configuration: echo())
        let kept = await refused { try await here.detach() }
        XCTAssertEqual(kept, "Invalid")
        _ = try await here.kill()
        let list = ManagerConfiguration(stateFolder: try temporary().path)
        let manager = try await engine().openManager(configuration: list)
        let made = try await manager.createShell(
            configuration: echo(runner.configuration), label: "far")
        let far = try manager.shell(id: made.id)
        try await far.typeText(text: "three\n")
        try await line("heard three", of: far)
        let killed = try await manager.kill(id: made.id)
        XCTAssertNotNil(killed.report)
        _ = try await manager.shutdown()
    }

    func testAManagerHasDialoguesAtARunner() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let list = ManagerConfiguration(stateFolder: try temporary().path)
        let manager = try await engine().openManager(configuration: list)
        let made = try await manager.createDialogue(
            configuration: at(runner.configuration), label: "far")
        let session = try manager.dialogue(id: made.id)
        _ = try await session.say("hello").settled()
        try await session.until { !$0.results.isEmpty }
        let killed = try await manager.kill(id: made.id)
        XCTAssertNotNil(killed.report)
        _ = try await manager.shutdown()
    }
}
