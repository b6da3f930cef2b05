import Bowline
import Observation

/// The open permission requests of all sessions of the app, local and at runners, and what else needs attention.
@MainActor
@Observable
public final class InboxStore {
    /// Why a session needs attention.
    public struct Notice: Sendable, Equatable, Identifiable {
        /// Identifies the cause within the session, also after a restart: show each one once.
        public let id: String
        /// The session's id.
        public let session: String
        /// The reason.
        public let reason: AttentionReason
    }

    /// The open requests, oldest first.
    private var requests: [SessionPermission] = []
    /// Why sessions need attention, by session.
    public private(set) var notices: [String: Notice] = [:]
    /// Whether the inbox is updated.
    public private(set) var following = Following.paused
    private var answers = SentAnswers<RequestKey>()
    private let engine: Engine
    private let answeredBy: String?

    /// Creates an empty inbox.
    ///
    /// - Parameters:
    ///   - engine: The engine whose process has the sessions.
    ///   - answeredBy: The name of the person or app that answers, for the permission record.
    public init(engine: Engine, answeredBy: String? = nil) {
        (self.engine, self.answeredBy) = (engine, answeredBy)
    }

    /// Keeps the inbox current until the task is cancelled. Errors are reported by ``following``.
    ///
    /// - Parameter notify: Called with each new reason for attention, for a notification of the system.
    public nonisolated func follow(notify: @MainActor (Notice) -> Void = { _ in }) async {
        do {
            let events = try engine.inbox()
            await begin()
            for try await event in events { await take(event, notify) }
            await end(.paused)
        } catch {
            await end(error is CancellationError ? .paused : .failed(Failure(error).error))
        }
    }

    /// The requests that wait for an answer, oldest first. A request whose answer is being sent is not among them;
    /// it returns if the answer fails.
    public var open: [SessionPermission] {
        requests.filter { !answers.isSent(RequestKey($0)) }
    }

    /// The open requests of a session.
    ///
    /// - Parameter session: The session's id, as `DialogueSession.id` returns it.
    public func open(of session: String) -> [SessionPermission] {
        open.filter { $0.session == session }
    }

    /// Why the last answer to a request failed.
    ///
    /// - Parameter request: The request.
    public func failure(of request: SessionPermission) -> Failure? {
        answers.failures[RequestKey(request)]
    }

    /// Sends an answer, unless one is being sent.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - request: The request.
    public func respond(_ answer: PermissionAnswer, to request: SessionPermission) async {
        let key = RequestKey(request)
        guard answers.begin(key) else { return }
        let sent: (Void?, failure: Failure?) = await attempt { [engine, answeredBy] in
            try await engine.respond(
                session: key.session, requestId: key.request, answer: answer, answeredBy: answeredBy)
        }
        answers.end(key, isSent: sent.0 != nil, failure: sent.failure)
    }

    private func begin() {
        (requests, notices, following) = ([], [:], .active)
    }

    private func end(_ state: Following) {
        following = state
    }

    private func take(_ event: InboxEvent, _ notify: @MainActor (Notice) -> Void) {
        switch event {
        case .opened(let request): requests.append(request)
        case .closed(let request):
            let key = RequestKey(request)
            requests.removeAll { RequestKey($0) == key }
            answers.forget(key)
        case .attention(let session, let id, let reason):
            let notice = Notice(id: id, session: session, reason: reason)
            notices[session] = notice
            notify(notice)
        }
    }
}

/// Identifies a request among those of all sessions.
struct RequestKey: Hashable {
    let session: String
    let request: String

    init(_ request: SessionPermission) {
        (session, self.request) = (request.session, request.record.requestId)
    }
}
