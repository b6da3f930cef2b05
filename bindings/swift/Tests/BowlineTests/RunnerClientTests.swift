// Tests: RunnerClient
import Bowline
import Foundation
import XCTest

final class RunnerClientTests: TimedTestCase {
    func testClientListsAndEndsSessionsOfARunner() async throws {
        let runner = try Runner()
        defer { runner.stop() }
        let client = try engine().runner(runner: runner.configuration)
        let none = try await client.sessions()
        XCTAssertEqual(none, [])
        var started = try configuration()
        started.runner = runner.configuration
        let session = try await engine().start(configuration: started)
        _ = try await session.send("hello").waitUntilSettled()
        try await session.until { $0.results.count == 1 }
        let id = try session.id()
        _ = try await session.detach()
        let all = try await client.sessions()
        XCTAssertEqual(all.count, 1)
        guard let listed = all.first else { return }
        XCTAssertEqual(listed.id, id)
        XCTAssertEqual(listed.kind, .dialogue)
        XCTAssertEqual(listed.state, .running)
        XCTAssertEqual(listed.program, programs.appendingPathComponent("understudy").path)
        XCTAssertEqual(listed.cwd, started.cwd)
        XCTAssertNotNil(listed.pid)
        let transcript = try await client.transcript(id: id)
        XCTAssertTrue(transcript.contains(#""text":"hello""#), transcript)
        let log = try await client.log(id: id)
        XCTAssertEqual(log.first, UInt8(ascii: "{"))
        let rest = try await client.log(id: id, from: 7)
        XCTAssertEqual(rest, log.dropFirst(7))
        try await client.end(id: id, isForced: true)
        let ended = try await client.session(id: id)
        XCTAssertEqual(ended.state, .exited)
        XCTAssertNil(ended.pid)
        // The agent may exit at the end of its input before it is killed.
        XCTAssertTrue(ended.signal != nil || ended.code != nil, ended.json)
        XCTAssertGreaterThanOrEqual(ended.endedMs ?? 0, ended.startedMs)
        try await client.end(id: id, keepsLog: false)
        let removed = try await client.sessions()
        XCTAssertEqual(removed, [])
        let restored = try await client.restore(id: id)
        XCTAssertEqual(restored.id, ended.id)
        XCTAssertEqual(restored.state, .exited)
        XCTAssertEqual(restored.endedMs, ended.endedMs)
        try await client.end(id: id, keepsLog: false)
        let left = try await client.sessions()
        XCTAssertEqual(left, [])
        let gone = await errorKind { _ = try await client.session(id: id) }
        XCTAssertEqual(gone, "NotFound")
        let invalid = await errorKind { _ = try await client.log(id: "../tokens") }
        XCTAssertEqual(invalid, "Configuration")
        var wrong = runner.configuration
        wrong.token = String(repeating: "0", count: runner.token.count)
        let (rejected, invalidURL) = (wrong, RunnerConfiguration(url: "nowhere"))
        let refusal = await errorKind { _ = try await engine().runner(runner: rejected).sessions() }
        XCTAssertEqual(refusal, "Start")
        let address = await errorKind { _ = try engine().runner(runner: invalidURL) }
        XCTAssertEqual(address, "Configuration")
    }

    /// Answers each request as no runner of this version does, with an empty object. Perl is part of macOS and Debian.
    private static let otherVersion = #"""
        $| = 1;
        my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die $!;
        print "listening on ", $server->sockport, "\n";
        while (my $client = $server->accept) {
            my $length = 0;
            while (my $line = <$client>) {
                $length = $1 if $line =~ /^content-length: (\d+)/i;
                last if $line =~ /^\r?$/;
            }
            read($client, my $body, $length);
            print $client "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            close($client);
        }
        """#

    func testRunnerOfAnotherVersionIsNamedWithTheRemedy() async throws {
        let perl = URL(fileURLWithPath: "/usr/bin/perl")
        let other = try RunningProgram(at: perl, ["-MIO::Socket::INET", "-e", Self.otherVersion])
        defer { other.stop() }
        let port = try other.line(after: "listening on ")
        var started = try configuration()
        started.runner = RunnerConfiguration(url: "http://127.0.0.1:\(port)", token: "t")
        let configuration = started
        let reason = await reason {
            _ = try await engine().start(configuration: configuration)
        }
        XCTAssertTrue(reason.contains("use a runner of this version"), reason)
    }

    /// Returns the reason of the `Start` error that `body` throws.
    private func reason(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "no error was thrown"
        } catch BowlineError.Start(let reason) {
            return reason
        } catch {
            return "\(error) is not Start"
        }
    }

    func testRunnerAcceptsOnlyTrustedClientCertificates() async throws {
        let folder = try temporaryDirectory()
        let generator = Process()
        generator.executableURL = programs.appendingPathComponent("examples/certificates")
        generator.arguments = [folder.path]
        try generator.run()
        generator.waitUntilExit()
        XCTAssertEqual(generator.terminationStatus, 0)
        let runner = try Runner(authority: folder.appendingPathComponent("authority.pem"))
        defer { runner.stop() }
        let configured = { (name: String?) -> DialogueConfiguration in
            var there = try configuration()
            there.runner = runner.configuration
            there.runner?.identity = name.map {
                ClientIdentity(
                    certificate: folder.appendingPathComponent("\($0).crt").path,
                    key: folder.appendingPathComponent("\($0).key").path)
            }
            return there
        }
        let trusted = try configured("trusted")
        let there = trusted.runner ?? runner.configuration
        try await withSession(trusted) { session in
            let settled = try await session.send("hello").waitUntilSettled()
            XCTAssertEqual(settled, .answered)
            let all = try await engine().runner(runner: there).sessions()
            XCTAssertEqual(all.map(\.id), [try session.id()])
        }
        for name in [nil, "untrusted"] {
            let other = try configured(name)
            let text = await reason { _ = try await engine().start(configuration: other) }
            XCTAssertTrue(text.contains("certificate"), text)
        }
        try FileManager.default.removeItem(at: folder.appendingPathComponent("trusted.key"))
        let text = await reason { _ = try await engine().runner(runner: there).sessions() }
        XCTAssertTrue(text.contains("trusted.key"), text)
    }
}
