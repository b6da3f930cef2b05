// A host with a window: the list of sessions with those that wait, a transcript, permission requests, a prompt
// box, the state of the connection and an inspector. What is shown is in the stores of BowlineUI.
//
//     swift run ExampleApp [PROGRAM]
#if canImport(SwiftUI) && !os(iOS)
    import Bowline
    import BowlineUI
    import SwiftUI

    @main
    struct ExampleApp: App {
        @NSApplicationDelegateAdaptor(AppDelegate.self) private var delegate
        @State private var model = AppModel()

        var body: some Scene {
            WindowGroup("Bowline") {
                Group {
                    if let list = model.list {
                        MainView(list: list, model: model)
                    } else if let failure = model.failure {
                        ContentUnavailableView(
                            "No Sessions", systemImage: "exclamationmark.triangle",
                            description: Text(failure.message))
                    } else {
                        ProgressView()
                    }
                }
                .frame(minWidth: 720, minHeight: 480)
                .task { await follow() }
            }
            .commands {
                CommandGroup(before: .appTermination) {
                    Button("End All Sessions and Quit") {
                        delegate.endsAll = true
                        NSApplication.shared.terminate(nil)
                    }
                }
            }
        }

        private func follow() async {
            delegate.model = model
            await model.open()
            await model.follow { _ in
                _ = NSApplication.shared.requestUserAttention(.informationalRequest)
            }
        }
    }

    /// Lets go of the sessions before the app exits. Those at a runner continue, and are in the list again at the
    /// next launch.
    final class AppDelegate: NSObject, NSApplicationDelegate {
        var model: AppModel?
        var endsAll = false

        func applicationShouldTerminate(_ sender: NSApplication) -> NSApplication.TerminateReply {
            guard let model else { return .terminateNow }
            Task {
                await model.close(endsAll: endsAll)
                sender.reply(toApplicationShouldTerminate: true)
            }
            return .terminateLater
        }
    }

    struct MainView: View {
        let list: SessionListStore
        let model: AppModel
        @State private var isChoosingFolder = false
        @State private var showsInspector = false

        var body: some View {
            NavigationSplitView {
                SessionListView(list).toolbar {
                    Button("New Session", systemImage: "plus") { isChoosingFolder = true }
                    Button("Inspector", systemImage: "info.circle") { showsInspector = !showsInspector }
                }
            } detail: {
                if let failure = model.failure {
                    FailureBanner(failure) { model.dismissFailure() }
                }
                if let session = selected, let store = list.store(of: session.id) {
                    HStack {
                        ConversationView(store).id(store.id)
                        if showsInspector { InspectorView(session: store, model: model).id(store.id) }
                    }
                    // Each notice of the session that is shown is read.
                    .task(id: list.notice(of: session)?.id) { await list.markRead(session) }
                } else {
                    ContentUnavailableView("No Session Selected", systemImage: "text.bubble")
                }
            }
            .fileImporter(isPresented: $isChoosingFolder, allowedContentTypes: [.folder]) { chosen in
                guard case .success(let folder) = chosen else { return }
                Task { await model.create(in: folder) }
            }
        }

        private var selected: ManagedSession? {
            list.sessions.first { $0.id == list.selection }
        }
    }
#else
    import Foundation

    @main
    struct ExampleApp {
        static func main() {
            let message = "ExampleApp: SwiftUI is missing; run swift run Host, or this example on macOS\n"
            FileHandle.standardError.write(Data(message.utf8))
            exit(1)
        }
    }
#endif
