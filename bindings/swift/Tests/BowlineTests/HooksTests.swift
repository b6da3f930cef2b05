// Tests: HookServer, HookStream, HookQuestionStream, TerminalExecutor, HostTerminal
import Bowline
import XCTest

final class HooksTests: TimedTestCase {
    func testAHookIsToldAndItsQuestionAnswered() async throws {
        XCTAssertTrue(commonHookKinds().contains("PreToolUse"))
        let gate = HookGate(kinds: ["PreToolUse"], deadlineMs: 30_000, fallback: .nothing)
        let server = try await engine().startHooks(configuration: HookConfiguration(gate: gate))
        XCTAssertTrue(try server.url(interaction: "i1").hasPrefix("http://127.0.0.1:"))
        XCTAssertGreaterThanOrEqual(try server.token().count, 32)
        let told = try server.events()
        let questions = try server.questions()
        let second = await refused { _ = try server.asked() }
        XCTAssertEqual(second, "Busy")
        _ = try server.happenings()
        let settings = AgentDocument.private(json: try server.settings(interaction: "i1"))
        let hooked = try configuration(
            options: AgentOptions(settings: settings), set: server.environment(interaction: "i1"))
        try await withSession(hooked) { session in
            // An agent that ends asks nothing.
            let end = Task {
                let end = try await session.untilEnded()
                questions.stop()
                return end
            }
            defer { end.cancel() }
            try await session.say("/tool ls")
            let asked = try await questions.next(cursor: 0, most: 1, lingerMs: 0)
            guard let question = asked?.events.first else { return XCTFail("\(try await end.value)") }
            XCTAssertEqual(question.event.kind, "PreToolUse")
            let broken = await refused {
                try server.answer(question: question.question, reply: .raw(json: "["))
            }
            XCTAssertEqual(broken, "Invalid")
            let form = await refused {
                try server.answer(question: question.question, reply: .acceptForm(content: "["))
            }
            XCTAssertEqual(form, "Invalid")
            let allow = HookReply.tool(verdict: .allow, reason: nil, updatedInput: nil, context: nil)
            try server.answer(question: question.question, reply: allow)
            let again = await refused {
                try server.answer(question: question.question, reply: .nothing)
            }
            XCTAssertEqual(again, "NotFound")
            try await session.until { !$0.results.isEmpty }
        }
        let news = try await told.next(cursor: 0, most: 100, lingerMs: 0)
        XCTAssertFalse(news?.events.isEmpty ?? true)
        told.stop()
        questions.stop()
        XCTAssertGreaterThan(try server.report().events, 0)
        let report = try await server.stop()
        XCTAssertGreaterThan(report.events, 0)
        let stopped = await refused { _ = try server.report() }
        XCTAssertEqual(stopped, "Ended")
    }

    private func command(_ interaction: String) throws -> ExecutorCommand {
        ExecutorCommand(
            interaction: interaction, prompt: "hello", isPrint: true,
            options: AgentOptions(trailingArgs: ["--pace", "0", "--input-format", "text"]),
            cwd: try temporary().path)
    }

    func testACommandRunsInATerminalOfTheLibrary() async throws {
        let configuration = ExecutorConfiguration(session: "session-1", hookGraceMs: 500)
        let executor = try await engine().startExecutor(configuration: configuration)
        let hooks = try executor.hooks()
        let outcome = try await executor.run(command("i1"))
        XCTAssertEqual(outcome.exitCode, 0, outcome.stdout)
        XCTAssertEqual(outcome.evidence, .complete)
        XCTAssertEqual(try executor.conversation(), outcome.conversation)
        let news = try await hooks.next(cursor: 0, most: 1, lingerMs: 0)
        XCTAssertNotNil(news)
        let typed = await refused { try await executor.typeText(text: "x") }
        XCTAssertEqual(typed, "NotFound")
        _ = try await executor.cleanup()
        let late = await refused { _ = try await executor.execute(command: command("i2")) }
        XCTAssertEqual(late, "Ended")
    }

