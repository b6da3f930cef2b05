import Bowline
import Foundation

/// A failed action of a store, as a value that views show until it is dismissed.
public struct Failure: Error, Sendable, Equatable, Identifiable {
    /// The identity of the failure; a repeated error is another failure.
    public let id = UUID()
    /// The error.
    public let error: BowlineError

    /// A sentence for people, which ends with what to do next.
    public var message: String { "Failed to \(error.reason)." }

    /// Wraps an error. Errors of another type become ``BowlineError/Host(reason:)``.
    public init(_ error: any Error) {
        self.error = error as? BowlineError ?? .Host(reason: "call the app: \(error)")
    }
}

/// Whether a store follows its source.
public enum Following: Sendable, Equatable {
    /// The store does not follow a source: `follow` was not called, or its task was cancelled.
    case paused
    /// The store is updated.
    case active
    /// The source has ended and was read completely.
    case ended
    /// Reading failed.
    case failed(BowlineError)
}

/// Runs an action off the main actor and returns its value or its failure; neither if its task was cancelled.
func attempt<Value: Sendable>(
    _ action: @Sendable () async throws -> Value
) async -> (value: Value?, failure: Failure?) {
    do {
        return (try await action(), nil)
    } catch is CancellationError {
        return (nil, nil)
    } catch {
        return (nil, Failure(error))
    }
}
