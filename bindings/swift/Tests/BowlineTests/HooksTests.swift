// Tests: HookServer, HookStream, HookQuestionStream, TerminalExecutor, HostTerminal
import Bowline
import Foundation
import XCTest

final class HooksTests: TimedTestCase {
    func testSettingsLeaveOutWhatAVersionDoesNotKnow() async throws {
        let server = try await engine().startHooks(configuration: HookConfiguration())
        let newest = try server.settingsFor(
            interaction: "i1", agent: AgentVersion(major: 2, minor: 1, patch: 330))
        XCTAssertEqual(newest, try server.settings(interaction: "i1"))
        let older = await errorKind {
            _ = try server.settingsFor(
                interaction: "i1", agent: AgentVersion(major: 1, minor: 0, patch: 128))
        }
        XCTAssertEqual(older, "Configuration")
        _ = try await server.stop()
    }

    func testHookEventIsReceivedAndItsQuestionAnswered() async throws {
        XCTAssertTrue(commonHookKinds().contains("PreToolUse"))
        let gate = HookGate(kinds: ["PreToolUse"], deadlineMs: 30_000, fallback: .nothing)
        let server = try await engine().startHooks(configuration: HookConfiguration(gate: gate))
        XCTAssertTrue(try server.url(interaction: "i1").hasPrefix("http://127.0.0.1:"))
        XCTAssertGreaterThanOrEqual(try server.token().count, 32)
        let events = try server.eventStream()
        let questions = try server.questionStream()
        let second = await errorKind { _ = try server.questions() }
        XCTAssertEqual(second, "Busy")
        _ = try server.events()
        let settings = AgentDocument.private(json: try server.settings(interaction: "i1"))
        let hookedConfiguration = try configuration(
            options: AgentOptions(settings: settings), set: server.environment(interaction: "i1"))
        try await withSession(hookedConfiguration) { session in
            // If the agent ends there is no question to wait for.
            let end = Task {
                let end = try await session.waitForEnd()
                questions.stop()
                return end
            }
            defer { end.cancel() }
            try await session.send("/tool ls")
            let batch = try await questions.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
            guard let question = batch?.events.first else { return XCTFail("\(try await end.value)") }
            XCTAssertEqual(question.event.kind, "PreToolUse")
            let broken = await errorKind {
                try server.answer(question: question.id, reply: .raw(json: "["))
            }
            XCTAssertEqual(broken, "Invalid")
            let form = await errorKind {
                try server.answer(question: question.id, reply: .acceptForm(content: "["))
            }
            XCTAssertEqual(form, "Invalid")
            let allow = HookReply.tool(verdict: .allow, reason: nil, updatedInput: nil, context: nil)
            try server.answer(question: question.id, reply: allow)
            let again = await errorKind {
                try server.answer(question: question.id, reply: .nothing)
            }
            XCTAssertEqual(again, "NotFound")
            try await session.until { !$0.results.isEmpty }
        }
        let received = try await events.next(cursor: 0, maxCount: 100, coalesceForMs: 0)
        XCTAssertFalse(received?.events.isEmpty ?? true)
        events.stop()
        questions.stop()
        XCTAssertGreaterThan(try server.report().events, 0)
        let report = try await server.stop()
        XCTAssertGreaterThan(report.events, 0)
        let stopped = await errorKind { _ = try server.report() }
        XCTAssertEqual(stopped, "Ended")
    }

    private final class Refusals: TokenProvider {
        let refusals = Shared<Bool>()

        func token(wasRefused: Bool) throws -> String? {
            refusals.add(wasRefused)
            return "secret"
        }
    }

    /// A runner stands in for a backend: it refuses tokens that are not its own.
    func testHTTPSBackendIsReachedWithAnAuthorityAndATokenOfTheProvider() async throws {
        let folder = try temporaryDirectory()
        let generator = Process()
        generator.executableURL = programs.appendingPathComponent("examples/certificates")
        generator.arguments = [folder.path]
        try generator.run()
        generator.waitUntilExit()
        XCTAssertEqual(generator.terminationStatus, 0)
        let file = { (name: String) in folder.appendingPathComponent(name).path }
        let serve = try RunningProgram(
            "bowline",
            [
                "serve", "--listen", "127.0.0.1:0", "--state-dir", file("state"), "--socket", file("socket"),
                "--tls-cert", file("localhost.crt"), "--tls-key", file("localhost.key"),
            ])
        defer { serve.stop() }
        let address = try serve.line(after: "listening on https://")
        let port = address.split(separator: ":").last ?? ""
        for authority in [file("authority.pem"), nil] {
            let tokens = Refusals()
            let backend = HookBackend(
                url: "https://localhost:\(port)", sessionId: "s", tokenProvider: tokens,
                authorities: authority, attempts: 3, backoffMs: 1)
            let server = try await engine().startHooks(configuration: HookConfiguration(backend: backend))
            let settings = AgentDocument.private(json: try server.settings(interaction: "i1"))
            let hooked = try configuration(
                options: AgentOptions(settings: settings), set: server.environment(interaction: "i1"))
            try await withSession(hooked) { session in
                _ = try await session.send("/tool ls").waitUntilSettled()
            }
            let report = try await server.stop()
            XCTAssertGreaterThan(report.forward?.failed ?? 0, 0)
            // The answer 401 arrives only over a trusted link.
            XCTAssertEqual(tokens.refusals.all.contains(true), authority != nil)
            XCTAssertGreaterThanOrEqual(tokens.refusals.all.count, 3)
        }
    }

