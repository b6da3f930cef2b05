// The cost of the bindings, as ratios; run by `cargo bench-bindings`.
import Bowline
import Foundation

@main
struct Bench {
    static let deltas = 1_000

    static func main() async throws {
        let understudy = CommandLine.arguments.dropFirst().first ?? "understudy"
        let engine = try Engine.make(program: understudy)
        try await coalesced(engine)
        try await sixtyHertz(engine)
    }

    static func stream() throws -> String {
        let meta = #""session_id":"s","parent_tool_use_id":null"#
        var lines = [
            #"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[]}},"uuid":"a",\#(meta)}"#,
            #"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"uuid":"b",\#(meta)}"#,
        ]
        for number in 0..<deltas {
            lines.append(
                #"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}},"uuid":"c\#(number)",\#(meta)}"#
            )
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("deltas.jsonl")
        try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    static func millis(_ body: () async throws -> Void) async rethrows -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        try await body()
        let took = start.duration(to: clock.now).components
        return Double(took.seconds) * 1e3 + Double(took.attoseconds) / 1e15
    }

    static func best(_ times: Int, _ body: () async throws -> Double) async rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<times { best = min(best, try await body()) }
        return best
    }

    static func coalesced(_ engine: Engine) async throws {
        let path = try stream()
        let single = try await best(7) {
            let recording = try await engine.openRecording(path: path)
            return try await millis { for try await _ in try recording.changes(maxCount: 1) {} }
        }
        let fold = try await best(7) {
            let recording = try await engine.openRecording(path: path)
            return try await millis { _ = try await recording.snapshot() }
        }
        let batch = try await best(50) {
            let recording = try await engine.openRecording(path: path)
            _ = try await recording.snapshot()
            return try await millis { for try await _ in try recording.changes() {} }
        }
        let text = String(
            format: "one by one %.2f ms, as one batch %.3f ms (plus %.2f ms for the fold): ratio %.0f",
            single - fold, batch, fold, (single - fold) / batch)
        print("swift: \(deltas) deltas: \(text)")
    }

    /// The CPU time of this process in milliseconds. `clock(3)` counts in microseconds.
    static func cpu() -> Double {
        Double(clock()) / 1e3
    }

    /// The number of pairs of a turn without and a turn with a reader.
    static let rounds = 5

    /// One turn: the share of a core, in percent, that this process takes during it, and the transcripts
    /// that were read.
    static func turn(_ session: DialogueSession, reads: Bool) async throws -> (cpu: Double, transcripts: Int) {
        let reader = Task {
            var transcripts = 0
            if reads { for try await _ in try session.transcripts() { transcripts += 1 } }
            return transcripts
        }
        let receipt = try await session.send("talk")
        try await Task.sleep(for: .seconds(1))
        let (before, watch) = (cpu(), ContinuousClock())
        let start = watch.now
        try await Task.sleep(for: .seconds(5))
        let took = start.duration(to: watch.now).components
        let share = (cpu() - before) / (Double(took.seconds) * 1e3 + Double(took.attoseconds) / 1e15)
        try await receipt.waitUntilSettled()
        reader.cancel()
        return (share * 100, try await reader.value)
    }

    static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }

    /// What a reader costs: turns without and with one alternate in one session.
    static func sixtyHertz(_ engine: Engine) async throws {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appendingPathComponent("talk.toml")
        let toml = """
            [[turn]]
            repeat = true
            steps = [ { text = { text = "{{fill:36000}}", delta = 5, delta_ms = 1 } } ]
            """
        try toml.write(to: file, atomically: true, encoding: .utf8)
        let session = try await engine.start(
            configuration: DialogueConfiguration(args: ["--scenario", file.path], cwd: folder.path))
        var (alone, read, transcripts) = ([Double](), [Double](), 0)
        for _ in 0..<rounds {
            alone.append(try await turn(session, reads: false).cpu)
            let (share, count) = try await turn(session, reads: true)
            read.append(share)
            transcripts += count
        }
        _ = try await session.terminate()
        let reader = zip(alone, read).map { $1 - $0 }
        let text = String(
            format: "%.2f %% of a core (%.2f to %.2f), with the session %.2f %%; %d transcripts a turn",
            median(reader), reader.min()!, reader.max()!, median(read), transcripts / rounds)
        print("swift: reader at 60 Hz of 1,000 deltas per second: \(text)")
    }
}
