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
