// Tests: DialogueSession
import Bowline
import Foundation
import XCTest

final class PolicyTests: TimedTestCase {
    private let rules = """
        [[rule]]
        name = "make"
        decision = "allow"
        command = "make *"
        [[rule]]
        decision = "deny"
        command = "rm *"
        message = "keep it"
        """

    func testRulesAnswerBeforeTheHostIsAsked() async throws {
        let file = try temporaryDirectory().appendingPathComponent("policy.toml")
        try rules.write(to: file, atomically: true, encoding: .utf8)
        for source in [PolicySource.text(text: rules), .file(path: file.path)] {
            var ruled = try configuration()
            ruled.policy = source
            try await withSession(ruled) { session in
                for command in ["make test", "rm x"] {
                    let state = try await session.send("/ask \(command)").waitUntilSettled()
                    XCTAssertEqual(state, .answered)
                }
                let records = try session.permissions()
                XCTAssertEqual(records.map(\.answeredBy), ["policy", "policy"])
                XCTAssertEqual(records.map(\.isAllowed), [true, false])
                XCTAssertTrue(records[0].answeredHow?.hasPrefix("rule \"make\" in ") ?? false)
                let transcript = try await session.until { $0.results.count == 2 }
                XCTAssertEqual(transcript.permissions.map { $0.decidedBy?.who }, ["policy", "policy"])
                // Appended to an allowed command, the host is asked.
                let asked = try await session.send("/ask make test; true")
                try await session.deny(session.awaitPermissionRequest().requestId, reason: "no")
                _ = try await asked.waitUntilSettled()
            }
        }
    }

    func testPolicyThatCannotBeReadIsRefusedAtTheStart() async throws {
        for source in [
            PolicySource.text(text: "[[rule]]\ndecison = \"allow\""), .file(path: "/nonexistent"),
        ] {
            var ruled = try configuration()
            ruled.policy = source
            let refused = ruled
            let kind = await errorKind { _ = try await engine().start(configuration: refused) }
            XCTAssertEqual(kind, "Configuration")
        }
    }
}
