// Tests: ShellSession, SessionEventStream, Cancellation, SessionManager
import Bowline
import XCTest

final class SessionsTests: TimedTestCase {
    private func cat() throws -> ShellConfiguration {
        ShellConfiguration(
            cwd: try temporary().path, program: .command(program: "/bin/cat", args: []),
            size: TerminalSize(rows: 30, columns: 100), idleAfterMs: 50)
    }

    private func wait(for line: String, of shell: ShellSession) async throws {
        for try await batch in try shell.happenings() {
            for event in batch.events {
                if case .output(_, let said) = event, said == line { return }
            }
        }
        XCTFail("\(line) did not come")
    }

    func testLinesComeAsTheProgramWritesThem() async throws {
        var script = try cat()
        script.program = .command(program: "/bin/sh", args: ["-c", "echo one; echo two; exit 4"])
        let shell = try await engine().startShell(configuration: script)
        let exit = try await shell.exit()
        XCTAssertEqual(exit.code, 4)
        var lines: [String] = []
        for try await batch in try shell.happenings() {
            lines += batch.events.compactMap { if case .output(_, let line) = $0 { line } else { nil } }
        }
        XCTAssertEqual(lines, ["one", "two"])
        XCTAssertEqual(try shell.state(), .terminated)
        XCTAssertGreaterThanOrEqual(try shell.outputBytes(), 8)
        let late = await refused { try await shell.typeText(text: "x") }
        XCTAssertEqual(late, "Ended")
    }

    func testAnAppOfTheDesktopTakesTheEnvironmentOfALoginShell() async throws {
        let shell = LoginShellQuery(shell: "/bin/sh", isFresh: true)
        let found = try await engine().loginEnvironment(query: shell)
        XCTAssertEqual(found.source, .interactive, "\(found.failures)")
        XCTAssertEqual(found.shell, "/bin/sh")
        XCTAssertNotNil(found.changes.set["PATH"])
        var script = try cat()
        script.environment = found.changes
        script.program = .command(program: "/bin/sh", args: ["-c", "echo $PATH"])
        let started = try await engine().startShell(configuration: script)
        try await wait(for: found.changes.set["PATH"] ?? "", of: started)
        let none = LoginShellQuery(shell: "/no/such/shell", isFresh: true)
        let own = try await engine().loginEnvironment(query: none)
        XCTAssertEqual(own.source, .inherited)
        XCTAssertFalse(own.failures.isEmpty)
    }

    func testWhatIsTypedReachesTheProgram() async throws {
        let shell = try await engine().startShell(configuration: cat())
        XCTAssertNotNil(try shell.pid())
        XCTAssertEqual(try shell.id().count, 36)
        try await shell.typeText(text: "hello\n")
        try await wait(for: "hello", of: shell)
        try await shell.typeBytes(bytes: Data("bytes\n".utf8))
        try await wait(for: "bytes", of: shell)
        let quick = SubmitOptions(readyWithinMs: 10, settleMs: 10)
        let submission = try await shell.submit(prompt: "submitted", options: quick)
        XCTAssertGreaterThan(submission.typed, 0)
        try await wait(for: "submitted", of: shell)
        try shell.resize(size: TerminalSize(rows: 10, columns: 40))
        XCTAssertEqual(try shell.partialLine(), "")
        try shell.signal(signal: .interrupt)
        let exit = try await shell.exited()
        XCTAssertEqual(exit.signal, 2)
    }

    func testAShellIsTerminatedOrKilledAgainAndAgain() async throws {
        let shell = try await engine().startShell(configuration: cat())
        let events = try shell.events(fromStart: true)
        try await shell.typeText(text: "a\n")
        let first = try await events.next(cursor: 0, most: 1, lingerMs: 0)
        let again = try await events.next(cursor: 0, most: 1, lingerMs: 0)
        XCTAssertEqual(first?.events, again?.events)
        events.stop()
        let none = try await events.next(cursor: 0, most: 1, lingerMs: 0)
        XCTAssertNil(none)
        let terminated = try await shell.terminate()
        XCTAssertTrue(terminated.survivors.isEmpty)
        let exit = try await shell.exit()
        XCTAssertFalse(exit.isOutOfMemory)
        let killed = try await shell.kill()
        XCTAssertTrue(killed.survivors.isEmpty)
        var loose = try cat()
        loose.containment = .group
        let ended = try await engine().startShell(configuration: loose).kill()
        XCTAssertEqual(ended.level, "group")
    }

    func testWaitingIsGivenUpWithItsTask() async throws {
        let shell = try await engine().startShell(configuration: cat())
        let waiting = Task { try await shell.exit() }
        try await eventually("a call waits") { try liveCounters().calls > 0 }
        waiting.cancel()
        do {
            _ = try await waiting.value
            XCTFail("it did not end")
        } catch {
            XCTAssertTrue(error is CancellationError, "\(error)")
        }
        let cancellation = Cancellation()
        XCTAssertFalse(cancellation.isCancelled())
        cancellation.cancel()
        XCTAssertTrue(cancellation.isCancelled())
        let given = await refused { _ = try await shell.exited(cancellation: cancellation) }
        XCTAssertEqual(given, "Cancelled")
        _ = try await shell.kill()
    }

    func testSessionsAreMadeListedPromptedEndedAndResumed() async throws {
        let folder = try temporary()
        let state = ManagerConfiguration(
            stateFolder: folder.appendingPathComponent("state").path,
            agentFolder: folder.appendingPathComponent("agent").path)
        let manager = try await engine().openManager(configuration: state)
        XCTAssertTrue(try manager.warnings().isEmpty)
        let taken = await refused { _ = try await engine().openManager(configuration: state) }
        XCTAssertEqual(taken, "Busy")
        let events = try manager.events()
        let made = try await manager.createDialogue(
            configuration: configuration(folder: folder), label: "first")
        let begun = try await events.next(cursor: 0, most: 1, lingerMs: 0)
        XCTAssertNotNil(begun)
        events.stop()
        _ = try manager.happenings()
        try manager.setLabel(id: made.id, label: "renamed")
        XCTAssertEqual(try manager.session(id: made.id)?.label, "renamed")
        let sent = try await manager.sendPrompt(id: made.id, prompt: "hello")
        guard case .dialogue(let receipt) = sent else { return XCTFail("\(sent)") }
        let settled = try await receipt.settled()
        XCTAssertEqual(settled, .answered)
        try await manager.dialogue(id: made.id).until { !$0.results.isEmpty }
        let typed = try await manager.createShell(configuration: cat(), label: "second")
        XCTAssertNotNil(try manager.shell(id: typed.id).pid())
        XCTAssertEqual(try manager.sessions().map(\.id), [made.id, typed.id])
        try await manager.flush()
        let killed = try await manager.kill(id: typed.id)
        XCTAssertEqual(killed.info.id, typed.id)
        let gone = await refused { _ = try await manager.kill(id: typed.id) }
        XCTAssertEqual(gone, "NotFound")
        let ended = try await manager.cleanup()
        XCTAssertEqual(ended.map(\.id), [made.id])
        do {
            _ = try await manager.resume(id: made.id, configuration: configuration(folder: folder))
        } catch BowlineError.Resume {
            // The stand-in keeps no conversations on disk.
        }
        let report = try await manager.shutdown()
        XCTAssertNil(report.listFailed)
    }
}
