import Observation

/// A transcript for SwiftUI views.
///
/// The store is isolated to the main actor. Batches are read and decoded off the main actor; each one
/// is applied in a single hop and causes a single view update.
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
    /// The current transcript.
    public private(set) var transcript = Transcript()

    /// Creates a store with an empty transcript.
    public nonisolated init() {}

    /// Applies a session's changes until the session ends or the task is cancelled.
    ///
    /// Calling it again continues where the previous call stopped. Following another session discards
    /// the transcript.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - coalesceFor: How long to wait for further changes after the first one of a batch.
    /// - Throws: ``BowlineError``.
    nonisolated public func follow(
        _ session: DialogueSession, coalesceFor: Duration = .milliseconds(16)
    ) async throws {
        try await follow(session.changes(from: await cursor(), coalesceFor: coalesceFor))
    }

    /// Applies a recording's changes to its end.
    ///
    /// - Parameter recording: The recording.
    /// - Throws: ``BowlineError``.
    nonisolated public func follow(_ recording: Recording) async throws {
        try await follow(recording.changes(from: await cursor()))
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
    /// The transcript after each batch of changes, until the session ends.
    ///
    /// - Parameter coalesceFor: How long to wait for further changes after the first one of a batch.
    /// - Throws: ``BowlineError``.
    public func transcripts(
        coalesceFor: Duration = .milliseconds(16)
    ) throws -> AsyncThrowingStream<Transcript, any Error> {
        transcriptStream(of: try changeStream(), coalesceFor: coalesceFor)
    }
}

extension Recording {
    /// The transcript after each batch of changes, to the end of the recording.
    ///
    /// - Throws: ``BowlineError``.
    public func transcripts() throws -> AsyncThrowingStream<Transcript, any Error> {
        transcriptStream(of: try changeStream(), coalesceFor: .zero)
    }
}
