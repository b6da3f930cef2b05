#if canImport(SwiftUI)
    import Bowline
    import SwiftUI

    /// The entries of a transcript, newest last.
    public struct TranscriptView: View {
        private let store: TranscriptStore

        /// Creates the view of a store.
        public init(_ store: TranscriptStore) {
            self.store = store
        }

        public var body: some View {
            ScrollView {
                LazyVStack(alignment: .leading, spacing: 12) {
                    if store.hasEarlier {
                        Button("Show Earlier") { Task { await store.showEarlier() } }
                    }
                    ForEach(store.entries) { entry in
                        EntryRow(entry, transcript: store.transcript)
                    }
                }
                .padding()
            }
            .defaultScrollAnchor(.bottom)
        }
    }

    /// One entry of a transcript.
    struct EntryRow: View {
        private let entry: Transcript.Entry
        private let transcript: Transcript

        init(_ entry: Transcript.Entry, transcript: Transcript) {
            (self.entry, self.transcript) = (entry, transcript)
        }

        var body: some View {
            switch entry.value {
            case .user(_, let text, _, _):
                Text(text)
                    .textSelection(.enabled)
                    .padding(8)
                    .background(.blue.opacity(0.12), in: RoundedRectangle(cornerRadius: 8))
            case .assistant:
                VStack(alignment: .leading, spacing: 6) {
                    ForEach(entry.blocks) { BlockRow($0, transcript: transcript) }
                }
            case .result(_, let isError, _, let text, _, _, _):
                if isError {
                    Label(text ?? "The turn failed.", systemImage: "xmark.octagon").foregroundStyle(.red)
                } else {
                    Divider()
                }
            case .notice(_, let text):
                Text(text).font(.footnote).foregroundStyle(.secondary)
            case .error(_, let text):
                Label(text, systemImage: "exclamationmark.triangle").foregroundStyle(.red)
            }
        }
    }

    /// One block of a message.
    struct BlockRow: View {
        private let block: Transcript.Block
        private let transcript: Transcript

        init(_ block: Transcript.Block, transcript: Transcript) {
            (self.block, self.transcript) = (block, transcript)
        }

        var body: some View {
            switch block.value {
            case .text:
                Text(block.text).textSelection(.enabled)
            case .thinking:
                if !block.text.isEmpty {
                    DisclosureGroup("Thinking") { Text(block.text).foregroundStyle(.secondary) }
                }
            case .toolCall(let id):
                if let call = transcript.toolCall(id) { ToolCallRow(call) }
            case .redactedThinking, .other:
                EmptyView()
            }
        }
    }

    /// A tool call with its output or result.
    struct ToolCallRow: View {
        private let call: ToolCallView

        init(_ call: ToolCallView) {
            self.call = call
        }

        var body: some View {
            DisclosureGroup {
                if let text = call.result?.text ?? call.output {
                    Text(text).font(.system(.caption, design: .monospaced)).textSelection(.enabled)
                }
            } label: {
                Label(call.title ?? call.name, systemImage: symbol)
            }
        }

        private var symbol: String {
            switch call.state {
            case .pending, .running: "gearshape"
            case .awaitingPermission: "hand.raised"
            case .succeeded: "checkmark"
            case .failed, .lost: "xmark"
            case .interrupted: "stop"
            }
        }
    }
#endif
