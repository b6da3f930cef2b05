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
        let session = try await engine.start(configuration: configuration)
        let receipt = try await session.send(prompt)
        async let settled = receipt.waitUntilSettled()

        var answered: Set<String> = []
        for try await transcript in try session.transcripts() {
            for permission in transcript.permissions where permission.state == .open {
                if answered.insert(permission.requestId).inserted {
                    try await session.allow(permission.requestId)
                }
            }
            if transcript.phase == .idle, transcript.entries().contains(where: isResult) {
                show(transcript)
                break
            }
        }
        _ = try await settled
        let end = try await session.end()
        print("-- \(end.reason)")
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
