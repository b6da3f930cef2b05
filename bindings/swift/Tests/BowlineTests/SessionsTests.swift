// Tests: ShellSession, SessionEventStream, Cancellation, SessionManager
import Bowline
import XCTest

final class SessionsTests: TimedTestCase {
    private func cat() throws -> ShellConfiguration {
        ShellConfiguration(
            cwd: try temporaryDirectory().path, program: .command(program: "/bin/cat", args: []),
            size: TerminalSize(rows: 30, columns: 100), idleAfterMs: 50)
    }

    private func wait(for line: String, of shell: ShellSession) async throws {
        for try await batch in try shell.events() {
            for event in batch.events {
                if case .output(_, let text) = event, text == line { return }
            }
        }
        XCTFail("\(line) did not arrive")
    }

    func testLinesAreDeliveredAsTheProgramWritesThem() async throws {
        var script = try cat()
        script.program = .command(program: "/bin/sh", args: ["-c", "echo one; echo two; exit 4"])
        let shell = try await engine().startShell(configuration: script)
        let exit = try await shell.waitForExit()
        XCTAssertEqual(exit.code, 4)
        var lines: [String] = []
        for try await batch in try shell.events() {
            lines += batch.events.compactMap { if case .output(_, let line) = $0 { line } else { nil } }
        }
        XCTAssertEqual(lines, ["one", "two"])
        XCTAssertEqual(try shell.state(), .terminated)
        XCTAssertGreaterThanOrEqual(try shell.outputBytes(), 8)
        let late = await errorKind { try await shell.typeText(text: "x") }
        XCTAssertEqual(late, "Ended")
    }

    func testLoginEnvironmentIsCapturedAndUsed() async throws {
        let shell = LoginShellQuery(shell: "/bin/sh", ignoresCache: true)
        let found = try await engine().loginEnvironment(query: shell)
        XCTAssertEqual(found.source, .interactive, "\(found.failures)")
        XCTAssertEqual(found.shell, "/bin/sh")
        XCTAssertNotNil(found.environment.set["PATH"])
        var script = try cat()
        script.environment = found.environment
        script.program = .command(program: "/bin/sh", args: ["-c", "echo $PATH"])
        let started = try await engine().startShell(configuration: script)
        try await wait(for: found.environment.set["PATH"] ?? "", of: started)
        let none = LoginShellQuery(shell: "/no/such/shell", ignoresCache: true)
        let inherited = try await engine().loginEnvironment(query: none)
        XCTAssertEqual(inherited.source, .inherited)
        XCTAssertFalse(inherited.failures.isEmpty)
    }

    func testTypedInputReachesTheProgram() async throws {
        let shell = try await engine().startShell(configuration: cat())
        XCTAssertNotNil(try shell.pid())
        XCTAssertEqual(try shell.id().count, 36)
        try await shell.typeText(text: "hello\n")
        try await wait(for: "hello", of: shell)
        try await shell.typeBytes(bytes: Data("bytes\n".utf8))
        try await wait(for: "bytes", of: shell)
        let quick = SubmitOptions(readyWithinMs: 10, settleMs: 10)
        let submission = try await shell.submit(prompt: "submitted", options: quick)
        XCTAssertGreaterThan(submission.typedBytes, 0)
        try await wait(for: "submitted", of: shell)
        try shell.resize(size: TerminalSize(rows: 10, columns: 40))
        XCTAssertEqual(try shell.partialLine(), "")
        try shell.signal(signal: .interrupt)
        let exit = try await shell.waitForExit()
        XCTAssertEqual(exit.signal, 2)
    }

    func testShellIsTerminatedAndKilledRepeatedly() async throws {
        let shell = try await engine().startShell(configuration: cat())
        let events = try shell.eventStream(fromStart: true)
        try await shell.typeText(text: "a\n")
        let first = try await events.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        let again = try await events.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        XCTAssertEqual(first?.events, again?.events)
        events.stop()
        let none = try await events.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        XCTAssertNil(none)
        let terminated = try await shell.terminate()
        XCTAssertTrue(terminated.survivors.isEmpty)
        let exit = try await shell.waitForExit()
        XCTAssertFalse(exit.isOutOfMemory)
        let killed = try await shell.kill()
        XCTAssertTrue(killed.survivors.isEmpty)
        var uncontained = try cat()
        uncontained.containment = .group
        let ended = try await engine().startShell(configuration: uncontained).kill()
        XCTAssertEqual(ended.level, "group")
    }

    func testCancelledTaskEndsAWaitingCall() async throws {
        let shell = try await engine().startShell(configuration: cat())
        let waiting = Task { try await shell.waitForExit() }
        try await eventually("a call is pending") { try liveCounters().pendingCalls > 0 }
        waiting.cancel()
        do {
            _ = try await waiting.value
            XCTFail("the call did not end")
        } catch {
            XCTAssertTrue(error is CancellationError, "\(error)")
        }
        let cancellation = Cancellation()
        XCTAssertFalse(cancellation.isCancelled())
        cancellation.cancel()
        XCTAssertTrue(cancellation.isCancelled())
        let cancelled = await errorKind { _ = try await shell.waitForExit(cancellation: cancellation) }
        XCTAssertEqual(cancelled, "Cancelled")
        _ = try await shell.kill()
    }

