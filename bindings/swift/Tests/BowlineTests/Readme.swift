// The examples of bindings/README.md; `.ci/covered.py` compares them.
import Bowline
import BowlineUI
import Foundation

func readme() async throws {
    let engine = try Engine.make()
    let session = try await engine.start(configuration: DialogueConfiguration(cwd: "/some/project"))
    try await session.send("What is in this folder?")
    for try await transcript in try session.transcripts() {
        for request in transcript.permissions where request.state == .open {
            try await session.deny(request.requestId, reason: "read-only session")
        }
        if transcript.phase == .idle, !transcript.entries().isEmpty { break }
    }
    let end = try await session.end()
    _ = end
}

@MainActor
func list() async throws -> SessionListStore {
    let manager = try await Engine.make().openManager(
        configuration: ManagerConfiguration(stateDirectory: "/some/folder/sessions"))
    let drafts = await DraftStore.open(URL(fileURLWithPath: "/some/folder/drafts.json"))
    let list = SessionListStore(manager: manager, drafts: drafts)
    Task { await list.follow() }
    await list.create(DialogueConfiguration(cwd: "/some/project"), label: "project")
    return list  // SessionListView(list), and ConversationView(list.store(of: id)!)
}

func show(_ path: String) async throws {
    let recording = try await Engine.make().openRecording(path: path)
    for try await transcript in try recording.transcripts() where transcript.phase == .ended {
        for call in transcript.toolCalls() {
            print(call.kind ?? .other, call.title ?? call.name, call.exitCode ?? 0)
            for case .diff(let path, let old, let new, _) in call.content {
                print(path, old ?? "(new file)", new ?? "(deleted)")
            }
        }
    }
}

func answerAll(_ engine: Engine) async throws {
    for try await event in try engine.inbox() {
        switch event {
        case .opened(let request):
            let allow = PermissionAnswer.allow(updatedInput: nil, updatedPermissions: nil)
            try await engine.respond(
                session: request.session, requestId: request.record.requestId, answer: allow, answeredBy: "me")
        case .closed(let request): print(request.record.state, request.record.answeredBy ?? "")
        case .attention(_, _, .limitReached(let window, let reset)): print(window, reset ?? 0)
        case .attention(_, _, .failure(let text)): print(text)
        case .attention: break
        }
    }
}

func build(in folder: String) async throws {
    let rules = PolicySource.file(path: folder + "/policy.toml")
    let configuration = DialogueConfiguration(cwd: folder, policy: rules)
    let session = try await Engine.make().start(configuration: configuration)
    _ = try await session.send("Build it.").waitUntilSettled()
    for record in try session.permissions() {
        print(record.toolName, record.answeredBy ?? "nothing", record.answeredHow ?? "")
    }
    _ = try await session.end()
}

func work(in folder: String) async throws {
    let budget = Budget(costUsd: 5, turns: 20)
    let configuration = DialogueConfiguration(
        cwd: folder, budget: budget, resumeAtReset: "Continue.")
    let session = try await Engine.make().start(configuration: configuration)
    _ = try await session.send("Fix the tests.").waitUntilSettled()
    for request in try session.permissions() where request.toolName == "budget" && request.state == .open {
        let raised = QuestionAnswer(question: "budget", answer: "7.50")
        try await session.respond(requestId: request.requestId, answer: .answers(answers: [raised]))
    }
    _ = try await session.end()
}

func resumeNewest(about words: String) async throws -> DialogueSession? {
    let engine = try Engine.make()
    let query = HistoryQuery(agent: "claude", search: words, limit: 1)
    let found = try await engine.history().list(query: query).conversations.first
    guard let conversation = found else { return nil }
    var configuration = DialogueConfiguration(cwd: conversation.cwd)
    configuration.conversation = .resume(id: conversation.id, fork: false)
    configuration.history = HistoryConfiguration()
    return try await engine.start(configuration: configuration)
}

func keepConnected(_ session: DialogueSession) async throws {
    for try await state in try session.connectionStates() {
        switch state {
        case .reconnecting(let attempt): print("reconnecting, attempt \(attempt)")
        case .failed(let reason, let canRetry):
            print(reason)
            if canRetry { try session.retry() }
        default: print("connected")
        }
    }
}

func show(_ shell: ShellSession, feed: (Data) -> Void) async throws {
    for try await batch in try shell.rawOutput(from: 0) {
        for piece in batch.pieces {
            switch piece {
            case .bytes(_, let bytes): feed(bytes)
            case .gap(let from, let to): print("bytes \(from) to \(to) are no longer kept")
            }
        }
    }
}

func recordFromNowOn(_ session: DialogueSession) async throws {
    let begin = try await session.record(path: "/tmp/session.bjl")
    if begin > 0 { print("the first \(begin) bytes are missing") }
}

func report(_ session: DialogueSession) async throws -> Transcript {
    try await session.diagnostics(path: "/tmp/report.tar.gz", redaction: .content)
    let recording = try await Engine.make().openRecording(path: "/tmp/report.tar.gz")
    var last = Transcript()
    for try await transcript in try recording.transcripts() { last = transcript }
    return last
}

func relaunch(_ runner: RunnerConfiguration, state: String) async throws -> SessionManager {
    let configuration = ManagerConfiguration(stateDirectory: state)
    let manager = try await Engine.make().openManager(configuration: configuration)
    let report = try await manager.reattach(runners: [runner])
    for id in report.attached {
        let draft = try await manager.metadata(id: id) ?? ""
        print(try manager.session(id: id)?.label ?? "", draft, try manager.dialogue(id: id).permissions())
    }
    print(report.ended, report.failed.map(\.reason))
    return manager
}

func quit(_ manager: SessionManager, drafts: [String: String], endsAll: Bool) async throws {
    for (id, draft) in drafts { try await manager.setMetadata(id: id, metadata: draft) }
    let report = try await endsAll ? manager.endAll() : manager.detachAll()
    if let reason = report.listError { print(reason) }
}

func forwardHooks(to url: String, authorities: String, tokens: any TokenProvider) async throws -> HookServer {
    let backend = HookBackend(
        url: url, sessionId: "session-7", tokenProvider: tokens, authorities: authorities)
    let variables = HookVariables(url: "CODE_MY_SPEC_CALLBACK_URL")
    let configuration = HookConfiguration(variables: variables, secretPath: true, backend: backend)
    return try await Engine.make().startHooks(configuration: configuration)
}

func startHooked(at runner: RunnerConfiguration, server: HookServer) async throws -> DialogueSession {
    var configuration = DialogueConfiguration(runner: runner)
    configuration.hooks = try server.spec(interaction: "run-1")
    let session = try await Engine.make().start(configuration: configuration)
    try await server.serve(runner: runner, session: session.id())
    return session
}
