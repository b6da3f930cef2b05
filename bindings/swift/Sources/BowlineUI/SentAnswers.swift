/// The answers that are being sent or were accepted, and why others failed.
struct SentAnswers<Request: Hashable> {
    /// Failed answers by request.
    private(set) var failures: [Request: Failure] = [:]
    private var sent: Set<Request> = []

    /// Whether an answer is being sent or was accepted.
    func isSent(_ request: Request) -> Bool {
        sent.contains(request)
    }

    /// Begins to send an answer. Returns `false` if one is being sent or was accepted.
    mutating func begin(_ request: Request) -> Bool {
        sent.insert(request).inserted
    }

    /// Records what became of an answer. The request of one that was not sent can be answered again.
    mutating func end(_ request: Request, isSent: Bool, failure: Failure?) {
        failures[request] = failure
        if !isSent { sent.remove(request) }
    }

    /// Forgets a request that is closed.
    mutating func forget(_ request: Request) {
        failures[request] = nil
        sent.remove(request)
    }
}
