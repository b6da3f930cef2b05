import Bowline
import Observation

/// The connection of a session to the machine of its agent.
///
/// ```swift
/// if let banner = store.banner { ConnectionBanner(banner) { Task { await store.retry() } } }
/// ```
@MainActor
@Observable
public final class ConnectionStore {
    /// The state of the connection. A local agent is always connected.
    public private(set) var state = ConnectionView.connected
    /// Whether the state is updated.
    public private(set) var following = Following.paused
    /// Why the last retry failed.
    public private(set) var failure: Failure?
    private var session: DialogueSession?

    /// What to show while the connection is down.
    public enum Banner: Sendable, Equatable {
        /// The connection is being restored.
        case reconnecting(attempt: UInt32)
        /// The connection was given up.
        case failed(reason: String, canRetry: Bool)
    }

    /// Creates a store of a connected session.
    public nonisolated init() {}

    /// What to show about the connection; `nil` while it is up.
    public var banner: Banner? {
        switch state {
        case .connected, .reconnected: nil
        case .reconnecting(let attempt): .reconnecting(attempt: attempt)
        case .failed(let reason, let canRetry): .failed(reason: reason, canRetry: canRetry)
        }
    }

    /// Follows the connection of a session until the session ends or the task is cancelled. Errors are
    /// reported by ``following``.
    ///
    /// - Parameter session: The session.
    public nonisolated func follow(_ session: DialogueSession) async {
        do {
            for try await state in try session.connectionStates() { await update(state, of: session) }
            await end(Task.isCancelled ? .paused : .ended)
        } catch {
            await end(error is CancellationError ? .paused : .failed(Failure(error).error))
        }
    }

    /// Tries again to restore a connection that was given up.
    public func retry() async {
        guard let session else { return }
        failure = await attempt { try session.retry() }.failure
    }

    /// Removes the failure.
    public func dismissFailure() {
        failure = nil
    }

    private func update(_ state: ConnectionView, of session: DialogueSession) {
        if self.session !== session { self.session = session }
        if following != .active { following = .active }
        if self.state != state { self.state = state }
    }

    private func end(_ state: Following) {
        following = state
    }
}