    func testTheHostDecidesAboutTheToolsOfACommand() async throws {
        let nobody = HookReply.tool(
            verdict: .deny, reason: "nobody", updatedInput: nil, context: nil)
        let gate = HookGate(kinds: ["PreToolUse"], deadlineMs: 30_000, fallback: nobody)
        let executor = try await engine().startExecutor(
            configuration: ExecutorConfiguration(
                session: "session-1", hooks: HookConfiguration(gate: gate), hookGraceMs: 500))
        let news = try executor.happenings()
        let questions = try executor.questions()
        let second = await refused { _ = try executor.asked() }
        XCTAssertEqual(second, "Busy")
        var command = try command("i1")
        command.prompt = "/tool ls"
        async let running = executor.run(command)
        let asked = try await questions.next(cursor: 0, most: 1, lingerMs: 0)
        guard let question = asked?.events.first else { throw NeverCame() }
        XCTAssertEqual(question.event.kind, "PreToolUse")
        async let withdrawn: Void = executor.untilWithdrawn(question.question)
        let allow = HookReply.tool(verdict: .allow, reason: nil, updatedInput: nil, context: nil)
        try executor.answer(question: question.question, reply: allow)
        try await withdrawn
        try await executor.withdrawn(question: question.question)
        let again = await refused {
            try executor.answer(question: question.question, reply: .nothing)
        }
        XCTAssertEqual(again, "NotFound")
        let outcome = try await running
        XCTAssertEqual(outcome.evidence, .complete)
        _ = try await executor.cleanup()
        var kinds: [String] = []
        for try await batch in news {
            for case .event(let event) in batch.events { kinds.append(event.kind) }
        }
        XCTAssertTrue(kinds.contains("PostToolUse"), "\(kinds)")
        let late = await refused { _ = try executor.questions() }
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

    func testACommandRunsInATerminalOfTheHost() async throws {
        let box = Box()
        let terminal = Terminal { command in
            XCTAssertTrue(command.line?.contains("cat ") == true)
            let prompt = try String(contentsOfFile: command.input ?? "", encoding: .utf8)
            try box.executor?.commandEnded(
                run: command.run, output: TerminalOutput(stdout: prompt, exitCode: 5))
        }
        let configuration = ExecutorConfiguration(session: "session-1", hookGraceMs: 200)
        let executor = try await engine().startExecutor(
            configuration: configuration, terminal: terminal)
        box.executor = executor
        let outcome = try await executor.run(command("i1"))
        XCTAssertEqual(outcome.stdout, "hello")
        XCTAssertEqual(outcome.exitCode, 5)
        XCTAssertEqual(outcome.evidence, .noSessionEnd)
        _ = try await executor.cleanup()
        XCTAssertEqual(terminal.calls.all, ["start i1", "cleanup session-1"])
        box.executor = nil
    }

    func testATerminalThatThrowsFailsTheCommandAndNothingElse() async throws {
        struct Gone: Error {}
        let terminal = Terminal { _ in throw Gone() }
        let configuration = ExecutorConfiguration(session: "session-1")
        let executor = try await engine().startExecutor(
            configuration: configuration, terminal: terminal)
        let failed = await refused { _ = try await executor.run(command("i1")) }
        XCTAssertEqual(failed, "Host")
        _ = try await executor.cleanup()
    }

    func testACommandIsGivenUpWithItsTask() async throws {
        let terminal = Terminal { _ in }
        let configuration = ExecutorConfiguration(session: "session-1")
        let executor = try await engine().startExecutor(
            configuration: configuration, terminal: terminal)
        let command = try command("i1")
        let waiting = Task { try await executor.run(command) }
        try await eventually("the command runs") { !terminal.calls.all.isEmpty }
        waiting.cancel()
        _ = await waiting.result
        try await eventually("the host was told") { terminal.calls.all.contains("end") }
        _ = try await executor.cleanup()
    }
}