    func testSessionsAreCreatedListedPromptedEndedAndResumed() async throws {
        let folder = try temporaryDirectory()
        let state = ManagerConfiguration(
            stateDirectory: folder.appendingPathComponent("state").path,
            agentDirectory: folder.appendingPathComponent("agent").path)
        let manager = try await engine().openManager(configuration: state)
        XCTAssertTrue(try manager.warnings().isEmpty)
        let taken = await errorKind { _ = try await engine().openManager(configuration: state) }
        XCTAssertEqual(taken, "Busy")
        let events = try manager.eventStream()
        let made = try await manager.createDialogue(
            configuration: configuration(folder: folder), label: "first")
        let firstBatch = try await events.next(cursor: 0, maxCount: 1, coalesceForMs: 0)
        XCTAssertNotNil(firstBatch)
        events.stop()
        _ = try manager.events()
        try manager.setLabel(id: made.id, label: "renamed")
        XCTAssertEqual(try manager.session(id: made.id)?.label, "renamed")
        let sent = try await manager.sendPrompt(id: made.id, prompt: "hello")
        guard case .dialogue(let receipt) = sent else { return XCTFail("\(sent)") }
        let settled = try await receipt.waitUntilSettled()
        XCTAssertEqual(settled, .answered)
        try await manager.dialogue(id: made.id).until { !$0.results.isEmpty }
        let typed = try await manager.createShell(configuration: cat(), label: "second")
        XCTAssertNotNil(try manager.shell(id: typed.id).pid())
        XCTAssertEqual(try manager.sessions().map(\.id), [made.id, typed.id])
        try await manager.flush()
        let killed = try await manager.kill(id: typed.id)
        XCTAssertEqual(killed.session.id, typed.id)
        let gone = await errorKind { _ = try await manager.kill(id: typed.id) }
        XCTAssertEqual(gone, "NotFound")
        let ended = try await manager.cleanup()
        XCTAssertEqual(ended.map(\.id), [made.id])
        do {
            _ = try await manager.resume(id: made.id, configuration: configuration(folder: folder))
        } catch BowlineError.Resume {
            // The simulated agent does not store conversations.
        }
        let report = try await manager.endAll()
        XCTAssertNil(report.listError)
    }

    func testManagerFindsItsSessionsAtARunnerAgain() async throws {
        let state = ManagerConfiguration(stateDirectory: try temporaryDirectory().path)
        let runner = try Runner()
        defer { runner.stop() }
        var there = try configuration()
        there.runner = runner.configuration
        there.labels = ["team": "blue"]
        let id = try await startAndDetach(state: state, there)
        let manager = try await engine().openManager(configuration: state)
        XCTAssertEqual(try manager.session(id: id)?.state, .detached)
        let detached = await errorKind { _ = try manager.dialogue(id: id) }
        XCTAssertEqual(detached, "Disconnected")
        let without = try await manager.reattach(runners: [])
        XCTAssertEqual(without.failed.map(\.id), [id])
        let report = try await manager.reattach(runners: [runner.configuration])
        XCTAssertEqual(report.attached, [id], "\(report)")
        try await manager.dialogue(id: id).until { $0.results.count == 1 }
        let metadata = try await manager.metadata(id: id)
        XCTAssertEqual(metadata, "a draft")
        let client = try engine().runner(runner: runner.configuration)
        let all = try await client.sessions()
        guard let listed = all.first else { return XCTFail("no session") }
        XCTAssertEqual(listed.name, "mine")
        XCTAssertEqual(listed.labels, ["team": "blue"])
        let one = try await client.session(id: listed.id)
        XCTAssertEqual(one.metadata, "a draft")
        let change = RunnerSessionChange(name: "yours", labels: ["team": nil], metadata: "")
        let changed = try await client.update(id: listed.id, change: change)
        XCTAssertEqual(changed.name, "yours")
        XCTAssertEqual(changed.labels, [:])
        XCTAssertNil(changed.metadata)
        let ended = try await manager.endAll()
        XCTAssertEqual(ended.sessions.map(\.id), [id])
    }

    /// Starts a session, stores text with it and leaves it; the manager is released.
    private func startAndDetach(
        state: ManagerConfiguration, _ configuration: DialogueConfiguration
    ) async throws -> String {
        let manager = try await engine().openManager(configuration: state)
        let made = try await manager.createDialogue(configuration: configuration, label: "mine")
        XCTAssertEqual(made.runner?.url, configuration.runner?.url)
        _ = try await manager.dialogue(id: made.id).send("hello").waitUntilSettled()
        try await manager.setMetadata(id: made.id, metadata: "a draft")
        let tooLong = String(repeating: "m", count: 65_537)
        let refused = await errorKind { try await manager.setMetadata(id: made.id, metadata: tooLong) }
        XCTAssertEqual(refused, "Invalid")
        let report = try await manager.detachAll()
        XCTAssertEqual(report.sessions, [])
        return made.id
    }
}
