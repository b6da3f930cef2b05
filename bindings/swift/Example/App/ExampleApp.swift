// A host with a window: the list of sessions with those that wait, a transcript, permission requests, a prompt
// box, the state of the connection and an inspector. What is shown is in the stores of BowlineUI.
//
//     swift run ExampleApp [PROGRAM]
#if canImport(SwiftUI)
    import Bowline
    import BowlineUI
    import SwiftUI

    @main
    struct ExampleApp: App {
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
                .task {
                    await model.open()
                    await model.follow()
                }
            }
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
                if let id = list.selection, let store = list.store(of: id) {
                    HStack {
                        ConversationView(store).id(store.id)
                        if showsInspector { InspectorView(session: id, model: model) }
                    }
                } else {
                    ContentUnavailableView("No Session Selected", systemImage: "text.bubble")
                }
            }
            .fileImporter(isPresented: $isChoosingFolder, allowedContentTypes: [.folder]) { chosen in
                guard case .success(let folder) = chosen else { return }
                Task { await model.create(in: folder) }
            }
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
