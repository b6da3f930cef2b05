#if canImport(SwiftUI)
    import Bowline
    import BowlineUI
    import SwiftUI

    /// The newest bytes of an agent's output as text, and a report about its session.
    struct InspectorView: View {
        let session: String
        let model: AppModel
        @State private var text = ""
        @State private var report: URL?

        var body: some View {
            VStack(alignment: .leading, spacing: 8) {
                Button("Save Report") { Task { report = await model.report(on: session) } }
                if let report { Text(report.path).font(.caption).textSelection(.enabled) }
                Text(model.hookEvents.joined(separator: " ")).font(.caption)
                ScrollView {
                    Text(text).font(.system(.caption, design: .monospaced)).textSelection(.enabled)
                }
                .defaultScrollAnchor(.bottom)
            }
            .task(id: session) { await follow() }
        }

        private func follow() async {
            text = ""
            do {
                guard let output = try model.rawOutput(of: session) else { return }
                for try await batch in output {
                    for piece in batch.pieces {
                        switch piece {
                        case .bytes(_, let bytes): text += String(decoding: bytes, as: UTF8.self)
                        case .gap(let from, let to): text += "\n[bytes \(from) to \(to) are no longer kept]\n"
                        }
                    }
                    text = String(text.suffix(20_000))
                }
            } catch {
                text += "\n[\(Failure(error).message)]"
            }
        }
    }
#endif