    func testExistingHookScriptPostsToASecretPathWithoutAToken() async throws {
        let variables = HookVariables(url: "CODE_MY_SPEC_CALLBACK_URL")
        let server = try await engine().startHooks(
            configuration: HookConfiguration(variables: variables, secretPath: true))
        let environment = try server.environment(interaction: "i1")
        let url = environment["CODE_MY_SPEC_CALLBACK_URL"] ?? ""
        for (address, status) in [(url, "200"), (try server.url(interaction: "i1"), "401")] {
            let parts = address.dropFirst("http://".count).split(separator: "/", maxSplits: 1)
            guard parts.count == 2, let port = parts[0].split(separator: ":").last else { return XCTFail(address) }
            let body = #"{"hook_event_name":"Stop"}"#
            let script = """
                exec 3<>/dev/tcp/127.0.0.1/\(port)
                printf 'POST /\(parts[1]) HTTP/1.1\\r\\nHost: \(parts[0])\\r\\nContent-Length: \(body.count)\\r\\n\\r\\n\(body)' >&3
                read -r version status rest <&3; echo "status $status"
                """
            let post = try RunningProgram(at: URL(fileURLWithPath: "/bin/bash"), ["-c", script])
            XCTAssertEqual(try post.line(after: "status "), status)
        }
        let report = try await server.stop()
        XCTAssertEqual(report.events, 1)
    }

