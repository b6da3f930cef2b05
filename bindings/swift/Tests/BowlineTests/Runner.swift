import Bowline
import Foundation

/// A program of ours, until it is stopped.
final class Running {
    private let process = Process()
    private let output = Pipe()
    private var rest = Data()

    init(_ program: String, _ arguments: [String]) throws {
        process.executableURL = programs.appendingPathComponent(program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// Kills it: Swift's threads block signals, and what they start inherits that.
    func stop() {
        kill(process.processIdentifier, SIGKILL)
    }

    /// Kills it, and waits until it is gone with all that has its output. `Process` would wait for
    /// whatever was started while it ran, since that inherits what `Process` watches.
    func ended() {
        stop()
        while !output.fileHandleForReading.availableData.isEmpty {}
    }

    /// What its next line that begins so goes on with.
    func said(_ beginning: String) throws -> String {
        while true {
            while let end = rest.firstIndex(of: 0x0a) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                if line.hasPrefix(beginning) { return String(line.dropFirst(beginning.count)) }
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { throw NeverCame() }
            rest += more
        }
    }
}

/// A runner on a port of its own, or on that of another one that has ended. One that knows an authority
/// speaks TLS, and lets in who shows a certificate of it.
final class Runner {
    private let running: Running
    let address: String
    let configuration: RunnerConfiguration

    init(
        at address: String = "127.0.0.1:0", for hosts: [String] = [], authority: URL? = nil
    ) throws {
        let folder = try temporary()
        running = try Running(
            "bowline",
            [
                "serve", "--listen", address,
                "--state-dir", folder.appendingPathComponent("state").path,
                "--socket", folder.appendingPathComponent("socket").path,
            ] + hosts.flatMap { ["--host", $0] }
                + (authority.map { ["--tls-own", "--client-ca", $0.path] } ?? []))
        let scheme = authority == nil ? "http" : "https"
        self.address = try running.said("listening on \(scheme)://")
        let token = try String(contentsOfFile: running.said("token in "), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        configuration = RunnerConfiguration(
            url: "\(scheme)://\(self.address)", token: token,
            certificates: authority == nil ? nil : [try running.said("certificate ")])
    }

    var token: String { configuration.token ?? "" }

    func stop() {
        running.stop()
    }

    func ended() {
        running.ended()
    }
}
