import Bowline
import Foundation
import XCTest

/// A test case with a time limit. XCTest on Linux has none, and a task that never ends would block the
/// whole run.
class TimedTestCase: XCTestCase {
    /// The time limit of each test, in seconds.
    var timeLimit: Double { 120 }

    /// Without the programs of the workspace, each test would fail in a way of its own.
    override func setUpWithError() throws {
        try requirePrograms(in: programs)
    }

    override func invokeTest() {
        let watchdog = Watchdog(name, timeLimit)
        super.invokeTest()
        watchdog.stop()
        // Standard output may be a pipe, which is buffered: show progress.
        fflush(nil)
    }
}

/// Throws `MissingPrograms` unless cargo has built the programs of the tests into the folder.
func requirePrograms(in folder: URL) throws {
    let missing = ["understudy", "bowline", "chaos", "examples/certificates"].filter {
        !FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent($0).path)
    }
    guard missing.isEmpty else { throw MissingPrograms(names: missing, folder: folder.path) }
}

/// Programs that cargo has not built.
struct MissingPrograms: Error, Equatable, CustomStringConvertible {
    let names: [String]
    let folder: String

    var description: String {
        "\(names.joined(separator: ", ")) missing in \(folder); run "
            + "cargo build -p bowline-ffi -p understudy -p bowline-cli -p bowline-tests --lib --bins --examples"
    }
}

/// Prints diagnostics and aborts the process unless it is stopped in time. It uses a thread, since the
/// thread pool of Swift's tasks may be blocked.
private final class Watchdog: @unchecked Sendable {
    private let condition = NSCondition()
    private var isStopped = false

    init(_ name: String, _ timeLimit: Double) {
        let deadline = Date(timeIntervalSinceNow: timeLimit)
        Thread.detachNewThread { self.watch(name, until: deadline) }
    }

    func stop() {
        condition.withLock {
            isStopped = true
            condition.signal()
        }
    }

    private func watch(_ name: String, until deadline: Date) {
        let isLate = condition.withLock {
            while !isStopped && Date() < deadline { _ = condition.wait(until: deadline) }
            return !isStopped
        }
        guard isLate else { return }
        var report = "\(name) exceeded its time limit\n"
        if let counters = try? liveCounters() { report += "\(counters)\n" }
        if let terminals = try? engine().terminals() { report += "\(terminals)\n" }
        FileHandle.standardError.write(Data((report + threads()).utf8))
        abort()
    }

    /// The name and the current system call of each thread.
    private func threads() -> String {
        let folder = "/proc/self/task"
        let ids = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return ids.map { id in
            let read = { (file: String) in
                (try? String(contentsOfFile: "\(folder)/\(id)/\(file)", encoding: .utf8)) ?? "?\n"
            }
            return "\(id) \(read("comm").dropLast()): system call \(read("syscall"))"
        }.joined()
    }
}