    func testHooksOfAnAgentAtARunnerAreDecidedHere() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let helped = try await engine().startHooks(
            configuration: HookConfiguration(helper: HookHelper(program: "/usr/bin/bowline")))
        let helper = await errorKind { _ = try helped.spec(interaction: "i1") }
        XCTAssertEqual(helper, "Configuration")
        let gate = HookGate(kinds: ["PreToolUse"], deadlineMs: 30_000, fallback: .nothing)
        let server = try await engine().startHooks(configuration: HookConfiguration(gate: gate))
        var there = try configuration()
        there.hooks = try server.spec(interaction: "i1")
        let local = there
        let refused = await errorKind { _ = try await engine().start(configuration: local) }
        XCTAssertEqual(refused, "Start")
        let place = runner.configuration
        there.runner = place
        let questions = try server.questionStream()
        try await withSession(there) { session in
            try await server.serve(runner: place, session: session.id())
            let receipt = try await session.send("/tool ls")
            let batch = try await questions.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
            guard let question = batch?.events.first else { return XCTFail("no question") }
            XCTAssertEqual(question.event.kind, "PreToolUse")
            let deny = HookReply.tool(
                verdict: .deny, reason: "not there", updatedInput: nil, context: nil)
            try server.answer(question: question.id, reply: deny)
            _ = try await receipt.waitUntilSettled()
            try await session.until { $0.toolCalls().first?.state == .failed }
        }
        let invalid = await errorKind {
            try await server.serve(runner: place, session: "not an id")
        }
        XCTAssertEqual(invalid, "Configuration")
        let report = try await server.stop()
        XCTAssertGreaterThan(report.events, 0)
    }

    func testStoppedServerReceivesNoMoreHooksOfARunner() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let place = runner.configuration
        let server = try await engine().startHooks(configuration: HookConfiguration())
        let events = try server.eventStream()
        var there = try configuration()
        (there.runner, there.hooks) = (place, try server.spec(interaction: "i1"))
        try await withSession(there) { session in
            try await server.serve(runner: place, session: session.id())
            _ = try await server.stop()
            let next = try await events.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
            XCTAssertNil(next)
        }
    }

    private func command(_ interaction: String) throws -> ExecutorCommand {
        ExecutorCommand(
            interaction: interaction, prompt: "hello", isPrint: true,
            options: AgentOptions(trailingArgs: ["--pace", "0", "--input-format", "text"]),
            cwd: try temporaryDirectory().path)
    }

    func testCommandRunsInATerminalOfTheLibrary() async throws {
        let configuration = ExecutorConfiguration(session: "session-1", hookGraceMs: 500)
        let executor = try await engine().startExecutor(configuration: configuration)
        let hooks = try executor.hookStream()
        let outcome = try await executor.execute(command("i1"))
        XCTAssertEqual(outcome.exitCode, 0, outcome.stdout)
        XCTAssertEqual(outcome.evidence, .complete)
        XCTAssertEqual(try executor.conversation(), outcome.conversation)
        let received = try await hooks.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        XCTAssertNotNil(received)
        let typed = await errorKind { try await executor.typeText(text: "x") }
        XCTAssertEqual(typed, "NotFound")
        _ = try await executor.cleanup()
        let late = await errorKind { _ = try await executor.execute(command: command("i2")) }
        XCTAssertEqual(late, "Ended")
    }

    func testHostDecidesAboutToolsOfACommand() async throws {
        let fallback = HookReply.tool(
            verdict: .deny, reason: "no answer", updatedInput: nil, context: nil)
        let gate = HookGate(kinds: ["PreToolUse"], deadlineMs: 30_000, fallback: fallback)
        let executor = try await engine().startExecutor(
            configuration: ExecutorConfiguration(
                session: "session-1", hooks: HookConfiguration(gate: gate), hookGraceMs: 500))
        let hookEvents = try executor.events()
        let questions = try executor.questionStream()
        let second = await errorKind { _ = try executor.questions() }
        XCTAssertEqual(second, "Busy")
        var command = try command("i1")
        command.prompt = "/tool ls"
        async let running = executor.execute(command)
        let batch = try await questions.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        guard let question = batch?.events.first else { throw MissingValue() }
        XCTAssertEqual(question.event.kind, "PreToolUse")
        async let withdrawn: Void = executor.waitForWithdrawal(of: question.id)
        let allow = HookReply.tool(verdict: .allow, reason: nil, updatedInput: nil, context: nil)
        try executor.answer(question: question.id, reply: allow)
        try await withdrawn
        try await executor.waitForWithdrawal(question: question.id)
        let again = await errorKind {
            try executor.answer(question: question.id, reply: .nothing)
        }
        XCTAssertEqual(again, "NotFound")
        let outcome = try await running
        XCTAssertEqual(outcome.evidence, .complete)
        _ = try await executor.cleanup()
        var kinds: [String] = []
        for try await batch in hookEvents {
            for case .event(let event) in batch.events { kinds.append(event.kind) }
        }
        XCTAssertTrue(kinds.contains("PostToolUse"), "\(kinds)")
        let late = await errorKind { _ = try executor.questionStream() }
        XCTAssertEqual(late, "Ended")
    }

    private final class Terminal: HostTerminal {
        let calls = Shared<String>()
        let start: @Sendable (HostTerminalCommand) throws -> Void

        init(start: @escaping @Sendable (HostTerminalCommand) throws -> Void) {
            self.start = start
        }

        func startCommand(command: HostTerminalCommand) throws {
            calls.add("start \(command.interaction)")
            try start(command)
        }

        func endCommand(run: UInt64) throws {
            calls.add("end")
        }

        func cleanup(session: String) throws {
            calls.add("cleanup \(session)")
        }
    }

    private final class Box: @unchecked Sendable {
        var executor: TerminalExecutor?
    }

    func testCommandRunsInATerminalOfTheHost() async throws {
        let box = Box()
        let terminal = Terminal { command in
            XCTAssertTrue(command.line?.contains("cat ") == true)
            let prompt = try String(contentsOfFile: command.input ?? "", encoding: .utf8)
            try box.executor?.commandEnded(
                run: command.run, output: TerminalOutput(stdout: prompt, droppedBytes: 7, exitCode: 5))
        }
        let configuration = ExecutorConfiguration(session: "session-1", hookGraceMs: 200)
        let executor = try await engine().startExecutor(
            configuration: configuration, terminal: terminal)
        box.executor = executor
        let outcome = try await executor.execute(command("i1"))
        XCTAssertEqual(outcome.stdout, "hello")
        XCTAssertEqual(outcome.droppedBytes, 7)
        XCTAssertEqual(outcome.exitCode, 5)
        XCTAssertEqual(outcome.evidence, .noSessionEnd)
        _ = try await executor.cleanup()
        XCTAssertEqual(terminal.calls.all, ["start i1", "cleanup session-1"])
        box.executor = nil
    }

    func testThrowingTerminalFailsOnlyTheCommand() async throws {
        struct TabClosed: Error {}
        let terminal = Terminal { _ in throw TabClosed() }
        let configuration = ExecutorConfiguration(session: "session-1")
        let executor = try await engine().startExecutor(
            configuration: configuration, terminal: terminal)
        let failed = await errorKind { _ = try await executor.execute(command("i1")) }
        XCTAssertEqual(failed, "Host")
        _ = try await executor.cleanup()
    }

    func testCancelledCommandIsEndedInTheTerminal() async throws {
        let terminal = Terminal { _ in }
        let configuration = ExecutorConfiguration(session: "session-1")
        let executor = try await engine().startExecutor(
            configuration: configuration, terminal: terminal)
        let command = try command("i1")
        let waiting = Task { try await executor.execute(command) }
        try await eventually("the command runs") { !terminal.calls.all.isEmpty }
        waiting.cancel()
        _ = await waiting.result
        try await eventually("the host received the end") { terminal.calls.all.contains("end") }
        _ = try await executor.cleanup()
    }
}
