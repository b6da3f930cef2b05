extension DialogueSession {
    /// Sends text as a prompt.
    ///
    /// - Parameters:
    ///   - text: The prompt.
    ///   - uuid: The prompt's UUID. The default is a new one.
    /// - Returns: A receipt that tracks the prompt.
    /// - Throws: ``BowlineError``, as `send(prompt:)`.
    @discardableResult
    public func send(_ text: String, uuid: String? = nil) async throws -> Receipt {
        try await send(prompt: Prompt(parts: [.text(text: text)], uuid: uuid))
    }

    /// Allows the tool of a permission request.
    ///
    /// - Parameters:
    ///   - requestId: The request's id.
    ///   - input: Arguments that replace the model's, a JSON object.
    /// - Throws: ``BowlineError``, as `respond(requestId:answer:answeredBy:)`.
    public func allow(_ requestId: String, input: String? = nil) async throws {
        let answer = PermissionAnswer.allow(updatedInput: input, updatedPermissions: nil)
        try await respond(requestId: requestId, answer: answer)
    }

    /// Denies the tool of a permission request.
    ///
    /// - Parameters:
    ///   - requestId: The request's id.
    ///   - reason: The reason, for the model.
    ///   - interrupt: Whether to end the turn as well.
    /// - Throws: ``BowlineError``, as `respond(requestId:answer:answeredBy:)`.
    public func deny(_ requestId: String, reason: String, interrupt: Bool = false) async throws {
        try await respond(requestId: requestId, answer: .deny(reason: reason, interrupt: interrupt))
    }
}

extension Receipt {
    /// Waits until the prompt reaches a state, or its final state.
    ///
    /// - Parameter state: The state.
    /// - Returns: The state that the prompt is in.
    /// - Throws: `CancellationError` if the task is cancelled. The prompt is not affected.
    public func waitFor(_ state: ReceiptState) async throws -> ReceiptState {
        try await waitFor(state: state)
    }

    /// Waits until the prompt is answered or reaches another final state.
    ///
    /// - Returns: The final state.
    /// - Throws: `CancellationError` if the task is cancelled. The prompt is not affected.
    @discardableResult
    public func waitUntilSettled() async throws -> ReceiptState {
        try await waitFor(.answered)
    }
}

extension HookServer {
    /// Waits until a question is closed: answered, past its deadline, or cancelled by the agent.
    ///
    /// - Parameter question: The question's id.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func waitForWithdrawal(of question: UInt64) async throws {
        try await waitForWithdrawal(question: question)
    }
}

extension TerminalExecutor {
    /// Runs a command and waits for its end. Cancelling the task ends the command.
    ///
    /// - Parameter command: The command.
    /// - Returns: The command's output and how it ended.
    /// - Throws: `CancellationError` if the task is cancelled; ``BowlineError`` as
    ///   `execute(command:cancellation:)`.
    public func execute(_ command: ExecutorCommand) async throws -> CommandOutcome {
        try await execute(command: command)
    }

    /// Waits until a question is closed; see ``HookServer/waitForWithdrawal(of:)``.
    ///
    /// - Parameter question: The question's id.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func waitForWithdrawal(of question: UInt64) async throws {
        try await waitForWithdrawal(question: question)
    }
}
