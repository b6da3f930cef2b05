// The example of bindings/README.md; `.ci/covered.py` compares the two.
import Bowline

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
