// Tests: HookServer, HookQuestionStream
import Bowline
import Foundation
import XCTest

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Posts an event as the agent does and returns the answer.
private func post(_ server: HookServer, _ kind: String) async throws -> String {
    guard let url = try URL(string: server.url(interaction: "i1")) else { throw MissingValue() }
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.setValue("Bearer \(try server.token())", forHTTPHeaderField: "Authorization")
    request.httpBody = Data(#"{"hook_event_name":"\#(kind)"}"#.utf8)
    let finalRequest = request
    return try await withCheckedThrowingContinuation { continuation in
        let task = URLSession.shared.dataTask(with: finalRequest) { body, answer, error in
            if let body, (answer as? HTTPURLResponse)?.statusCode == 200 {
                continuation.resume(returning: String(decoding: body, as: UTF8.self))
            } else {
                continuation.resume(throwing: error ?? MissingValue())
            }
        }
        task.resume()
    }
}

private func specific(_ kind: String, _ members: String) -> String {
    #"{"hookSpecificOutput":{\#(members),"hookEventName":"\#(kind)"}}"#
}

/// Events, replies of the host, and the answers that the agent receives.
private let cases: [(String, HookReply, String)] = [
    ("Stop", .nothing, ""),
    (
        "PreToolUse",
        .tool(verdict: .ask, reason: "hm", updatedInput: #"{"a":1}"#, context: "it rains"),
        specific(
            "PreToolUse",
            #""permissionDecision":"ask","permissionDecisionReason":"hm","updatedInput":{"a":1},"additionalContext":"it rains""#
        )
    ),
    (
        "PreToolUse", .tool(verdict: .defer, reason: nil, updatedInput: nil, context: nil),
        specific("PreToolUse", #""permissionDecision":"defer""#)
    ),
    (
        "PermissionRequest",
        .allowPermission(updatedInput: #"{"a":1}"#, updatedPermissions: #"[{"type":"setMode"}]"#),
        specific(
            "PermissionRequest",
            #""decision":{"behavior":"allow","updatedInput":{"a":1},"updatedPermissions":[{"type":"setMode"}]}"#
        )
    ),
    (
        "PermissionRequest", .denyPermission(reason: "no", interrupt: true),
        specific(
            "PermissionRequest", #""decision":{"behavior":"deny","message":"no","interrupt":true}"#)
    ),
    ("Stop", .block(reason: "go on"), #"{"decision":"block","reason":"go on"}"#),
    (
        "UserPromptSubmit", .context(text: "it rains"),
        specific("UserPromptSubmit", #""additionalContext":"it rains""#)
    ),
    ("PostToolUse", .halt(reason: "enough"), #"{"continue":false,"stopReason":"enough"}"#),
    (
        "WorktreeCreate", .worktree(path: "/srv/tree"),
        specific("WorktreeCreate", #""worktreePath":"/srv/tree""#)
    ),
    (
        "FileChanged", .watch(paths: ["/srv/.env", "/srv/a b"]),
        specific("FileChanged", #""watchPaths":["/srv/.env","/srv/a b"]"#)
    ),
    ("PermissionDenied", .retry, specific("PermissionDenied", #""retry":true"#)),
    (
        "Elicitation", .acceptForm(content: #"{"colour":"red"}"#),
        specific("Elicitation", #""action":"accept","content":{"colour":"red"}"#)
    ),
    ("ElicitationResult", .declineForm, specific("ElicitationResult", #""action":"decline""#)),
    ("Elicitation", .cancelForm, specific("Elicitation", #""action":"cancel""#)),
    ("Stop", .raw(json: #"{"systemMessage":"hi"}"#), #"{"systemMessage":"hi"}"#),
]

/// Replies that do not fit the event. They are refused, and the gate's default is sent.
private let invalid: [(String, HookReply)] = [
    ("Stop", .worktree(path: "/srv/tree")),
    ("WorktreeCreate", .worktree(path: "tree")),
    ("Stop", .watch(paths: ["/srv/.env"])),
    ("FileChanged", .watch(paths: [".env"])),
    ("PreToolUse", .retry),
    ("Stop", .declineForm),
    ("Stop", .cancelForm),
    ("Elicitation", .acceptForm(content: "1")),
]

final class HookRepliesTests: TimedTestCase {
    private func server(deadlineMs: UInt64) async throws -> HookServer {
        // Some of the events need a helper. A default that refuses would not be accepted for all of them.
        let kinds = Array(Set(cases.map(\.0)))
        let gate = HookGate(
            kinds: kinds, deadlineMs: deadlineMs,
            fallback: .raw(json: #"{"systemMessage":"no answer"}"#))
        let configuration = HookConfiguration(
            kinds: kinds, helper: HookHelper(program: "/bin/true"), gate: gate)
        return try await engine().startHooks(configuration: configuration)
    }

    /// Posts an event, answers its question and returns the answer that the agent receives.
    private func postAndAnswer(
        _ server: HookServer, _ questions: HookQuestionStream, _ cursor: inout UInt64, _ kind: String,
        _ answer: (UInt64) async throws -> Void
    ) async throws -> String {
        async let response = post(server, kind)
        let batch = try await questions.next(cursor: cursor, maxCount: 1, coalesceForMs: 0)
        guard let batch, let question = batch.events.first else { throw MissingValue() }
        cursor = batch.cursor
        XCTAssertEqual(question.event.kind, kind)
        try await answer(question.id)
        return try await response
    }

    func testEachReplyIsEncodedInTheAgentsFormat() async throws {
        let server = try await server(deadlineMs: 30_000)
        let questions = try server.questionStream()
        var cursor: UInt64 = 0
        for (kind, reply, expected) in cases {
            let response = try await postAndAnswer(server, questions, &cursor, kind) {
                try server.answer(question: $0, reply: reply)
            }
            XCTAssertEqual(response, expected, "\(reply)")
        }
        for (kind, reply) in invalid {
            let response = try await postAndAnswer(server, questions, &cursor, kind) { question in
                let refusal = await errorKind { try server.answer(question: question, reply: reply) }
                XCTAssertEqual(refusal, "Invalid", "\(reply)")
            }
            XCTAssertEqual(response, #"{"systemMessage":"no answer"}"#, "\(reply)")
        }
        questions.stop()
        _ = try await server.stop()
    }

    func testClosedQuestionCompletesWaitForWithdrawal() async throws {
        let shortDeadline = try await server(deadlineMs: 50)
        let late = try shortDeadline.questionStream()
        var (ofLate, ofQuestions): (UInt64, UInt64) = (0, 0)
        let response = try await postAndAnswer(shortDeadline, late, &ofLate, "Stop") { question in
            try await shortDeadline.waitForWithdrawal(of: question)
            try await shortDeadline.waitForWithdrawal(question: question)
            let refusal = await errorKind { try shortDeadline.answer(question: question, reply: .nothing) }
            XCTAssertEqual(refusal, "TooLate")
        }
        XCTAssertTrue(response.contains("no answer"), response)
        _ = try await shortDeadline.stop()
        let longDeadline = try await server(deadlineMs: 30_000)
        let questions = try longDeadline.questionStream()
        let answer = try await postAndAnswer(longDeadline, questions, &ofQuestions, "Stop") { question in
            let cancelled = Task { try await longDeadline.waitForWithdrawal(of: question) }
            cancelled.cancel()
            switch await cancelled.result {
            case .success: XCTFail("the question is still open")
            case .failure(let error): XCTAssertTrue(error is CancellationError, "\(error)")
            }
            async let waiting: Void = longDeadline.waitForWithdrawal(of: question)
            try longDeadline.answer(question: question, reply: .nothing)
            try await waiting
        }
        XCTAssertEqual(answer, "")
        _ = try await longDeadline.stop()
    }

    /// A call whose task is finished on another thread at about the time of its second poll.
    func testCallThatIsReadyWhileItBeginsToWaitReturns() async throws {
        let server = try await server(deadlineMs: 30_000)
        for _ in 0..<50_000 { try await server.waitForWithdrawal(of: 1) }
        _ = try await server.stop()
    }

    func testMergeSettingsKeepsExistingHooks() async throws {
        let configuration = HookConfiguration(kinds: ["Stop"])
        let server = try await engine().startHooks(configuration: configuration)
        let hooks = try server.settings(interaction: "i1")
        let merged = try mergeSettings(
            settings: #"{"model":"x","hooks":{"Stop":[{"hooks":[]}]}}"#, hooks: hooks)
        let expected = #"{"model":"x","hooks":{"Stop":[{"hooks":[]},{"hooks":[{"type":"http""#
        XCTAssertTrue(merged.hasPrefix(expected), merged)
        for wrong in ["[", "[]", #"{"hooks":1}"#] {
            let refusal = await errorKind { _ = try mergeSettings(settings: wrong, hooks: hooks) }
            XCTAssertEqual(refusal, "Configuration", wrong)
        }
        _ = try await server.stop()
    }
}
