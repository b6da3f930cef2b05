/// Waits for something that a cancelled task must not wait for any more: the library is told, since
/// Swift does not tell it.
func waiting<Value: Sendable>(
    _ body: @Sendable (Cancellation) async throws -> Value
) async throws -> Value {
    let cancellation = Cancellation()
    do {
        return try await withTaskCancellationHandler {
            try await body(cancellation)
        } onCancel: {
            cancellation.cancel()
        }
    } catch BowlineError.Cancelled where Task.isCancelled {
        throw CancellationError()
    }
}

extension DialogueSession {
    /// Sends a text as a prompt.
    @discardableResult
    public func say(_ text: String, uuid: String? = nil) async throws -> Receipt {
        try await send(prompt: Prompt(parts: [.text(text: text)], uuid: uuid))
    }

    /// The tool may run, with the model's own arguments or with `input`, a JSON object.
    public func allow(_ requestId: String, input: String? = nil) async throws {
        let answer = PermissionAnswer.allow(updatedInput: input, updatedPermissions: nil)
        try await respond(requestId: requestId, answer: answer)
    }

    /// The tool may not run; the model is told why.
    public func deny(_ requestId: String, because reason: String, interrupt: Bool = false) async throws {
        try await respond(requestId: requestId, answer: .deny(reason: reason, interrupt: interrupt))
    }

    /// Waits for the end of the session, whoever brings it about.
    ///
    /// - Throws: `CancellationError` when the task is cancelled. The session goes on.
    public func untilEnded() async throws -> Ended {
        try await waiting { try await self.ended(cancellation: $0) }
    }

    /// Keeps prompts back from now on, and returns when the agent has answered those that it has.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func paused() async throws {
        try await waiting { try await self.pause(cancellation: $0) }
    }
}

extension Receipt {
    /// Waits until the prompt has come at least this far, or will not come further.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func reaches(_ state: ReceiptState) async throws -> ReceiptState {
        try await waiting { try await self.reached(state: state, cancellation: $0) }
    }

    /// Waits until nothing more will come of the prompt.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func settled() async throws -> ReceiptState {
        try await reaches(.answered)
    }
}

extension ShellSession {
    /// Waits for the program's end.
    ///
    /// - Throws: `CancellationError` when the task is cancelled. The program goes on.
    public func exit() async throws -> ExitView {
        try await waiting { try await self.exited(cancellation: $0) }
    }
}

extension TerminalExecutor {
    /// Runs a command to its end. Cancelling the task ends the command.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func run(_ command: ExecutorCommand) async throws -> CommandOutcome {
        try await waiting { try await self.execute(command: command, cancellation: $0) }
    }
}

extension HookServer {
    /// Waits until a question does not wait any more: it was answered, its time has passed, or the
    /// agent has gone away.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func untilWithdrawn(_ question: UInt64) async throws {
        try await waiting { try await self.withdrawn(question: question, cancellation: $0) }
    }
}

extension TerminalExecutor {
    /// Waits until a question does not wait any more; see ``HookServer/untilWithdrawn(_:)``.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func untilWithdrawn(_ question: UInt64) async throws {
        try await waiting { try await self.withdrawn(question: question, cancellation: $0) }
    }
}
