// Tests: DialogueSession, ShellSession, TerminalExecutor, RawStream
import Bowline
import XCTest

/// Reads to the end and returns the bytes, with a zero for each missing one, and the number of gaps.
private func all(
    _ batches: AsyncThrowingStream<RawBatch, any Error>, from: UInt64 = 0
) async throws -> (bytes: Data, gaps: Int) {
    var (bytes, gaps) = (Data(), 0)
    for try await batch in batches {
        for piece in batch.pieces {
            let end = from + UInt64(bytes.count)
            switch piece {
            case .bytes(let offset, let more):
                XCTAssertEqual(offset, end)
                bytes += more
            case .gap(let from, let to):
                XCTAssertEqual(from, end)
                gaps += 1
                bytes += Data(count: Int(to - from))
            }
        }
    }
    return (bytes, gaps)
}

private func say(_ text: String, to session: DialogueSession) async throws {
    let settled = try await session.send(text).waitUntilSettled()
    XCTAssertEqual(settled, .answered)
}

final class RawOutputTests: TimedTestCase {
    func testLateReaderSeesTheBeginningAndWhatFollows() async throws {
        var recorded = try configuration()
        let record = try temporaryDirectory().appendingPathComponent("record.jsonl")
        recorded.record = record.path
        let session = try await engine().start(configuration: recorded)
        try await say("hello", to: session)
        let seen = try session.rawEnd()
        async let live = all(try session.rawOutput(from: seen), from: seen)
        try await say("/lines 300", to: session)
        _ = try await session.end()
        let file = try Data(contentsOf: record)
        let late = try await all(session.rawOutput())
        XCTAssertEqual(late.bytes, file)
        XCTAssertEqual(late.gaps, 0)
        let followed = try await live
        XCTAssertEqual(followed.bytes, file.dropFirst(Int(seen)))
        let parts = try await all(session.rawOutput(from: 5, maxBytes: 7), from: 5)
        XCTAssertEqual(parts.bytes, file.dropFirst(5))
        let errors = try await all(session.rawOutput(kind: .errors))
        XCTAssertEqual(errors.bytes, Data())
    }

    func testUnreadBytesAreAGapAndRecordingBeginsAtAnyTime() async throws {
        var small = try configuration()
        small.keptOutput = 4096
        let session = try await engine().start(configuration: small)
        let stream = try session.rawStream()
        try await say("hello", to: session)
        try await say("/big 300000", to: session)
        let late = try temporaryDirectory().appendingPathComponent("late.bjl").path
        let begin = try await session.record(path: late)
        XCTAssertGreaterThan(begin, 300_000)
        let again = await errorKind { _ = try await session.record(path: late + ".bjl") }
        XCTAssertEqual(again, "Invalid")
        try await say("hello", to: session)
        let first = try await stream.next(offset: 0, maxBytes: 65_536, coalesceForMs: 0)
        XCTAssertEqual(first?.pieces.first, .gap(from: 0, to: begin))
        // Reading does not consume.
        let repeated = try await stream.next(offset: 0, maxBytes: 1, coalesceForMs: 0)
        XCTAssertEqual(repeated?.pieces.first, first?.pieces.first)
        let none = await errorKind { _ = try await stream.next(offset: 0, maxBytes: 0, coalesceForMs: 0) }
        XCTAssertEqual(none, "Invalid")
        let end = try await session.end()
        XCTAssertTrue(end.recordingError?.contains("bytes 0 to \(begin)") ?? false)
        let json = try await engine().openRecording(path: late).snapshot().json()
        XCTAssertTrue(json.contains("hello"))
        stream.stop()
        let stopped = try await stream.next(offset: 0, maxBytes: 1, coalesceForMs: 0)
        XCTAssertNil(stopped)
    }

    func testDiagnosticsAreOneFileWithoutSecretsThatIsReadAsARecording() async throws {
        let folder = try temporaryDirectory()
        let secret = "sk-ant-api03-Planted0123456789abcdef"
        let session = try await engine().start(configuration: configuration())
        try await say("hello \(secret)", to: session)
        let live = try await session.until { $0.results.count == 1 && $0.phase == .idle }
        let plain = folder.appendingPathComponent("plain.tar.gz").path
        try await session.diagnostics(path: plain)
        let again = await errorKind { try await session.diagnostics(path: plain) }
        XCTAssertEqual(again, "Io")
        let json = try await engine().openRecording(path: plain).snapshot().json()
        XCTAssertTrue(json.contains("hello"))
        XCTAssertFalse(json.contains(secret))
        _ = try await session.end()
        let empty = folder.appendingPathComponent("empty.tar.gz").path
        try await session.diagnostics(path: empty, redaction: .content)
        var read = Transcript()
        let recording = try await engine().openRecording(path: empty)
        for try await transcript in try recording.transcripts() { read = transcript }
        XCTAssertEqual(read.entries().count, live.entries().count)
        XCTAssertFalse(read.text.contains("hello"))
        XCTAssertGreaterThan(read.text.count, 5)
    }

    func testCancelledReaderContinuesFromItsOffset() async throws {
        try await withSession(configuration()) { session in
            try await say("hello", to: session)
            let end = try session.rawEnd()
            let stream = try session.rawStream()
            let waiting = Task { try await stream.next(offset: end, maxBytes: 1, coalesceForMs: 0) }
            waiting.cancel()
            _ = await waiting.result
            try await say("hello", to: session)
            let next = try await stream.next(offset: end, maxBytes: 1, coalesceForMs: 0)
            guard case .bytes(let offset, _)? = next?.pieces.first else { throw MissingValue() }
            XCTAssertEqual(offset, end)
        }
    }

    func testTerminalViewOfAShellAndOfAnExecutor() async throws {
        let shell = try await engine().startShell(
            configuration: ShellConfiguration(
                cwd: temporaryDirectory().path,
                program: .command(program: "/bin/sh", args: ["-c", "stty size; cat"]),
                size: TerminalSize(rows: 11, columns: 22)))
        var (text, hasTyped) = ("", false)
        for try await batch in try shell.rawOutput() {
            for case .bytes(_, let bytes) in batch.pieces { text += String(decoding: bytes, as: UTF8.self) }
            if !hasTyped { try await shell.typeText(text: "typed\n") }
            hasTyped = true
            if text.contains("typed") { break }
        }
        XCTAssertTrue(text.contains("11 22"), text)
        _ = try await shell.kill()
        let executor = try await engine().startExecutor(
            configuration: ExecutorConfiguration(session: "view", hookGraceMs: 500))
        let batches = try executor.rawOutput()
        try executor.resize(size: TerminalSize(rows: 33, columns: 44))
        let typed = await errorKind { try await executor.typeBytes(bytes: Data("x".utf8)) }
        XCTAssertEqual(typed, "NotFound")
        for interaction in ["i1", "i2"] {
            let outcome = try await executor.execute(
                ExecutorCommand(
                    interaction: interaction, prompt: "hello", isPrint: true,
                    options: AgentOptions(trailingArgs: ["--pace", "0", "--input-format", "text"]),
                    cwd: temporaryDirectory().path))
            XCTAssertEqual(outcome.exitCode, 0, outcome.stdout)
        }
        _ = try await executor.cleanup()
        let view = try await all(batches)
        XCTAssertEqual(view.gaps, 0)
        XCTAssertFalse(view.bytes.isEmpty)
        let late = await errorKind { _ = try executor.rawStream() }
        XCTAssertEqual(late, "Ended")
    }
}
