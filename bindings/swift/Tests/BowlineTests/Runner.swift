import Bowline
import Foundation

/// A program of the workspace that runs until it is stopped.
final class RunningProgram {
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

    /// Kills the program. It ignores other signals: Swift's threads block them, and child processes
    /// inherit the mask.
    func stop() {
        kill(process.processIdentifier, SIGKILL)
    }

    /// Kills the program and waits until its output is closed. `Process.waitUntilExit` would also wait
    /// for processes that were started later, since they inherit the descriptor that it watches.
    func stopAndWait() {
        stop()
        while !output.fileHandleForReading.availableData.isEmpty {}
    }

    /// Reads lines up to one with the prefix and returns the rest of that line.
    func line(after prefix: String) throws -> String {
        while true {
            while let end = rest.firstIndex(of: 0x0a) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                if line.hasPrefix(prefix) { return String(line.dropFirst(prefix.count)) }
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { throw MissingValue() }
            rest += more
        }
    }
}

/// A runner, on a free port unless an address is given. With an authority it uses TLS and accepts only
/// clients with a certificate of that authority.
final class Runner {
    private let running: RunningProgram
    let address: String
    /// The folder of the runner's state, with which another one can continue.
    let folder: URL
    let configuration: RunnerConfiguration

    init(
        at address: String = "127.0.0.1:0", for hosts: [String] = [], authority: URL? = nil,
        folder: URL? = nil
    ) throws {
        let folder = try folder ?? temporaryDirectory()
        self.folder = folder
        running = try RunningProgram(
            "bowline",
            [
                "serve", "--listen", address,
                "--state-dir", folder.appendingPathComponent("state").path,
                "--socket", folder.appendingPathComponent("socket").path,
            ] + hosts.flatMap { ["--host", $0] }
                + (authority.map { ["--tls-own", "--client-ca", $0.path] } ?? []))
        let scheme = authority == nil ? "http" : "https"
        self.address = try running.line(after: "listening on \(scheme)://")
        let token = try String(contentsOfFile: running.line(after: "token in "), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        configuration = RunnerConfiguration(
            url: "\(scheme)://\(self.address)", token: token,
            certificates: authority == nil ? nil : [try running.line(after: "certificate ")])
    }

    var token: String { configuration.token ?? "" }

    func stop() {
        running.stop()
    }

    func stopAndWait() {
        running.stopAndWait()
    }
}
