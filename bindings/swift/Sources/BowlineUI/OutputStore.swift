import Bowline
import Foundation
import Observation

/// The newest bytes of an agent's output as text, for an inspector.
@MainActor
@Observable
public final class OutputStore {
    /// The text. A line in it names the bytes that are no longer kept.
    public private(set) var text = ""
    /// Whether the text is updated.
    public private(set) var following = Following.paused
    private let limit: Int
    private var newest = Data()
    private var offset: UInt64 = 0

    /// Creates an empty store.
    ///
    /// - Parameter limit: The maximum size of the text, in bytes.
    public nonisolated init(limit: Int = 20_000) {
        self.limit = max(1, limit)
    }

    /// Follows the output of a session from its beginning until the session ends or the task is cancelled. Calling
    /// it again continues where the previous call stopped. Errors are reported by ``following``.
    ///
    /// - Parameter session: The session.
    public nonisolated func follow(_ session: DialogueSession) async {
        do {
            for try await batch in try session.rawOutput(from: await begin()) { await apply(batch) }
            await end(Task.isCancelled ? .paused : .ended)
        } catch {
            await end(error is CancellationError ? .paused : .failed(Failure(error).error))
        }
    }

    private func begin() -> UInt64 {
        following = .active
        return offset
    }

    private func end(_ state: Following) {
        following = state
    }

    private func apply(_ batch: RawBatch) {
        for piece in batch.pieces {
            switch piece {
            case .bytes(_, let bytes): newest += bytes
            case .gap(let from, let to):
                newest += Data("\n[bytes \(from) to \(to) are no longer kept]\n".utf8)
            }
        }
        newest = Data(newest.suffix(limit))
        offset = batch.offset
        // A character may be cut at both ends.
        text = String(decoding: newest, as: UTF8.self)
    }
}
