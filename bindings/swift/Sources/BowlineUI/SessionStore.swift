import Bowline
import Foundation
import Observation

/// One session: its transcript, permission requests, connection and prompt box.
@MainActor
@Observable
public final class SessionStore: Identifiable {
    /// The id of the session in its list.
    public nonisolated let id: String
    /// The transcript.
    public let transcript: TranscriptStore
    /// The open permission requests.
    public let permissions: PermissionStore
    /// The connection to the agent's machine.
    public let connection: ConnectionStore
    /// The prompt box.
    public let prompt: PromptStore
    /// The agent's output, for an inspector. It is empty until ``followOutput()`` is called.
    public let output = OutputStore()
    private var reportFailure: Failure?
    private nonisolated let session: DialogueSession

    /// Creates the stores of a session. They are empty until ``follow()`` is called.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - id: The id of the session in its list.
    ///   - drafts: The drafts of all sessions.
    ///   - answeredBy: The name of the person or app that answers permission requests.
    public init(
        session: DialogueSession, id: String, drafts: DraftStore, answeredBy: String? = nil
    ) {
        (self.session, self.id) = (session, id)
        transcript = TranscriptStore()
        permissions = PermissionStore(
            session: session, transcript: transcript, answeredBy: answeredBy)
        connection = ConnectionStore()
        prompt = PromptStore(session: session, id: id, drafts: drafts)
    }

    /// Keeps the stores current until the session ends or the task is cancelled.
    public nonisolated func follow() async {
        let (session, transcript, connection) = (session, transcript, connection)
        async let connected: Void = connection.follow(session)
        await transcript.follow(session)
        await connected
    }

    /// Keeps ``output`` current until the session ends or the task is cancelled.
    public nonisolated func followOutput() async {
        await output.follow(session)
    }

    /// Writes what is known of the session into a new file, for a report of a problem.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - redaction: What is left out. The default is secrets, prompts, answers, and the content of tools and files.
    /// - Returns: Whether it is written; otherwise ``failure`` says why not.
    public func writeReport(to file: URL, redaction: Redaction = .content) async -> Bool {
        let done: (Void?, failure: Failure?) = await attempt { [session] in
            try await session.diagnostics(path: file.path, redaction: redaction)
        }
        reportFailure = done.failure
        return done.0 != nil
    }

    /// The newest failure of any part, to show in one place.
    public var failure: Failure? {
        prompt.failure ?? connection.failure ?? transcript.failure ?? reportFailure
    }

    /// Removes the failures of all parts.
    public func dismissFailures() {
        prompt.dismissFailure()
        connection.dismissFailure()
        transcript.dismissFailure()
        reportFailure = nil
    }
}
