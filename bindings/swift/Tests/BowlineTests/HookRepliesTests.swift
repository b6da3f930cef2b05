// Tests: HookServer, HookQuestionStream
import Bowline
import Foundation
import XCTest

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tells an event as the agent does; what it is answered.
private func tell(_ server: HookServer, _ kind: String) async throws -> String {
    guard let url = try URL(string: server.url(interaction: "i1")) else { throw NeverCame() }
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.setValue("Bearer \(try server.token())", forHTTPHeaderField: "Authorization")
    request.httpBody = Data(#"{"hook_event_name":"\#(kind)"}"#.utf8)
    let asked = request
    return try await withCheckedThrowingContinuation { continuation in
        let task = URLSession.shared.dataTask(with: asked) { body, answer, error in
            if let body, (answer as? HTTPURLResponse)?.statusCode == 200 {
                continuation.resume(returning: String(decoding: body, as: UTF8.self))
            } else {
                continuation.resume(throwing: error ?? NeverCame())
            }
        }
        task.resume()
    }
}

private func specific(_ kind: String, _ members: String) -> String {
    #"{"hookSpecificOutput":{\#(members),"hookEventName":"\#(kind)"}}"#
}

/// An event, what the host answers, and what the agent is told.
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

/// What is no answer to an event: it is refused, and the gate's own is given.
private let unfit: [(String, HookReply)] = [
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
        let gate = HookGate(
            kinds: Array(Set(cases.map(\.0))), deadlineMs: deadlineMs,
            fallback: .halt(reason: "nobody"))
        return try await engine().startHooks(configuration: HookConfiguration(gate: gate))
    }

    /// Tells an event, has the question about it answered, and gives what the agent is told.
    private func answered(
        _ server: HookServer, _ questions: HookQuestionStream, _ number: Int, _ kind: String,
        _ answer: (UInt64) async throws -> Void
    ) async throws -> String {
        async let told = tell(server, kind)
        let batch = try await questions.next(cursor: UInt64(number), most: 1, lingerMs: 0)
        guard let question = batch?.events.first else { throw NeverCame() }
        XCTAssertEqual(question.event.kind, kind)
        try await answer(question.question)
        return try await told
    }

    func testEveryReplyComesToTheAgentAsItTakesIt() async throws {
        let server = try await server(deadlineMs: 30_000)
        let questions = try server.questions()
        for (number, (kind, reply, expected)) in cases.enumerated() {
            let told = try await answered(server, questions, number, kind) {
                try server.answer(question: $0, reply: reply)
            }
            XCTAssertEqual(told, expected, "\(reply)")
        }
        for (number, (kind, reply)) in unfit.enumerated() {
            let told = try await answered(server, questions, cases.count + number, kind) { question in
                let refusal = await refused { try server.answer(question: question, reply: reply) }
                XCTAssertEqual(refusal, "Invalid", "\(reply)")
            }
            XCTAssertEqual(told, #"{"continue":false,"stopReason":"nobody"}"#, "\(reply)")
        }
        questions.stop()
        _ = try await server.stop()
    }

    func testAQuestionThatDoesNotWaitAnyMoreIsWithdrawn() async throws {
        let hasty = try await server(deadlineMs: 50)
        let late = try hasty.questions()
        let told = try await answered(hasty, late, 0, "Stop") { question in
            try await hasty.untilWithdrawn(question)
            try await hasty.withdrawn(question: question)
            let refusal = await refused { try hasty.answer(question: question, reply: .nothing) }
            XCTAssertEqual(refusal, "TooLate")
        }
        XCTAssertTrue(told.contains("nobody"), told)
        _ = try await hasty.stop()
        let patient = try await server(deadlineMs: 30_000)
        let questions = try patient.questions()
        let answer = try await answered(patient, questions, 0, "Stop") { question in
            let given = Task { try await patient.untilWithdrawn(question) }
            given.cancel()
            switch await given.result {
            case .success: XCTFail("nobody has answered yet")
            case .failure(let error): XCTAssertTrue(error is CancellationError, "\(error)")
            }
            async let waiting: Void = patient.untilWithdrawn(question)
            try patient.answer(question: question, reply: .nothing)
            try await waiting
        }
        XCTAssertEqual(answer, "")
        _ = try await patient.stop()
    }

    func testHooksGoBesideTheSettingsThatAHostHas() async throws {
        let configuration = HookConfiguration(kinds: ["Stop"])
        let server = try await engine().startHooks(configuration: configuration)
        let hooks = try server.settings(interaction: "i1")
        let merged = try mergeSettings(
            settings: #"{"model":"x","hooks":{"Stop":[{"hooks":[]}]}}"#, hooks: hooks)
        let expected = #"{"model":"x","hooks":{"Stop":[{"hooks":[]},{"hooks":[{"type":"http""#
        XCTAssertTrue(merged.hasPrefix(expected), merged)
        for wrong in ["[", "[]", #"{"hooks":1}"#] {
            let refusal = await refused { _ = try mergeSettings(settings: wrong, hooks: hooks) }
            XCTAssertEqual(refusal, "Configuration", wrong)
        }
        _ = try await server.stop()
    }
}
