import Bowline
import Foundation
import Observation

/// The hooks of a session's agent: a server that receives them, and the newest events.
///
/// ```swift
/// let hooks = try await HookStore.start(engine, HookConfiguration())
/// let configuration = try hooks.adding(to: DialogueConfiguration(cwd: "/some/project"))
/// ```
///
/// Releasing the store stops the server.
@MainActor
@Observable
public final class HookStore {
    /// The newest events, oldest first.
    public private(set) var events: [HookEvent] = []
    /// The number of events that are not in ``events`` any more.
    public private(set) var dropped: UInt64 = 0
    /// Why no more events are received.
    public private(set) var failure: Failure?
    private let server: HookServer
    private let limit: Int
    private let interaction = UUID().uuidString

    /// Starts a server and receives its events.
    ///
    /// - Parameters:
    ///   - engine: The engine.
    ///   - configuration: What the server receives, decides and forwards.
    ///   - limit: The maximum number of events to keep.
    /// - Throws: ``BowlineError``.
    public static func start(
        _ engine: Engine, _ configuration: HookConfiguration, limit: Int = 100
    ) async throws -> HookStore {
        let server = try await engine.startHooks(configuration: configuration)
        return HookStore(server, batches: try server.events(), limit: limit)
    }

    private init(
        _ server: HookServer, batches: AsyncThrowingStream<HookBatch, any Error>, limit: Int
    ) {
        (self.server, self.limit) = (server, max(1, limit))
        // Does not keep the store alive, which would keep the server. The stream ends with the server.
        Task { [weak self] in
            do {
                for try await batch in batches { self?.take(batch) }
            } catch {
                self?.failure = Failure(error)
            }
        }
    }

    /// Returns the configuration of a session with these hooks, on this machine or at its runner.
    ///
    /// - Parameter configuration: The configuration.
    /// - Throws: ``BowlineError``; ``BowlineError/Configuration(reason:)`` if it has settings of its own, which
    ///   `mergeSettings` adds hooks to.
    public func adding(to configuration: DialogueConfiguration) throws -> DialogueConfiguration {
        var hooked = configuration
        if configuration.runner != nil {
            hooked.hooks = try server.spec(interaction: interaction)
            return hooked
        }
        var options = configuration.options ?? AgentOptions()
        guard options.settings == nil else {
            throw BowlineError.Configuration(reason: "add hooks: there are other settings; call mergeSettings")
        }
        options.settings = .private(json: try server.settings(interaction: interaction))
        var changes = configuration.environment ?? EnvironmentChanges()
        changes.set.merge(try server.environment(interaction: interaction)) { _, own in own }
        (hooked.options, hooked.environment) = (options, changes)
        return hooked
    }

    /// Receives the hooks of a session at a runner, until the session ends.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - runner: The runner.
    ///   - hasPast: Whether an earlier run of the app may have received hooks of the session.
    /// - Throws: ``BowlineError``.
    public func serve(
        _ session: RunnerLocation, at runner: RunnerConfiguration, hasPast: Bool = false
    ) async throws {
        try await server.serve(runner: runner, session: session.session, hasPast: hasPast)
    }

    /// Stops the server, once events are forwarded.
    ///
    /// - Returns: The final counts; `nil` if the server was stopped before.
    @discardableResult
    public func stop() async -> HookReport? {
        try? await server.stop()
    }

    private func take(_ batch: HookBatch) {
        for item in batch.events {
            switch item {
            case .event(let event): events.append(event)
            case .lagged(let missed): dropped += missed
            }
        }
        let surplus = max(0, events.count - limit)
        events.removeFirst(surplus)
        dropped += UInt64(surplus)
    }
}
