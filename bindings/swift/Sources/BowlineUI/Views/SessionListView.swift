#if canImport(SwiftUI)
    import Bowline
    import SwiftUI

    /// The list of a manager's sessions, with their actions.
    public struct SessionListView: View {
        @Bindable private var store: SessionListStore
        @State private var renamed: ManagedSession?
        @State private var isRenaming = false
        @State private var label = ""

        /// Creates the view of a list. It follows the manager while it is shown.
        public init(_ store: SessionListStore) {
            self.store = store
        }

        public var body: some View {
            List(selection: $store.selection) {
                ForEach(store.sessions, id: \.id) { session in
                    Label(session.label, systemImage: symbol(of: session))
                        .badge(store.openRequests(of: session).count)
                        .tag(session.id)
                        .contextMenu { actions(of: session) }
                }
            }
            .safeAreaInset(edge: .bottom) {
                if let failure = store.failure {
                    FailureBanner(failure) { store.dismissFailure() }.padding(8)
                }
            }
            .toolbar {
                Button("Undo", systemImage: "arrow.uturn.backward") { Task { await store.undo() } }
                    .disabled(store.history.done.isEmpty)
                    .help(store.history.done.last?.name ?? "")
                Button("Redo", systemImage: "arrow.uturn.forward") { Task { await store.redo() } }
                    .disabled(store.history.undone.isEmpty)
                    .help(store.history.undone.last?.name ?? "")
            }
            .alert("Rename", isPresented: $isRenaming, presenting: renamed) { session in
                TextField("Label", text: $label)
                Button("Rename") { Task { await store.rename(session, to: label) } }
                Button("Cancel", role: .cancel) {}
            }
            .task { await store.follow() }
        }

        @ViewBuilder private func actions(of session: ManagedSession) -> some View {
            Button("Rename…") { (label, renamed, isRenaming) = (session.label, session, true) }
            if session.state != .terminated {
                Button("End", role: .destructive) { Task { await store.end(session) } }
            } else {
                Button("Resume") { Task { await store.resume(session) } }
                    .disabled(!session.isResumable)
                Button("Remove", role: .destructive) { Task { await store.remove(session) } }
            }
        }

        private func symbol(of session: ManagedSession) -> String {
            guard !store.isUnread(session) else { return "exclamationmark.circle" }
            return switch session.state {
            case .creating, .active: "circle.dotted"
            case .idle: "circle"
            case .detached: "circle.dashed"
            case .terminated: "circle.slash"
            }
        }
    }
#endif
