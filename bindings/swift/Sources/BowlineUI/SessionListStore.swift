import Bowline
import Observation

/// The list of a manager's sessions, with its actions.
///
/// Renaming and ending a session can be undone: an ended session whose agent keeps conversations is resumed.
@MainActor
@Observable
public final class SessionListStore {
    /// An action that can be undone.
    public enum Action: Sendable, Equatable {
        /// A session got another label.
        case rename(session: String, from: String, to: String)
        /// A session was ended.
        case end(session: String, label: String)

        /// The id of the session.
        var session: String {
            switch self {
            case .rename(let session, _, _), .end(let session, _): session
            }
        }

        /// The name of the action, for a menu.
        public var name: String {
            switch self {
            case .rename(_, _, let label): "Rename to “\(label)”"
            case .end(_, let label): "End “\(label)”"
            }
        }
    }

    /// The sessions, oldest first.
    public private(set) var sessions: [ManagedSession] = []
    /// Whether the list is updated.
    public private(set) var following = Following.paused
    /// Why the last action failed.
    public private(set) var failure: Failure?
    /// The actions to undo and to do again.
    public private(set) var history = UndoHistory<Action>()
    /// The id of the selected session.
    public var selection: String?
    /// The drafts of all sessions.
    public let drafts: DraftStore
    /// The open requests of all sessions, and what else needs attention, if the list shows them.
    public let inbox: InboxStore?
    private let manager: SessionManager
    private let configuration: @Sendable (ManagedSession) -> DialogueConfiguration
    @ObservationIgnored private var stores: [String: SessionStore] = [:]
    /// The ids that the inbox has for running dialogues, by those of the list.
    private var inboxIds: [String: String] = [:]
    /// The ids of the notices that were read, by session.
    private var readNotices: [String: String] = [:]

    /// Creates a store of a manager's sessions.
    ///
    /// - Parameters:
    ///   - manager: The manager.
    ///   - drafts: The drafts of all sessions.
    ///   - inbox: The inbox of the engine that opened the manager, to show which sessions need attention.
    ///   - configuration: The configuration to resume a session with. The default is that of its folder.
    public init(
        manager: SessionManager, drafts: DraftStore, inbox: InboxStore? = nil,
        configuration: @escaping @Sendable (ManagedSession) -> DialogueConfiguration = {
            DialogueConfiguration(cwd: $0.cwd)
        }
    ) {
        (self.manager, self.drafts, self.inbox) = (manager, drafts, inbox)
        self.configuration = configuration
    }

    /// Keeps the list current until the manager is shut down or the task is cancelled. Errors are
    /// reported by ``following``.
    ///
    /// - Parameter coalesceFor: How long to wait for further changes after the first one of an update.
    public nonisolated func follow(coalesceFor: Duration = .milliseconds(50)) async {
        do {
            let events = try manager.events(coalesceFor: coalesceFor)
            await loadReadNotices(try manager.sessions())
            await update(try manager.sessions())
            for try await batch in events where batch.events.contains(where: changesList) {
                await update(try manager.sessions())
            }
            await end(Task.isCancelled ? .paused : .ended)
        } catch {
            await end(error is CancellationError ? .paused : .failed(Failure(error).error))
        }
    }

    /// Starts an agent and selects its session.
    ///
    /// - Parameters:
    ///   - configuration: The agent's configuration.
    ///   - label: The label in the list.
    /// - Returns: The session; `nil` if it failed, with ``failure``.
    @discardableResult
    public func create(
        _ configuration: DialogueConfiguration, label: String
    ) async -> ManagedSession? {
        let created = await run {
            try await $0.createDialogue(configuration: configuration, label: label)
        }
        if let created { selection = created.id }
        return created
    }

    /// Changes the label of a session.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - label: The new label.
    public func rename(_ session: ManagedSession, to label: String) async {
        guard label != session.label else { return }
        await perform(.rename(session: session.id, from: session.label, to: label))
    }

    /// Terminates the program of a session. The session stays in the list.
    ///
    /// - Parameter session: The session.
    public func end(_ session: ManagedSession) async {
        await perform(.end(session: session.id, label: session.label))
    }

    /// Removes a session from the list, and terminates it if it is running. This cannot be undone.
    ///
    /// - Parameter session: The session.
    public func remove(_ session: ManagedSession) async {
        if await run({ try await $0.kill(id: session.id) }) != nil {
            history.drop { $0.session == session.id }
        }
    }

    /// Resumes the conversation of an ended session.
    ///
    /// - Parameter session: The session.
    /// - Returns: Whether it is running; otherwise ``failure`` says why not.
    @discardableResult
    public func resume(_ session: ManagedSession) async -> Bool {
        let isResumed = await run { [configuration] in
            try await $0.resume(id: session.id, configuration: configuration(session))
        } != nil
        // The store is that of the session that has ended.
        if isResumed { stores[session.id] = nil }
        return isResumed
    }

    /// Undoes the newest action. If it fails, the action remains in the history.
    public func undo() async {
        guard let action = history.done.last else { return }
        if await revert(action) { history.didUndo() }
    }

    /// Does the newest undone action again. If it fails, the action remains in the history.
    public func redo() async {
        guard let action = history.undone.last else { return }
        if await run({ try await Self.apply(action, $0) }) != nil { history.didRedo() }
    }

    /// Removes the failure.
    public func dismissFailure() {
        failure = nil
    }

