// Tests: HookServer, HookStream, HookQuestionStream, TerminalExecutor, HostTerminal
import Bowline
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
