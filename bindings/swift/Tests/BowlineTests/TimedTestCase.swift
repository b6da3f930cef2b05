import Bowline
import Foundation
import XCTest

/// Tests that end. XCTest on Linux gives them no time limit, and a task that waits for ever would keep
/// the whole run waiting.
class TimedTestCase: XCTestCase {
    /// How long each test may take, in seconds.
    var patience: Double { 120 }

    override func invokeTest() {
        let watchdog = Watchdog(name, patience)
        super.invokeTest()
        watchdog.stop()
        // Standard output is a pipe here: without this a run looks as if it stood still.
        fflush(nil)
    }
}

/// Ends the process, and says what it was at, when nobody stops it in time. It has a thread of its own:
/// the pool of Swift's tasks may be what hangs.
private final class Watchdog: @unchecked Sendable {
    private let condition = NSCondition()
    private var isStopped = false

    init(_ name: String, _ patience: Double) {
        let deadline = Date(timeIntervalSinceNow: patience)
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
        var report = "\(name) does not end\n"
        if let counters = try? liveCounters() { report += "\(counters)\n" }
        if let terminals = try? engine().terminals() { report += "\(terminals)\n" }
        FileHandle.standardError.write(Data((report + threads()).utf8))
        abort()
    }

    /// What each thread is called, and which system call it is in.
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
