// swift-tools-version: 6.0
import Foundation
import PackageDescription

// The native library is the first of: an xcframework built by build-xcframework.sh, the xcframework of a
// release (BOWLINE_XCFRAMEWORK_URL and BOWLINE_XCFRAMEWORK_CHECKSUM), or the library built by cargo
// (in BOWLINE_LIBRARY_PATH, or target/debug of the repository).
let directory = Context.packageDirectory
let environment = Context.environment
let framework = "BowlineCoreFFI.xcframework"

let native: Target
var linkerSettings: [LinkerSetting] = []
if FileManager.default.fileExists(atPath: "\(directory)/\(framework)") {
    native = .binaryTarget(name: "BowlineCoreFFI", path: framework)
} else if let url = environment["BOWLINE_XCFRAMEWORK_URL"],
    let checksum = environment["BOWLINE_XCFRAMEWORK_CHECKSUM"]
{
    native = .binaryTarget(name: "BowlineCoreFFI", url: url, checksum: checksum)
} else {
    native = .systemLibrary(name: "BowlineCoreFFI", path: "Sources/BowlineCoreFFI")
    let built = environment["BOWLINE_LIBRARY_PATH"] ?? "\(directory)/../../target/debug"
    let names = ["a", "so", "dylib"].map { "\(built)/libbowline_ffi.\($0)" }
    if !names.contains(where: FileManager.default.fileExists) {
        fatalError("no libbowline_ffi in \(built); run cargo build -p bowline-ffi, or build-xcframework.sh")
    }
    linkerSettings = [
        .unsafeFlags(["-L\(built)", "-Xlinker", "-rpath", "-Xlinker", built]),
        // libswiftObservation of Swift 6.0 for Linux has an undefined symbol.
        .unsafeFlags(["-Xlinker", "--allow-shlib-undefined"], .when(platforms: [.linux])),
    ]
}

let package = Package(
    name: "Bowline",
    platforms: [.macOS(.v14), .iOS(.v17)],
    products: [
        .library(name: "Bowline", targets: ["Bowline"]),
        .library(name: "BowlineUI", targets: ["BowlineUI"]),
    ],
    targets: [
        native,
        // Generated sources only. UniFFI generates code for language mode 5.
        .target(
            name: "BowlineCore",
            dependencies: ["BowlineCoreFFI"],
            swiftSettings: [.swiftLanguageMode(.v5)],
            linkerSettings: linkerSettings
        ),
        .target(
            name: "Bowline",
            dependencies: ["BowlineCore", "BowlineCoreFFI"],
            resources: [.copy("PrivacyInfo.xcprivacy")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .target(
            name: "BowlineUI",
            dependencies: ["Bowline"],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .executableTarget(
            name: "Host",
            dependencies: ["Bowline"],
            path: "Example/Terminal",
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .executableTarget(
            name: "ExampleApp",
            dependencies: ["Bowline", "BowlineUI"],
            path: "Example/App",
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .executableTarget(
            name: "Bench",
            dependencies: ["Bowline"],
            path: "Bench",
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .testTarget(
            name: "BowlineTests",
            dependencies: ["Bowline", "BowlineUI", "ExampleApp"],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
