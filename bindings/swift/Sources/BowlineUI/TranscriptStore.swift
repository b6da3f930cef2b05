import Bowline
import Observation

/// A transcript for views.
///
/// The store is isolated to the main actor. Batches are read and decoded off the main actor. A reset, which
/// has the whole transcript, is also applied off it, so that the work on the main actor is bounded by
/// ``batchLimit`` changes. Each batch causes one update.
///
/// ```swift
/// struct ChatView: View {
///     let session: DialogueSession
///     @State private var store = TranscriptStore()
///
///     var body: some View {
///         List(store.entries) { Row(entry: $0) }
///             .task { await store.follow(session) }
///     }
/// }
/// ```
@MainActor
@Observable
public final class TranscriptStore {
    /// The maximum number of changes that are applied in one update.
    public nonisolated static let batchLimit: UInt32 = 2_000

    /// The number of entries that a page has.
    public let pageSize: Int
    /// The current transcript.
    public private(set) var transcript = Transcript()
    /// Whether the transcript is updated.
    public private(set) var following = Following.paused
    /// Why earlier entries could not be read.
    public private(set) var failure: Failure?

    /// The number of the first entry that is shown; `nil` to show the newest page.
    private var firstShown: UInt32?
    /// The pages of dropped entries that were read from the session's recording.
    private var recorded = RecordedPages()
    private var isReadingPage = false
    private var session: DialogueSession?

    private struct RecordedPages {
        var transcript = Transcript()
        /// The entry before which to read on; `nil` before the first page.
        var first: UInt32?
        /// Whether the recording was read to its beginning, or there is none.
        var isComplete = false
    }

    /// Creates a store with an empty transcript.
    ///
    /// - Parameter pageSize: The number of entries of the main thread to show at first, and to add with
    ///   each call of ``showEarlier()``.
    public nonisolated init(pageSize: Int = 100) {
        self.pageSize = max(1, pageSize)
    }

    /// The entries of the shown pages of the main thread, oldest first. New entries are always among them.
    public var entries: [Transcript.Entry] {
        guard let firstShown else { return transcript.entries(last: pageSize) }
        let current = transcript.entries(from: firstShown)
        // Items that were open when their neighbours were dropped are in both.
        let dropped = recorded.transcript.entries().filter { $0.id < transcript.firstEntry ?? .max }
        return dropped + current
    }

    /// Whether there are entries before those that are shown.
    public var hasEarlier: Bool {
        guard let first = transcript.firstEntry else { return false }
        let isWindowShown = firstShown.map { $0 <= first } ?? (entries.first?.id == first)
        return !isWindowShown || (first > 0 && session != nil && !recorded.isComplete)
    }

    /// Shows one more page of earlier entries. Entries that the session has dropped from its window are
    /// read from its recording; without a recording they are not shown.
    public func showEarlier() async {
        let shown = entries.count
        let all = transcript.entries(last: shown + pageSize)
        if all.count > shown {
            firstShown = all.first?.id
            return
        }
        guard let session, hasEarlier, !isReadingPage else { return }
        isReadingPage = true
        defer { isReadingPage = false }
        do {
            try await readPage(of: session)
            firstShown = 0
        } catch {
            failure = Failure(error)
        }
    }

    /// Shows the newest page only.
    public func showNewest() {
        firstShown = nil
    }

    /// Removes the failure.
    public func dismissFailure() {
        failure = nil
    }

    /// Applies a session's changes until the session ends or the task is cancelled.
    ///
    /// Calling it again continues where the previous call stopped. Following another session discards
    /// the transcript. Errors are reported by ``following``.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - coalesceFor: How long to wait for further changes after the first one of a batch.
    public nonisolated func follow(
        _ session: DialogueSession, coalesceFor: Duration = .milliseconds(16)
    ) async {
        let cursor = await begin(session)
        await follow {
            try session.changes(from: cursor, maxCount: Self.batchLimit, coalesceFor: coalesceFor)
        }
    }

    /// Applies a recording's changes to its end. Errors are reported by ``following``.
    ///
    /// - Parameter recording: The recording.
    public nonisolated func follow(_ recording: Recording) async {
        let cursor = await begin(nil)
        await follow { try recording.changes(from: cursor, maxCount: Self.batchLimit) }
    }

    private nonisolated func follow(
        _ batches: () throws -> AsyncThrowingStream<ChangeBatch, any Error>
    ) async {
        do {
            for try await batch in try batches() {
                if batch.isReset {
                    var whole = Transcript()
                    whole.apply(batch)
                    await replace(with: whole)
                } else {
                    await apply(batch)
                }
            }
            await end(Task.isCancelled ? .paused : .ended)
        } catch {
            await end(error is CancellationError ? .paused : .failed(Failure(error).error))
        }
    }

    private func begin(_ session: DialogueSession?) -> UInt64 {
        self.session = session
        following = .active
        return transcript.cursor
    }

    private func end(_ state: Following) {
        following = state
    }

    private func replace(with whole: Transcript) {
        if transcript.cursor != 0 {
            (recorded, firstShown) = (RecordedPages(), nil)
        }
        transcript = whole
    }

    private func apply(_ batch: ChangeBatch) {
        let first = transcript.firstEntry
        transcript.apply(batch)
        // The recording has more entries that are not in the window. The pages are read anew.
        if recorded.first != nil, transcript.firstEntry != first {
            recorded = RecordedPages()
        }
    }

    /// Reads a page of the recording that has entries of the main thread.
    private func readPage(of session: DialogueSession) async throws {
        let count = recorded.transcript.entries().count
        while !recorded.isComplete, recorded.transcript.entries().count == count {
            let before = recorded.first
            let page: SnapshotPage?
            do {
                page = try await session.entriesBefore(entry: before)
            } catch BowlineError.Invalid {
                page = nil  // The session is not recorded.
            }
            // The window may have moved meanwhile, and another session may be followed.
            guard recorded.first == before, self.session === session else { return }
            if let page {
                recorded.transcript.apply(page)
                recorded.first = page.firstEntry
            }
            recorded.isComplete = page?.hasOlder != true
        }
    }
}