    /// Returns the store of a running dialogue, the same one each time until the session has ended.
    ///
    /// - Parameter id: The session's id.
    /// - Returns: The store; `nil` if the session is a shell, or has ended before it was opened.
    public func store(of id: String) -> SessionStore? {
        if let known = stores[id] { return known }
        let session = sessions.first { $0.id == id }
        guard session?.kind == .dialogue, session?.state != .terminated,
            let dialogue = try? manager.dialogue(id: id)
        else { return nil }
        let store = SessionStore(session: dialogue, id: id, drafts: drafts)
        stores[id] = store
        return store
    }

    /// Returns the open requests of a session, from the inbox.
    ///
    /// - Parameter session: The session.
    public func openRequests(of session: ManagedSession) -> [SessionPermission] {
        inboxIds[session.id].flatMap { inbox?.open(of: $0) } ?? []
    }

    /// Returns why a session needs attention, from the inbox.
    ///
    /// - Parameter session: The session.
    public func notice(of session: ManagedSession) -> InboxStore.Notice? {
        inboxIds[session.id].flatMap { inbox?.notices[$0] }
    }

    /// Whether a session has a notice that was not read, also over restarts of the app.
    ///
    /// - Parameter session: The session.
    public func isUnread(_ session: ManagedSession) -> Bool {
        guard let notice = notice(of: session) else { return false }
        return readNotices[session.id] != notice.id
    }

    /// Marks the notice of a session as read. The mark is kept in the member `readNotice` of the session's metadata,
    /// a JSON object, whose other members stay as they are.
    ///
    /// - Parameter session: The session.
    public func markRead(_ session: ManagedSession) async {
        guard isUnread(session), let notice = notice(of: session) else { return }
        let former = readNotices[session.id]
        readNotices[session.id] = notice.id
        let marked = await attempt { [manager] in
            let metadata = try SessionMetadata(text: await manager.metadata(id: session.id))
            try await manager.setMetadata(id: session.id, metadata: metadata.marked(notice.id))
        }
        if let failed = marked.failure { (failure, readNotices[session.id]) = (failed, former) }
    }

    /// Ends all sessions, also those at runners, and closes the list. Call it before the app exits.
    public func endAll() async {
        await shutDown { try await $0.endAll() }
    }

    /// Closes the list: sessions at runners continue, and `SessionManager.reattach` finds them again; the others end.
    /// Call it before the app exits.
    public func detachAll() async {
        await shutDown { try await $0.detachAll() }
    }

    private func shutDown(_ action: @Sendable (SessionManager) async throws -> ShutdownReport) async {
        if let reason = await run(action)?.listError { failure = Failure(BowlineError.Io(reason: reason)) }
        await drafts.flush()
    }

    /// Reads which notices an earlier run of the app has marked.
    private nonisolated func loadReadNotices(_ sessions: [ManagedSession]) async {
        for session in sessions {
            guard let text = try? await manager.metadata(id: session.id),
                let notice = try? SessionMetadata(text: text).readNotice
            else { continue }
            await setReadNotice(notice, of: session.id)
        }
    }

    private func setReadNotice(_ notice: String, of session: String) {
        readNotices[session] = notice
    }

    private nonisolated func changesList(_ event: SessionEvent) -> Bool {
        switch event {
        case .output, .gap, .lagged: false
        default: true
        }
    }

    private func update(_ sessions: [ManagedSession]) {
        if following != .active { following = .active }
        if self.sessions != sessions { self.sessions = sessions }
        let ids = Set(sessions.map(\.id))
        for id in stores.keys where !ids.contains(id) { stores[id] = nil }
        for id in readNotices.keys where !ids.contains(id) { readNotices[id] = nil }
        if inbox != nil { inboxIds = knownIds(of: sessions) }
        if let selection, !ids.contains(selection) { self.selection = nil }
    }

    /// A dialogue that has ended keeps its id, since it may have failed.
    private func knownIds(of sessions: [ManagedSession]) -> [String: String] {
        var known: [String: String] = [:]
        for session in sessions where session.kind == .dialogue {
            let running = session.state == .terminated ? nil : try? manager.dialogue(id: session.id).id()
            known[session.id] = running ?? inboxIds[session.id]
        }
        return known
    }

    private func end(_ state: Following) {
        following = state
    }

    private func perform(_ action: Action) async {
        if await run({ try await Self.apply(action, $0) }) != nil { history.record(action) }
    }

    private func revert(_ action: Action) async -> Bool {
        switch action {
        case .rename(let session, let label, let newer):
            return await run {
                try await Self.apply(.rename(session: session, from: newer, to: label), $0)
            } != nil
        case .end(let id, _):
            guard let session = sessions.first(where: { $0.id == id }) else { return false }
            return await resume(session)
        }
    }

    private nonisolated static func apply(_ action: Action, _ manager: SessionManager) async throws {
        switch action {
        case .rename(let session, _, let label): try manager.setLabel(id: session, label: label)
        case .end(let id, _):
            if try manager.session(id: id)?.kind == .shell {
                _ = try await manager.shell(id: id).terminate()
            } else {
                _ = try await manager.dialogue(id: id).terminate()
            }
        }
    }

    /// Runs an action off the main actor and reads the list. Returns nothing if it failed.
    private func run<Value: Sendable>(
        _ action: @Sendable (SessionManager) async throws -> Value
    ) async -> Value? {
        let done = await attempt { [manager] in try await action(manager) }
        failure = done.failure
        if let sessions = await attempt({ [manager] in try manager.sessions() }).value { update(sessions) }
        return done.value
    }
}
