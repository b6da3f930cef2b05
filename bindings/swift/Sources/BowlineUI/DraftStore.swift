import Bowline
import Foundation
import Observation

/// Texts that were entered and not sent, by session. They survive a restart of the app.
@MainActor
@Observable
public final class DraftStore {
    /// Why drafts could not be read or written.
    public private(set) var failure: Failure?
    private var texts: [String: String]
    @ObservationIgnored private let file: DraftFile?
    @ObservationIgnored private var writing: Task<Void, Never>?
    @ObservationIgnored private var isDirty = false

    /// Reads the drafts of a file.
    ///
    /// A file that cannot be read is reported by ``failure`` and is replaced when a draft changes.
    ///
    /// - Parameter url: The file; `nil` to keep drafts in memory only.
    public static func open(_ url: URL?) async -> DraftStore {
        guard let url else { return DraftStore(texts: [:], file: nil, failure: nil) }
        let file = DraftFile(url: url)
        do {
            return DraftStore(texts: try await file.read(), file: file, failure: nil)
        } catch {
            let reason = "read the drafts in \(url.path): \(error.localizedDescription); remove the file"
            return DraftStore(texts: [:], file: file, failure: Failure(BowlineError.Io(reason: reason)))
        }
    }

    private init(texts: [String: String], file: DraftFile?, failure: Failure?) {
        (self.texts, self.file, self.failure) = (texts, file, failure)
    }

    /// The draft of a session; empty if there is none. Setting it writes the file soon, off the main
    /// actor.
    public subscript(session: String) -> String {
        get { texts[session] ?? "" }
        set {
            guard newValue != texts[session] ?? "" else { return }
            texts[session] = newValue.isEmpty ? nil : newValue
            isDirty = true
            write()
        }
    }

    /// Removes the drafts of sessions that are not in a list.
    ///
    /// - Parameter sessions: The ids of the sessions.
    public func keep(only sessions: some Sequence<String>) {
        let kept = Set(sessions)
        for session in texts.keys where !kept.contains(session) { self[session] = "" }
    }

    /// Waits until all drafts are written. Call it before the app exits.
    public func flush() async {
        await writing?.value
    }

    /// Removes the failure.
    public func dismissFailure() {
        failure = nil
    }

    /// Writes the newest drafts until there are no newer ones. Changes during a write cause one more.
    private func write() {
        guard let file, writing == nil else { return }
        writing = Task {
            while isDirty {
                isDirty = false
                do {
                    try await file.write(texts)
                } catch {
                    let reason = "write the drafts to \(file.url.path): \(error.localizedDescription); "
                        + "check the folder and its permissions"
                    failure = Failure(BowlineError.Io(reason: reason))
                }
            }
            writing = nil
        }
    }
}

private actor DraftFile {
    nonisolated let url: URL

    init(url: URL) {
        self.url = url
    }

    func read() throws -> [String: String] {
        guard FileManager.default.fileExists(atPath: url.path) else { return [:] }
        return try JSONDecoder().decode([String: String].self, from: Data(contentsOf: url))
    }

    func write(_ texts: [String: String]) throws {
        try JSONEncoder().encode(texts).write(to: url, options: .atomic)
    }
}
