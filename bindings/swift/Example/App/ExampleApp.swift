// A host with a window: the list of sessions, a transcript, permission requests, a prompt box and the
// state of the connection. All logic is in the stores of BowlineUI.
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
                        MainView(list: list)
                    } else if let failure = model.failure {
                        ContentUnavailableView(
                            "No Sessions", systemImage: "exclamationmark.triangle",
                            description: Text(failure.message))
                    } else {
                        ProgressView()
                    }
                }
                .frame(minWidth: 720, minHeight: 480)
                .task { await model.open() }
            }
        }
    }

    struct MainView: View {
        let list: SessionListStore
        @State private var isChoosingFolder = false

        var body: some View {
            NavigationSplitView {
                SessionListView(list).toolbar {
                    Button("New Session", systemImage: "plus") { isChoosingFolder = true }
                }
            } detail: {
                if let id = list.selection, let store = list.store(of: id) {
                    ConversationView(store).id(store.id)
                } else {
                    ContentUnavailableView("No Session Selected", systemImage: "text.bubble")
                }
            }
            .fileImporter(isPresented: $isChoosingFolder, allowedContentTypes: [.folder]) { chosen in
                guard case .success(let folder) = chosen else { return }
                let configuration = DialogueConfiguration(cwd: folder.path)
                Task { await list.create(configuration, label: folder.lastPathComponent) }
            }
        }
    }

    @MainActor
    @Observable
    final class AppModel {
        private(set) var list: SessionListStore?
        private(set) var failure: Failure?

        /// Opens the list of sessions and the drafts, once.
        func open() async {
            guard list == nil else { return }
            do {
                let folder = try FileManager.default.url(
                    for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil,
                    create: true
                ).appendingPathComponent("Bowline Example", isDirectory: true)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let state = folder.appendingPathComponent("sessions", isDirectory: true).path
                let engine = try Engine.make(program: CommandLine.arguments.dropFirst().first)
                let manager = try await engine.openManager(
                    configuration: ManagerConfiguration(stateDirectory: state))
                let drafts = await DraftStore.open(folder.appendingPathComponent("drafts.json"))
                drafts.keep(only: try manager.sessions().map(\.id))
                list = SessionListStore(manager: manager, drafts: drafts)
            } catch {
                failure = Failure(error)
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
