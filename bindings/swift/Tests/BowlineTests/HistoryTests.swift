// Tests: History
import Bowline
import XCTest

final class HistoryTests: TimedTestCase {
    private let folders = HistoryConfiguration(
        claudeDirectory: fixtures.appendingPathComponent("history/claude").path,
        codexDirectory: fixtures.appendingPathComponent("history/codex").path)

    func testConversationsAreListedSearchedAndOpened() async throws {
        let history = try engine().history(configuration: folders)
        let all = try await history.list().conversations
        XCTAssertGreaterThan(all.count, 4)
        let times = all.map(\.lastActivityMs)
        XCTAssertEqual(times, times.sorted(by: >))
        let codex = try await history.list(query: HistoryQuery(agent: "codex", limit: 1))
        XCTAssertEqual(codex.conversations.map(\.agent), ["codex"])
        let none = try await history.list(query: HistoryQuery(search: "no such words anywhere"))
        XCTAssertTrue(none.conversations.isEmpty)
        for conversation in all {
            let recording = try await history.open(id: conversation.id)
            var past = Transcript()
            for try await batch in try recording.changes(maxCount: 7) { past.apply(batch) }
            XCTAssertFalse(past.entries().isEmpty)
            XCTAssertTrue(past.entries().allSatisfy(\.detail.isHistory), conversation.id)
            let expected = try await recording.snapshot().json()
            XCTAssertEqual(past.json(), expected, conversation.id)
        }
        let missing = await errorKind { _ = try await history.open(id: "no-such-conversation") }
        XCTAssertEqual(missing, "NotFound")
        let unknown = await errorKind { _ = try await history.list(query: HistoryQuery(agent: "aider")) }
        XCTAssertEqual(unknown, "Invalid")
    }

    func testResumedConversationBeginsWithItsPast() async throws {
        let history = try engine().history(configuration: folders)
        let newest = try await history.list(query: HistoryQuery(agent: "claude", limit: 1))
        var resumed = try configuration()
        resumed.conversation = .resume(id: try XCTUnwrap(newest.conversations.first).id, fork: false)
        resumed.history = folders
        try await withSession(resumed) { session in
            for try await transcript in try session.transcripts() where !transcript.entries().isEmpty {
                XCTAssertEqual(transcript.entries().first?.detail.isHistory, true)
                break
            }
        }
    }
}
