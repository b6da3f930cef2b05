// Tests: the library itself, LogSink, misuse, leaks
import Bowline
import XCTest

final class LibraryTests: TimedTestCase {
    func testTheLibrarySaysWhatItIs() throws {
        XCTAssertEqual(apiRevision(), 4)
        XCTAssertEqual(libraryVersion(), "0.1.0")
        XCTAssertTrue(["group", "subreaper", "cgroup"].contains(try probeContainment().level))
    }

    func testLogLinesComeToTheHostAndASinkThatThrowsDoesNoHarm() async throws {
        struct Full: Error {}
        final class Sink: LogSink {
            let lines = Shared<LogLine>()

            func log(line: LogLine) throws {
                lines.add(line)
                throw Full()
            }
        }
        let sink = Sink()
        try setLogging(level: .trace, sink: sink)
        _ = try await withSession(configuration()) { try await $0.say("hello").settled() }
        try await eventually("lines") { sink.lines.all.count > 1 }
        let closure = Shared<LogLine>()
        try log(.debug) { closure.add($0) }
        try stopLogging()
        try setLogging(level: .off)
    }

    func testAFaultInsideIsAnError() async throws {
        for place in [PanicPlace.call, .task] {
            do {
                try await forcePanic(place: place)
                XCTFail("it did not fail")
            } catch let error as BowlineError {
                XCTAssertTrue(error.reason.contains("forced by the host"), error.reason)
            }
        }
    }

    func testASessionThatHasEndedRefusesAndStillTells() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.say("hello").settled()
            let first = try await session.terminate()
            let second = try await session.terminate()
            XCTAssertEqual(first, second)
            let calls: [@Sendable () async throws -> Void] = [
                { try await session.say("x") },
                { _ = try await session.interrupt() },
                { try await session.setModel(model: nil) },
                { try await session.allow("x") },
                { try await session.paused() },
            ]
            for call in calls {
                let kind = await refused(call)
                XCTAssertEqual(kind, "Ended")
            }
            let json = try await session.snapshot().json()
            XCTAssertTrue(json.contains("hello"))
        }
    }

    func testWhatDoesNotFitIsRefused() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.say("hello").settled()
            let unknown = await refused { try await session.allow("no-such-request") }
            XCTAssertEqual(unknown, "NotFound")
            let empty = await refused { _ = try await session.send(prompt: Prompt(parts: [])) }
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
                        group.addTask { _ = try await session.say("prompt \(number)").settled() }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    func testHugeAndBrokenTextsGoThrough() async throws {
        try await withSession(configuration()) { session in
            let huge = String(repeating: "é😀x", count: 100_000)
            _ = try await session.say(huge).settled()
            let broken = String(decoding: [0x62, 0xf0, 0x9f, 0x00, 0x65], as: UTF8.self)
            _ = try await session.say(broken).settled()
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
    private func atRest() throws -> Bool {
        let zero = LiveCounters(
            sessions: 0, streams: 0, receipts: 0, snapshots: 0, recordings: 0, shells: 0,
            managers: 0, hookServers: 0, executors: 0, calls: 0, pulls: 0, terminals: 0)
        return try liveCounters() == zero
    }

    private func status(_ field: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(field):") }
        return Int(line?.filter(\.isNumber) ?? "") ?? 0
    }

    private func cycle() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.say("hello").settled()
            try await session.until { !$0.results.isEmpty }
        }
    }

    func testACancelledReaderStopsInsideWithin100Milliseconds() async throws {
        try await withSession(configuration()) { session in
            _ = try await session.say("hello").settled()
            for _ in 0..<20 {
                let reader = Task { for try await _ in try session.batches() {} }
                try await eventually("a reader waits") { try liveCounters().pulls == 1 }
                reader.cancel()
                try await eventually("no reader waits", within: 0.1) { try liveCounters().pulls == 0 }
                _ = await reader.result
            }
        }
        try await eventually("nothing is left") { try atRest() }
    }

    /// 2,000 in a campaign (`BOWLINE_CYCLES=2000`), fewer each day.
    private let cycles = Int(ProcessInfo.processInfo.environment["BOWLINE_CYCLES"] ?? "") ?? 40

    override var patience: Double { 120 + Double(cycles) }

    func testNothingGrowsWithTheNumberOfSessions() async throws {
        for _ in 0..<20 { try await cycle() }
        try await eventually("nothing is left") { try atRest() }
        let (memory, threads) = (try status("VmRSS"), try status("Threads"))
        for _ in 0..<cycles { try await cycle() }
        try await eventually("nothing is left") { try atRest() }
        let (grown, more) = (try status("VmRSS") - memory, try status("Threads") - threads)
        print("after \(cycles) sessions: \(grown) KiB more, \(more) threads more")
        XCTAssertLessThan(grown, 24 * 1024)
        XCTAssertLessThanOrEqual(more, 4)
    }

    func testWhatAHostForgetsIsLetGo() async throws {
        do {
            let session = try await engine().start(configuration: configuration())
            let stream = try session.changes()
            _ = try await stream.next(cursor: 0, most: 10, lingerMs: 0)
        }
        try await eventually("nothing is left") { try atRest() }
    }
}
