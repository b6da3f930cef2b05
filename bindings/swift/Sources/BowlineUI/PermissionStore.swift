import Bowline
import Foundation
import Observation

/// The open permission requests of a session, and the answers that are being given.
@MainActor
@Observable
public final class PermissionStore {
    /// What has been entered about a request and not been sent.
    public struct Draft: Sendable, Equatable {
        /// The chosen values by the id of their question.
        public var chosen: [String: [String]] = [:]
        /// The texts by the id of their question.
        private var texts: [String: String] = [:]
        /// The reason of a denial, for the model.
        public var reason = ""

        /// Creates an empty draft.
        public init() {}

        /// The text that answers a question; empty if there is none.
        public subscript(text question: String) -> String {
            get { texts[question] ?? "" }
            set { texts[question] = newValue }
        }

        /// Chooses a value, or takes the choice back. A question with a single answer keeps the last one.
        ///
        /// - Parameters:
        ///   - value: The value of one of the question's choices.
        ///   - question: The question.
        public mutating func toggle(_ value: String, of question: RequestQuestion) {
            var values = chosen[question.id] ?? []
            if let index = values.firstIndex(of: value) {
                values.remove(at: index)
            } else if question.kind == .multiple {
                values.append(value)
            } else {
                values = [value]
            }
            chosen[question.id] = values
        }

        /// The answers, or `nil` while a question has none. A text takes precedence over a choice.
        ///
        /// - Parameter questions: The request's questions.
        public func answers(to questions: [RequestQuestion]) -> [QuestionAnswer]? {
            let answers = questions.compactMap { question -> QuestionAnswer? in
                let text = self[text: question.id]
                // Choices are in the order of the question.
                let values = question.options.map(\.value)
                    .filter { chosen[question.id]?.contains($0) == true }
                let answer = text.isEmpty ? values.joined(separator: ", ") : text
                return answer.isEmpty ? nil : QuestionAnswer(question: question.id, answer: answer)
            }
            return answers.count == questions.count ? answers : nil
        }
    }

    private var drafts: [String: Draft] = [:]
    private var answers = SentAnswers<String>()
    private let transcript: TranscriptStore
    private let session: DialogueSession
    private let answeredBy: String?

    /// Creates a store of a session's requests.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - transcript: The store that follows the session.
    ///   - answeredBy: The name of the person or app that answers, for the permission record.
    public init(session: DialogueSession, transcript: TranscriptStore, answeredBy: String? = nil) {
        (self.session, self.transcript, self.answeredBy) = (session, transcript, answeredBy)
    }

    /// Failed answers by request id.
    public var failures: [String: Failure] { answers.failures }

    /// What has been entered about a request and not been sent, by the request's id.
    public subscript(draft request: String) -> Draft {
        get { drafts[request] ?? Draft() }
        set { drafts[request] = newValue }
    }

    /// The requests that wait for an answer, oldest first. A request whose answer is being sent is not
    /// among them; it returns if the answer fails.
    public var open: [PermissionView] {
        transcript.transcript.permissions.filter {
            $0.state == .open && !answers.isSent($0.requestId)
        }
    }

    /// Whether all questions of a request have an answer.
    ///
    /// - Parameter request: The request.
    public func isComplete(_ request: PermissionView) -> Bool {
        self[draft: request.requestId].answers(to: request.questions) != nil
    }

    /// Chooses one of a request's options. A rejection has the draft's reason, if there is one.
    ///
    /// - Parameters:
    ///   - option: The option.
    ///   - request: The request.
    public func choose(_ option: RequestOption, for request: PermissionView) async {
        let reason = self[draft: request.requestId].reason
        if option.kind == .rejectOnce, !reason.isEmpty {
            await respond(.deny(reason: reason, interrupt: false), to: request)
        } else {
            await respond(.choose(option: option.id), to: request)
        }
    }

    /// Sends the answers to a request's questions, if all have one.
    ///
    /// - Parameter request: The request.
    public func answer(_ request: PermissionView) async {
        guard let answers = self[draft: request.requestId].answers(to: request.questions) else { return }
        await respond(.answers(answers: answers), to: request)
    }

    /// Gives no answer to a request.
    ///
    /// - Parameter request: The request.
    public func dismiss(_ request: PermissionView) async {
        await respond(.dismiss, to: request)
    }

    /// Sends an answer, unless one is being sent.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - request: The request.
    public func respond(_ answer: PermissionAnswer, to request: PermissionView) async {
        let id = request.requestId
        guard answers.begin(id) else { return }
        let sent: (Void?, failure: Failure?) = await attempt { [session, answeredBy] in
            try await session.respond(requestId: id, answer: answer, answeredBy: answeredBy)
        }
        answers.end(id, isSent: sent.0 != nil, failure: sent.failure)
        if sent.0 != nil { drafts[id] = nil }
    }
}

extension PermissionView {
    /// The plan that the request asks to approve, in Markdown.
    public var plan: String? {
        guard let input, let object = try? JSONSerialization.jsonObject(with: Data(input.utf8)) else {
            return nil
        }
        return (object as? [String: Any])?["plan"] as? String
    }
}
