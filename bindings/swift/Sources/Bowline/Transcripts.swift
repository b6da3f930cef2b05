extension DialogueSession {
    /// The transcript after each batch of changes, until the session ends.
    ///
    /// - Parameter coalesceFor: How long to wait for further changes after the first one of a batch.
    /// - Throws: ``BowlineError``.
    public func transcripts(
        coalesceFor: Duration = .milliseconds(16)
    ) throws -> AsyncThrowingStream<Transcript, any Error> {
        transcriptStream(of: try changeStream(), coalesceFor: coalesceFor)
    }
}

extension Recording {
    /// The transcript after each batch of changes, to the end of the recording.
    ///
    /// - Throws: ``BowlineError``.
    public func transcripts() throws -> AsyncThrowingStream<Transcript, any Error> {
        transcriptStream(of: try changeStream(), coalesceFor: .zero)
    }
}
