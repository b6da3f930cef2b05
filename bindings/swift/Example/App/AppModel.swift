#if canImport(SwiftUI)
    import Bowline
    import BowlineUI
    import Foundation
    import Observation

    /// The sessions of the app, what they begin with, and the reports about them.
    ///
    /// With `BOWLINE_RUNNER` and `BOWLINE_TOKEN` in the environment, agents run at that runner and survive the app.
    @MainActor
    @Observable
    final class AppModel {
        private(set) var list: SessionListStore?
        private(set) var failure: Failure?
        /// The newest hook events of all sessions, such as `PreToolUse`.
        private(set) var hookEvents: [String] = []
        private var manager: SessionManager?
        private var hooks: HookServer?
        private var folder = URL(fileURLWithPath: NSTemporaryDirectory())
        private let runner: RunnerConfiguration?

        init() {
            let variables = ProcessInfo.processInfo.environment
            runner = variables["BOWLINE_RUNNER"].map {
                RunnerConfiguration(url: $0, token: variables["BOWLINE_TOKEN"])
            }
        }

        /// Opens the list of sessions and the drafts, once, and attaches to the sessions at the runner.
        func open() async {
            guard list == nil else { return }
            do {
                folder = try FileManager.default.url(
                    for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil,
                    create: true
                ).appendingPathComponent("Bowline Example", isDirectory: true)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let state = folder.appendingPathComponent("sessions", isDirectory: true).path
                let engine = try Engine.make(program: CommandLine.arguments.dropFirst().first)
                let manager = try await engine.openManager(
                    configuration: ManagerConfiguration(stateDirectory: state))
                let report = try await manager.reattach(runners: runner.map { [$0] } ?? [])
                hooks = try await engine.startHooks(configuration: HookConfiguration())
                let drafts = await DraftStore.open(folder.appendingPathComponent("drafts.json"))
                drafts.keep(only: try manager.sessions().map(\.id))
                let inbox = InboxStore(engine: engine, answeredBy: NSFullUserName())
                list = SessionListStore(manager: manager, drafts: drafts, inbox: inbox)
                self.manager = manager
                // Sessions that could not be attached to stay in the list.
                failure = report.failed.first.map { Failure(BowlineError.Disconnected(reason: $0.reason)) }
            } catch {
                failure = Failure(error)
            }
        }

        /// Starts an agent in a folder: with the rules of its file `policy.toml`, if there is one, with a limit of the
        /// cost, and with hooks that are events of this app.
        func create(in project: URL) async {
            guard let list, let hooks else { return }
            var configuration = DialogueConfiguration(
                cwd: project.path, budget: Budget(costUsd: 5), resumeAtReset: "Continue.")
            let rules = project.appendingPathComponent("policy.toml").path
            if FileManager.default.fileExists(atPath: rules) { configuration.policy = .file(path: rules) }
            do {
                let interaction = UUID().uuidString
                if let runner {
                    configuration.runner = runner
                    configuration.hooks = try hooks.spec(interaction: interaction)
                } else {
                    let settings = AgentDocument.private(json: try hooks.settings(interaction: interaction))
                    configuration.options = AgentOptions(settings: settings)
                    configuration.environment = EnvironmentChanges(
                        set: try hooks.environment(interaction: interaction))
                }
                let created = await list.create(configuration, label: project.lastPathComponent)
                if let runner, let session = created?.runner?.session {
                    try await hooks.serve(runner: runner, session: session)
                }
            } catch {
                failure = Failure(error)
            }
        }

        /// Follows the inbox and the hooks until the task is cancelled.
        func follow() async {
            guard let list, let hooks else { return }
            async let inbox: Void? = list.inbox?.follow()
            do {
                for try await batch in try hooks.events() {
                    let kinds = batch.events.compactMap { if case .event(let event) = $0 { event.kind } else { nil } }
                    hookEvents = (hookEvents + kinds).suffix(20)
                }
            } catch {
                failure = Failure(error)
            }
            await inbox
        }

        /// Writes what is known of a session into a file, without secrets, prompts and answers.
        ///
        /// - Returns: The file; `nil` if it failed, with ``failure``.
        func report(on session: String) async -> URL? {
            guard let manager else { return nil }
            let file = folder.appendingPathComponent("report-\(UUID().uuidString).tar.gz")
            do {
                try await manager.dialogue(id: session).diagnostics(path: file.path, redaction: .content)
                return file
            } catch {
                failure = Failure(error)
                return nil
            }
        }

        /// Returns the bytes of an agent's output, from the oldest that are kept, for an inspector or a terminal view.
        func rawOutput(of session: String) throws -> AsyncThrowingStream<RawBatch, any Error>? {
            try manager?.dialogue(id: session).rawOutput()
        }

        func dismissFailure() {
            failure = nil
        }
    }
#endif
