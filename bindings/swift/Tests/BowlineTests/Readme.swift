// The lines of bindings/README.md: `.ci/covered.py` compares them.
import Bowline

func readme() async throws {
    let engine = try Engine.make()
    let session = try await engine.start(configuration: DialogueConfiguration(cwd: "/some/project"))
    try await session.say("What is in this folder?")
    for try await transcript in try session.transcripts() {
        for request in transcript.permissions where request.state == .open {
            try await session.deny(request.requestId, because: "look, do not touch")
        }
        if transcript.phase == .idle, !transcript.entries().isEmpty { break }
    }
    let end = try await session.end()
    _ = end
}
