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
        let report = try await manager.shutdown()
        XCTAssertNil(report.listError)
    }
}
