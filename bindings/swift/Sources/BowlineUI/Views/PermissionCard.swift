#if canImport(SwiftUI)
    import Bowline
    import SwiftUI

    /// A permission request with its options or questions.
    public struct PermissionCard: View {
        private let request: PermissionView
        @Bindable private var store: PermissionStore

        /// Creates the card of a request.
        public init(_ request: PermissionView, store: PermissionStore) {
            (self.request, self.store) = (request, store)
        }

        public var body: some View {
            VStack(alignment: .leading, spacing: 8) {
                Label(request.toolName, systemImage: "hand.raised").font(.headline)
                details
                ForEach(request.questions, id: \.id) { QuestionRow($0, draft: draft) }
                if let failure = store.failures[request.requestId] {
                    Text(failure.message).foregroundStyle(.red)
                }
                answers
            }
            .padding(12)
            .background(.yellow.opacity(0.12), in: RoundedRectangle(cornerRadius: 10))
        }

        private var draft: Binding<PermissionStore.Draft> {
            $store[draft: request.requestId]
        }

        @ViewBuilder private var details: some View {
            if let url = request.url, let address = URL(string: url) {
                Link(url, destination: address)
            } else if let plan = request.plan {
                Text(plan).textSelection(.enabled)
            } else if request.questions.isEmpty, let input = request.input {
                Text(input).font(.system(.body, design: .monospaced)).textSelection(.enabled)
            }
        }

        @ViewBuilder private var answers: some View {
            if request.questions.isEmpty {
                TextField("Reason, if denied", text: draft.reason)
                HStack {
                    ForEach(request.options, id: \.id) { option in
                        Button(option.name) { Task { await store.choose(option, for: request) } }
                    }
                    Spacer()
                    dismiss
                }
            } else {
                HStack {
                    Button("Answer") { Task { await store.answer(request) } }
                        .disabled(!store.isComplete(request))
                    Spacer()
                    dismiss
                }
            }
        }

        private var dismiss: some View {
            Button("Dismiss", role: .cancel) { Task { await store.dismiss(request) } }
        }
    }

    /// A question with its choices and a field for a text.
    struct QuestionRow: View {
        private let question: RequestQuestion
        @Binding private var draft: PermissionStore.Draft

        init(_ question: RequestQuestion, draft: Binding<PermissionStore.Draft>) {
            (self.question, _draft) = (question, draft)
        }

        var body: some View {
            VStack(alignment: .leading, spacing: 4) {
                if let title = question.title { Text(title).font(.subheadline.bold()) }
                Text(question.text)
                ForEach(question.options, id: \.value) { option in
                    Button {
                        draft.toggle(option.value, of: question)
                    } label: {
                        Label(option.name, systemImage: isChosen(option) ? "checkmark.circle.fill" : "circle")
                    }
                    .help(option.description ?? "")
                }
                if question.freeText || question.kind == .text {
                    TextField("Other", text: $draft[text: question.id])
                }
            }
        }

        private func isChosen(_ option: QuestionChoice) -> Bool {
            draft.chosen[question.id]?.contains(option.value) == true
        }
    }
#endif
