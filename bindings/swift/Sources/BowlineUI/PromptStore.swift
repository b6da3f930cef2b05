import Bowline
import Observation

/// The prompt box of a session: its draft and the prompts that wait for an answer.
@MainActor
@Observable
public final class PromptStore {
    /// A prompt that the session has accepted.
    public struct Sent: Sendable, Equatable, Identifiable {
        /// The prompt's UUID.
        public let id: String
        /// The text.
        public let text: String
        /// The state of the prompt.
        public internal(set) var state: ReceiptState
    }

    /// Whether a prompt is being sent.
    public private(set) var isSending = false
    /// The prompts that have no answer yet, oldest first.
    public private(set) var waiting: [Sent] = []
    /// Why the last prompt was not sent. Its text is in ``draft``.
    public private(set) var failure: Failure?
    private let session: DialogueSession
    private let id: String
    private let drafts: DraftStore
    /// The draft before it was cleared.
    private var cleared: String?

    /// Creates the prompt box of a session.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - id: The id of the session in `drafts`.
    ///   - drafts: The drafts of all sessions.
    public init(session: DialogueSession, id: String, drafts: DraftStore) {
        (self.session, self.id, self.drafts) = (session, id, drafts)
    }

    /// The text that was entered and not sent.
    public var draft: String {
        get { drafts[id] }
        set { drafts[id] = newValue }
    }

    /// Whether ``send()`` would send the draft.
    public var canSend: Bool {
        !isSending && draft.contains { !$0.isWhitespace }
    }

    /// Whether ``undoClear()`` would restore a draft.
    public var canUndoClear: Bool { cleared != nil && draft.isEmpty }

    /// Sends the draft. A failed prompt becomes the draft again, before what was entered meanwhile.
    public func send() async {
        guard canSend else { return }
        let text = draft
        isSending = true
        draft = ""
        let sent = await attempt { [session] in
            let receipt = try await session.send(text)
            return (receipt, Sent(id: try receipt.uuid(), text: text, state: try receipt.state()))
        }
        failure = sent.failure
        if let (receipt, prompt) = sent.value {
            waiting.append(prompt)
            Task { [weak self] in
                await Self.follow(receipt) { [weak self] in self?.set($0, of: prompt.id) }
            }
        } else {
            draft = draft.isEmpty ? text : "\(text)\n\(draft)"
        }
        isSending = false
    }

    /// Empties the draft. ``undoClear()`` restores it.
    public func clear() {
        guard !draft.isEmpty else { return }
        cleared = draft
        draft = ""
    }

    /// Restores the draft that ``clear()`` has emptied, unless another one was entered.
    public func undoClear() {
        guard canUndoClear, let cleared else { return }
        draft = cleared
        self.cleared = nil
    }

    /// Interrupts the current turn.
    public func interrupt() async {
        failure = await attempt { [session] in try await session.interrupt() }.failure
    }

    /// Removes the failure.
    public func dismissFailure() {
        failure = nil
    }

    /// Tracks a prompt without keeping the store alive, which would keep the session.
    private nonisolated static func follow(
        _ receipt: Receipt, _ update: @MainActor @Sendable (ReceiptState?) -> Void
    ) async {
        for state in [ReceiptState.written, .echoed, .started, .answered] {
            guard let reached = try? await receipt.waitFor(state) else { break }
            await update(reached)
        }
        await update(nil)
    }

    private func set(_ state: ReceiptState?, of id: String) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        guard let state else {
            waiting.remove(at: index)
            return
        }
        if waiting[index].state != state { waiting[index].state = state }
    }
}
