// A host in a terminal: sends a prompt, allows all permission requests and prints the answer.
//
//     swift run Host PROMPT [PROGRAM [ARGUMENT…]]
import Bowline
import Foundation

@main
struct Host {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let prompt = arguments.first else {
            FileHandle.standardError.write(Data("usage: Host PROMPT [PROGRAM [ARGUMENT…]]\n".utf8))
            exit(2)
        }
        let engine = try Engine.make(program: arguments.dropFirst().first)
        let configuration = DialogueConfiguration(args: Array(arguments.dropFirst(2)))
        let answers = Task { try await answerAll(engine) }
        defer { answers.cancel() }
        let session = try await engine.start(configuration: configuration)
        let receipt = try await session.send(prompt)
        async let settled = receipt.waitUntilSettled()

        for try await transcript in try session.transcripts() {
            if transcript.phase == .idle, transcript.entries().contains(where: isResult) {
                show(transcript)
                break
            }
        }
        _ = try await settled
        let end = try await session.end()
        print("-- \(end.reason)")
    }

    /// Allows what any session asks for, and prints why one needs attention.
    static func answerAll(_ engine: Engine) async throws {
        for try await event in try engine.inbox() {
            switch event {
            case .opened(let request):
                let allow = PermissionAnswer.allow(updatedInput: nil, updatedPermissions: nil)
                try await engine.respond(
                    session: request.session, requestId: request.record.requestId, answer: allow)
            case .closed(let request): print("-- \(request.record.toolName): \(request.record.state)")
            case .attention(_, _, .limitReached(let window, _)): print("-- limit reached: \(window)")
            case .attention(_, _, .failure(let text)): print("-- \(text)")
            case .attention: break
            }
        }
    }

    static func isResult(_ entry: Transcript.Entry) -> Bool {
        if case .result = entry.value { return true }
        return false
    }

    static func show(_ transcript: Transcript) {
        for entry in transcript.entries() {
            for block in entry.blocks where !block.text.isEmpty {
                print(block.text)
            }
        }
    }
}
