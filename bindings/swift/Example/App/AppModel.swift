import Bowline
import BowlineUI
import Foundation
import Observation

/// What the app begins with.
struct AppSettings: Sendable {
    /// The agent; `claude` if absent.
    var program: String?
    /// The folder of the list, the drafts and the reports.
    var folder: URL
    /// Where agents run and survive the app; this machine if absent.
    var runner: RunnerConfiguration?
    /// The URL of a backend that the events of hooks are forwarded to.
    var backend: String?
    /// The file of its token.
    var backendToken: URL?

    /// The settings of the process: the first argument, and `BOWLINE_RUNNER`, `BOWLINE_TOKEN`, `BOWLINE_BACKEND`
    /// and `BOWLINE_BACKEND_TOKEN_FILE` in its environment.
    static func ofProcess() throws -> AppSettings {
        let variables = ProcessInfo.processInfo.environment
        let support = try FileManager.default.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        return AppSettings(
            program: CommandLine.arguments.dropFirst().first,
            folder: support.appendingPathComponent("Bowline Example", isDirectory: true),
            runner: variables["BOWLINE_RUNNER"].map {
                RunnerConfiguration(url: $0, token: variables["BOWLINE_TOKEN"])
            },
            backend: variables["BOWLINE_BACKEND"],
            backendToken: variables["BOWLINE_BACKEND_TOKEN_FILE"].map { URL(fileURLWithPath: $0) })
    }
}

/// The sessions of the app, and what they begin with.
@MainActor
@Observable
final class AppModel {
    private(set) var list: SessionListStore?
    private(set) var failure: Failure?
    /// The hooks of the sessions, by the id of the session.
    private(set) var hooks: [String: HookStore] = [:]
    private var engine: Engine?
    private var settings: AppSettings?

    /// Creates a model without sessions, with the settings of the process unless others are given.
    init(settings: AppSettings? = nil) {
        self.settings = settings
    }

    /// Opens the list of sessions and the drafts, once, and attaches to the sessions at the runner.
    func open() async {
        guard list == nil else { return }
        do {
            let settings = try self.settings ?? .ofProcess()
            let folder = settings.folder
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let engine = try Engine.make(program: settings.program)
            // All sessions of a run of the app together pause at this limit and ask.
            let configuration = ManagerConfiguration(
                stateDirectory: folder.appendingPathComponent("sessions", isDirectory: true).path,
                budget: Budget(costUsd: 50))
            let manager = try await engine.openManager(configuration: configuration)
            let report = try await manager.reattach(runners: settings.runner.map { [$0] } ?? [])
            let drafts = await DraftStore.open(folder.appendingPathComponent("drafts.json"))
            drafts.keep(only: try manager.sessions().map(\.id))
            let inbox = InboxStore(engine: engine, answeredBy: NSFullUserName())
            (self.settings, self.engine) = (settings, engine)
            list = SessionListStore(manager: manager, drafts: drafts, inbox: inbox)
            // Sessions that could not be attached to stay in the list.
            failure = report.failed.first.map { Failure(BowlineError.Disconnected(reason: $0.reason)) }
            for session in try manager.sessions() where report.attached.contains(session.id) {
                await serve(try await startHooks(session.label), of: session, hasPast: true)
            }
        } catch {
            failure = Failure(error)
        }
    }

    /// Starts an agent in a folder: with the rules of its file `policy.toml`, if there is one, with a limit of the
    /// cost, and with hooks.
    func create(in project: URL) async {
        guard let list else { return }
        await stopHooksOfEndedSessions(list)
        let label = project.lastPathComponent
        var configuration = DialogueConfiguration(
            runner: settings?.runner, cwd: project.path, budget: Budget(costUsd: 5), resumeAtReset: "Continue.")
        let rules = project.appendingPathComponent("policy.toml").path
        if FileManager.default.fileExists(atPath: rules) { configuration.policy = .file(path: rules) }
        do {
            let hooks = try await startHooks(label)
            let hooked = try hooks.adding(to: configuration)
            // If it fails, the list has the failure.
            guard let session = await list.create(hooked, label: label) else { return }
            await serve(hooks, of: session)
        } catch {
            failure = Failure(error)
        }
    }

    /// Starts a server for the hooks of a session. Existing hook scripts post to the URL in `BOWLINE_HOOK_URL` without
    /// a token; all events are forwarded to the backend, if there is one.
    private func startHooks(_ label: String) async throws -> HookStore {
        guard let engine, let settings else {
            throw BowlineError.Ended(reason: "start hooks: the list is not open; open it first")
        }
        var configuration = HookConfiguration(secretPath: true)
        if let url = settings.backend {
            let tokens = settings.backendToken.map(FileTokens.init(file:))
            configuration.backend = HookBackend(url: url, sessionId: label, tokenProvider: tokens)
        }
        return try await HookStore.start(engine, configuration)
    }

    /// Receives the hooks of a session until it ends.
    private func serve(_ store: HookStore, of session: ManagedSession, hasPast: Bool = false) async {
        hooks[session.id] = store
        guard let runner = settings?.runner, let location = session.runner else { return }
        do {
            try await store.serve(location, at: runner, hasPast: hasPast)
        } catch {
            failure = Failure(error)
        }
    }

    private func stopHooksOfEndedSessions(_ list: SessionListStore) async {
        let running = list.sessions.filter { $0.state != .terminated }.map(\.id)
        for id in hooks.keys where !running.contains(id) { await hooks.removeValue(forKey: id)?.stop() }
    }

    /// Follows the inbox until the task is cancelled, and notifies the user of what needs attention.
    func follow(notify: @escaping @MainActor (InboxStore.Notice) -> Void = { _ in }) async {
        await list?.inbox?.follow(notify: notify)
    }

    /// Writes what is known of a session into a file, without secrets, prompts and answers.
    ///
    /// - Returns: The file; `nil` if it failed, with the store's failure.
    func report(on session: SessionStore) async -> URL? {
        guard let folder = settings?.folder else { return nil }
        let file = folder.appendingPathComponent("report-\(UUID().uuidString).tar.gz")
        return await session.writeReport(to: file) ? file : nil
    }

    /// Lets go of the sessions before the app exits: those at the runner continue, unless all are to end.
    func close(endsAll: Bool = false) async {
        if endsAll { await list?.endAll() } else { await list?.detachAll() }
        for store in hooks.values { await store.stop() }
        hooks = [:]
    }

    func dismissFailure() {
        failure = nil
    }
}

/// Reads the token from a file for each attempt, so that a renewed one is used from then on.
final class FileTokens: TokenProvider {
    private let file: URL

    init(file: URL) {
        self.file = file
    }

    func token(wasRefused: Bool) throws -> String? {
        do {
            return try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        } catch {
            throw BowlineError.Host(reason: "read the token in \(file.path): \(error.localizedDescription)")
        }
    }
}
