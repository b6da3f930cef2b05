#if canImport(SwiftUI)
    import Bowline
    import SwiftUI

    /// One session: its transcript, open permission requests, connection and prompt box.
    public struct ConversationView: View {
        private let store: SessionStore

        /// Creates the view of a session. It follows the session while it is shown.
        public init(_ store: SessionStore) {
            self.store = store
        }

        public var body: some View {
            VStack(spacing: 8) {
                ConnectionBanner(store.connection)
                TranscriptView(store.transcript)
                ForEach(store.permissions.open, id: \.requestId) { request in
                    PermissionCard(request, store: store.permissions)
                }
                if let failure = store.failure {
                    FailureBanner(failure) { store.dismissFailures() }
                }
                PromptBox(store.prompt, isRunning: store.transcript.transcript.phase == .running)
            }
            .padding()
            .task(id: store.id) { await store.follow() }
        }
    }
#endif
