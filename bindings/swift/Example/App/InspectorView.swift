#if canImport(SwiftUI) && !os(iOS)
    import Bowline
    import BowlineUI
    import SwiftUI

    /// The newest bytes of an agent's output as text, its newest hook events, and a report about the session.
    struct InspectorView: View {
        let session: SessionStore
        let model: AppModel
        @State private var report: URL?

        var body: some View {
            VStack(alignment: .leading, spacing: 8) {
                Button("Save Report") { Task { report = await model.report(on: session) } }
                if let report { Text(report.path).font(.caption).textSelection(.enabled) }
                Text(hookKinds.joined(separator: " ")).font(.caption)
                ScrollView {
                    Text(session.output.text).font(.system(.caption, design: .monospaced)).textSelection(.enabled)
                }
                .defaultScrollAnchor(.bottom)
            }
            .task(id: session.id) { await session.followOutput() }
        }

        private var hookKinds: [String] {
            (model.hooks[session.id]?.events ?? []).suffix(20).map(\.kind)
        }
    }
#endif
