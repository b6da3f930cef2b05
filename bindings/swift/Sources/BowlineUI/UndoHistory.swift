/// Actions that were done and can be undone, and undone actions that can be done again.
public struct UndoHistory<Action: Sendable & Equatable>: Sendable, Equatable {
    /// The actions to undo, newest last.
    public private(set) var done: [Action] = []
    /// The actions to do again, the next one last.
    public private(set) var undone: [Action] = []
    private let limit: Int

    /// Creates an empty history.
    ///
    /// - Parameter limit: The maximum number of actions to keep. The oldest is dropped first.
    public init(limit: Int = 50) {
        self.limit = max(1, limit)
    }

    /// Records an action. Undone actions cannot be done again afterwards.
    mutating func record(_ action: Action) {
        done.append(action)
        done.removeFirst(max(0, done.count - limit))
        undone = []
    }

    /// Moves the newest action to the undone ones.
    mutating func didUndo() {
        if let action = done.popLast() { undone.append(action) }
    }

    /// Moves the newest undone action back.
    mutating func didRedo() {
        if let action = undone.popLast() { done.append(action) }
    }

    /// Drops the actions that cannot be undone or done again any more.
    mutating func drop(where isObsolete: (Action) -> Bool) {
        done.removeAll(where: isObsolete)
        undone.removeAll(where: isObsolete)
    }
}
