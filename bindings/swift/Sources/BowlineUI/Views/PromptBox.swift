#if canImport(SwiftUI)
    import SwiftUI

    /// A field for the next prompt, with the prompts that wait.
    public struct PromptBox: View {
        @Bindable private var store: PromptStore
        private let isRunning: Bool

        /// Creates the prompt box of a store.
        ///
        /// - Parameters:
        ///   - store: The store.
        ///   - isRunning: Whether a turn can be interrupted.
        public init(_ store: PromptStore, isRunning: Bool) {
            (self.store, self.isRunning) = (store, isRunning)
        }

        public var body: some View {
            VStack(alignment: .leading, spacing: 6) {
                ForEach(store.waiting) { prompt in
                    Label(prompt.text, systemImage: "clock").lineLimit(1).foregroundStyle(.secondary)
                }
                HStack(alignment: .bottom) {
                    TextField("Prompt", text: $store.draft, axis: .vertical)
                        .lineLimit(1...8)
                        .onSubmit { Task { await store.send() } }
                    if store.canUndoClear {
                        Button("Undo Clear", action: store.undoClear)
                    } else if !store.draft.isEmpty {
                        Button("Clear", action: store.clear)
                    }
                    if isRunning {
                        Button("Stop", role: .destructive) { Task { await store.interrupt() } }
                    }
                    Button("Send") { Task { await store.send() } }
                        .keyboardShortcut(.return, modifiers: .command)
                        .disabled(!store.canSend)
                }
            }
        }
    }
#endif
