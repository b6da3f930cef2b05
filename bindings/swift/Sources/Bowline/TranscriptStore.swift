import Observation

/// A transcript for views: it lives on the main actor, and each batch is one hop to it and one
/// change.
///
/// ```swift
/// struct Conversation: View {
///     let session: DialogueSession
///     @State private var store = TranscriptStore()
///
///     var body: some View {
///         List(store.transcript.entries()) { Row(entry: $0) }
///             .task { try? await store.follow(session) }
///     }
/// }
/// ```
@MainActor
@Observable
public final class TranscriptStore {
    /// The transcript as far as it has come.
    public private(set) var transcript = Transcript()

    /// An empty store.
    public nonisolated init() {}

    /// Follows a session to its end, or until the task is cancelled; called again, it goes on where
    /// it was. Batches are made and decoded off the main actor.
    nonisolated public func follow(_ session: DialogueSession, linger: UInt32 = 16) async throws {
        try await follow(session.batches(from: await cursor(), linger: linger))
    }

    /// Follows a recording to its end; see ``follow(_:linger:)``.
    nonisolated public func follow(_ recording: Recording) async throws {
        try await follow(recording.batches(from: await cursor()))
    }

    nonisolated private func follow(
        _ batches: AsyncThrowingStream<ChangeBatch, any Error>
    ) async throws {
        for try await batch in batches {
            await apply(batch)
        }
    }

    nonisolated private func cursor() async -> UInt64 {
        await MainActor.run { transcript.cursor }
    }

    private func apply(_ batch: ChangeBatch) {
        transcript.apply(batch)
    }
}

extension DialogueSession {
    /// The transcript each time that it has changed.
    public func transcripts(linger: UInt32 = 16) throws -> AsyncThrowingStream<Transcript, any Error> {
        folded(try batches(linger: linger))
    }
}

extension Recording {
    /// The transcript of the recording each time that it has changed.
    public func transcripts() throws -> AsyncThrowingStream<Transcript, any Error> {
        folded(try batches())
    }
}

private final class Fold: @unchecked Sendable {
    private var transcript = Transcript()
    private var batches: AsyncThrowingStream<ChangeBatch, any Error>.AsyncIterator

    init(_ batches: AsyncThrowingStream<ChangeBatch, any Error>) {
        self.batches = batches.makeAsyncIterator()
    }

    func next() async throws -> Transcript? {
        guard let batch = try await batches.next() else { return nil }
        transcript.apply(batch)
        return transcript
    }
}

private func folded(
    _ batches: AsyncThrowingStream<ChangeBatch, any Error>
) -> AsyncThrowingStream<Transcript, any Error> {
    let fold = Fold(batches)
    return AsyncThrowingStream { try await fold.next() }
}
