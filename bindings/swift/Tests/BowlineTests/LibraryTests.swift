// Tests: the library itself, LogSink, misuse, leaks
@testable import Bowline
import XCTest

final class LibraryTests: TimedTestCase {
    func testLibraryReportsVersionAndContainment() throws {
        XCTAssertEqual(apiRevision(), 21)
        XCTAssertEqual(libraryVersion(), "0.1.0")
        XCTAssertTrue(["group", "subreaper", "cgroup"].contains(try probeContainment().level))
    }

    func testLibraryOfAnotherRevisionIsRefusedWithTheRemedy() throws {
        XCTAssertEqual(libraryRevision(), apiRevision())
        XCTAssertNoThrow(try checkRevision(libraryRevision()))
        XCTAssertThrowsError(try checkRevision(libraryRevision() + 1)) { error in
            guard case .Internal(let reason)? = error as? BowlineError else { return XCTFail("\(error)") }
            XCTAssertTrue(reason.hasSuffix("use the library of this package"), reason)
        }
    }

    func testMissingProgramsAreNamedWithTheRemedy() throws {
        let folder = try temporaryDirectory()
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("bowline"),
            withDestinationURL: programs.appendingPathComponent("bowline"))
        XCTAssertThrowsError(try requirePrograms(in: folder)) { error in
            let expected = "understudy, chaos, examples/certificates missing in \(folder.path); run cargo build"
            XCTAssertTrue("\(error)".hasPrefix(expected), "\(error)")
        }
        XCTAssertNoThrow(try setUpWithError())
    }

    func testMissingHelperIsNamedWithTheRemedy() async throws {
        let guardless = try Engine.make(
            program: programs.appendingPathComponent("understudy").path, guard: "/no/such/bowline")
        do {
            _ = try await guardless.start(configuration: configuration())
            XCTFail("started without its guard")
        } catch BowlineError.Start(let reason) {
            XCTAssertTrue(reason.contains("/no/such/bowline"), reason)
        }
    }

    func testLogLinesArriveWithTheirSession() async throws {
        struct SinkError: Error {}
        final class Sink: LogSink {
            let lines = Shared<LogLine>()

            func log(line: LogLine) throws {
                lines.add(line)
                throw SinkError()
            }
        }
        let sink = Sink()
        try setLogging(level: .trace, sink: sink)
        let id = try await withSession(configuration()) { session in
            try await session.send("hello").waitUntilSettled()
            return try session.id()
        }
        try await eventually("lines of the session") {
            sink.lines.all.contains { $0.session == id }
        }
        let closure = Shared<LogLine>()
        try log(.debug) { closure.add($0) }
        try stopLogging()
        try setLogging(level: .off)
    }

    func testPanicBecomesAnError() async throws {
        for location in [PanicLocation.callerThread, .runtimeTask] {
            do {
                try await forcePanic(location: location)
                XCTFail("no error was thrown")
            } catch let error as BowlineError {
                XCTAssertTrue(error.reason.contains("forced by the host"), error.reason)
            }
        }
    }

    func testEndedSessionRefusesCallsButKeepsItsTranscript() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.send("hello").waitUntilSettled()
            let first = try await session.terminate()
            let second = try await session.terminate()
            XCTAssertEqual(first, second)
            let calls: [@Sendable () async throws -> Void] = [
                { try await session.send("x") },
                { _ = try await session.interrupt() },
                { try await session.setModel(model: nil) },
                { try await session.allow("x") },
                { try await session.pause() },
            ]
            for call in calls {
                let kind = await errorKind(call)
                XCTAssertEqual(kind, "Ended")
            }
            let json = try await session.snapshot().json()
            XCTAssertTrue(json.contains("hello"))
        }
    }

    func testUnknownRequestAndEmptyPromptAreRefused() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.send("hello").waitUntilSettled()
            let unknown = await errorKind { try await session.allow("no-such-request") }
            XCTAssertEqual(unknown, "NotFound")
            let empty = await errorKind { _ = try await session.send(prompt: Prompt(parts: [])) }
            XCTAssertEqual(empty, "Invalid")
        }
    }

    func testManyTasksUseOneSession() async throws {
        try await withSession(configuration()) { session in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask { try await session.until { !$0.results.isEmpty } }
                    group.addTask { for _ in 0..<200 { _ = try session.hasEnded() } }
                    if number < 4 {
                        group.addTask { _ = try await session.send("prompt \(number)").waitUntilSettled() }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    func testLargeAndUnusualTextsArePassedUnchanged() async throws {
        try await withSession(configuration()) { session in
            let huge = String(repeating: "é😀x", count: 100_000)
            _ = try await session.send(huge).waitUntilSettled()
            let broken = String(decoding: [0x62, 0xf0, 0x9f, 0x00, 0x65], as: UTF8.self)
            _ = try await session.send(broken).waitUntilSettled()
            let transcript = try await session.until { $0.results.count == 2 }
            let prompts = transcript.entries().compactMap {
                if case .user(_, let text, _, _) = $0.value { text } else { nil }
            }
            XCTAssertTrue(prompts.contains(huge))
            XCTAssertTrue(prompts.contains(broken))
        }
    }
}

final class LeakTests: TimedTestCase {
    private func nothingIsLive() throws -> Bool {
        let zero = LiveCounters(
            sessions: 0, streams: 0, receipts: 0, snapshots: 0, recordings: 0, shells: 0,
            managers: 0, hookServers: 0, executors: 0, pendingCalls: 0, pendingReads: 0, terminals: 0)
        return try liveCounters() == zero
    }

    /// A number of this process's status. Tests that read one are skipped where the kernel has none.
    private func status(_ field: String) throws -> Int {
        #if os(Linux)
            let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = text.split(separator: "\n").first { $0.hasPrefix("\(field):") }
            return Int(line?.filter(\.isNumber) ?? "") ?? 0
        #else
            throw XCTSkip("\(field) is read from /proc")
        #endif
    }

    private func cycle() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.send("hello").waitUntilSettled()
            try await session.until { !$0.results.isEmpty }
        }
    }

    func testCancelledReaderStopsInTheLibrary() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.send("hello").waitUntilSettled()
            for _ in 0..<20 {
                let reader = Task { for try await _ in try session.changes() {} }
                try await eventually("a read is pending") { try liveCounters().pendingReads == 1 }
                reader.cancel()
                try await eventually("no read is pending") { try liveCounters().pendingReads == 0 }
                _ = await reader.result
            }
        }
        try await eventually("nothing is live") { try nothingIsLive() }
    }

    /// The number of sessions. Campaigns use `BOWLINE_CYCLES=2000`.
    private let cycles = Int(ProcessInfo.processInfo.environment["BOWLINE_CYCLES"] ?? "") ?? 40

    override var timeLimit: Double { 120 + Double(cycles) }

    func testMemoryAndThreadsDoNotGrowWithSessions() async throws {
        for _ in 0..<20 { try await cycle() }
        try await eventually("nothing is live") { try nothingIsLive() }
        let (memory, threads) = (try status("VmRSS"), try status("Threads"))
        for _ in 0..<cycles { try await cycle() }
        try await eventually("nothing is live") { try nothingIsLive() }
        let (growth, newThreads) = (try status("VmRSS") - memory, try status("Threads") - threads)
        print("after \(cycles) sessions: RSS change \(growth) KiB, thread change \(newThreads)")
        XCTAssertLessThan(growth, 24 * 1024)
        XCTAssertLessThanOrEqual(newThreads, 4)
    }

    func testReleasingHandlesReleasesTheSession() async throws {
        do {
            let session = try await engine().start(configuration: configuration())
            let stream = try session.changeStream()
            _ = try await stream.next(cursor: 0, maxCount: 10, coalesceForMs: 0)
        }
        try await eventually("nothing is live") { try nothingIsLive() }
    }
}
