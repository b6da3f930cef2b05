#if canImport(SwiftUI)
    import SwiftUI

    /// A failure with a button that dismisses it.
    public struct FailureBanner: View {
        private let failure: Failure
        private let dismiss: @MainActor () -> Void

        /// Creates a banner.
        public init(_ failure: Failure, dismiss: @escaping @MainActor () -> Void) {
            (self.failure, self.dismiss) = (failure, dismiss)
        }

        public var body: some View {
            HStack {
                Label(failure.message, systemImage: "exclamationmark.triangle")
                    .textSelection(.enabled)
                Spacer()
                Button("Dismiss", action: dismiss)
            }
            .padding(8)
            .background(.red.opacity(0.12), in: RoundedRectangle(cornerRadius: 8))
        }
    }
#endif
