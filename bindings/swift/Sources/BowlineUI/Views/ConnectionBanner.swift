#if canImport(SwiftUI)
    import SwiftUI

    /// The state of a connection that is down, with a button that retries it. Empty while it is up.
    public struct ConnectionBanner: View {
        private let store: ConnectionStore

        /// Creates the banner of a store.
        public init(_ store: ConnectionStore) {
            self.store = store
        }

        public var body: some View {
            switch store.banner {
            case nil: EmptyView()
            case .reconnecting(let attempt):
                row {
                    ProgressView().controlSize(.small)
                    Text("Reconnecting, attempt \(attempt)…")
                }
            case .failed(let reason, let canRetry):
                row {
                    Label(reason, systemImage: "wifi.slash").textSelection(.enabled)
                    Spacer()
                    if canRetry {
                        Button("Retry") { Task { await store.retry() } }
                    }
                }
            }
        }

        private func row(@ViewBuilder _ content: () -> some View) -> some View {
            HStack(content: content)
                .padding(8)
                .frame(maxWidth: .infinity, alignment: .leading)
                .background(.orange.opacity(0.15), in: RoundedRectangle(cornerRadius: 8))
        }
    }
#endif
