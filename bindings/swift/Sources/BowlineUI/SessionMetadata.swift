import Bowline
import Foundation

/// The metadata of a session, a JSON object. The list of sessions has one member; the others are the app's.
struct SessionMetadata {
    private static let member = "readNotice"
    private var members: [String: Any] = [:]

    /// Reads metadata. Throws ``BowlineError/Invalid(reason:)`` if it is not a JSON object.
    init(text: String?) throws {
        guard let text, !text.isEmpty else { return }
        let parsed = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        guard let members = parsed as? [String: Any] else {
            throw BowlineError.Invalid(
                reason: "mark the session as read: its metadata is not a JSON object; store one")
        }
        self.members = members
    }

    /// The id of the notice that was read.
    var readNotice: String? {
        members[Self.member] as? String
    }

    /// Returns the text of the metadata with a notice as the one that was read.
    func marked(_ notice: String) throws -> String {
        let marked = members.merging([Self.member: notice]) { _, new in new }
        let data = try JSONSerialization.data(withJSONObject: marked, options: [.sortedKeys])
        return String(decoding: data, as: UTF8.self)
    }
}
