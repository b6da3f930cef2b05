// swift-tools-version: 6.0
import Foundation
import PackageDescription

// The native library, in this order: an xcframework that build-xcframework.sh has made, one of a
// release (BOWLINE_XCFRAMEWORK_URL and BOWLINE_XCFRAMEWORK_CHECKSUM), or the library that cargo
// has built (BOWLINE_LIBRARY_PATH, or target/debug of the repository).
let folder = Context.packageDirectory
let environment = Context.environment
let framework = "BowlineCoreFFI.xcframework"

let native: Target
var linkerSettings: [LinkerSetting] = []
if FileManager.default.fileExists(atPath: "\(folder)/\(framework)") {
    native = .binaryTarget(name: "BowlineCoreFFI", path: framework)
} else if let url = environment["BOWLINE_XCFRAMEWORK_URL"],
    let checksum = environment["BOWLINE_XCFRAMEWORK_CHECKSUM"]
{
    native = .binaryTarget(name: "BowlineCoreFFI", url: url, checksum: checksum)
} else {
    native = .systemLibrary(name: "BowlineCoreFFI", path: "Sources/BowlineCoreFFI")
    let built = environment["BOWLINE_LIBRARY_PATH"] ?? "\(folder)/../../target/debug"
    linkerSettings = [
        .unsafeFlags(["-L\(built)", "-Xlinker", "-rpath", "-Xlinker", built]),
        // Swift 6.0 for Linux ships a libswiftObservation that misses a symbol of its runtime.
        .unsafeFlags(["-Xlinker", "--allow-shlib-undefined"], .when(platforms: [.linux])),
    ]
}

let package = Package(
    name: "Bowline",
    platforms: [.macOS(.v14), .iOS(.v17)],
    products: [
        .library(name: "Bowline", targets: ["Bowline"])
    ],
    targets: [
        native,
        // Generated, and only that: the language mode that UniFFI writes for.
        .target(
            name: "BowlineCore",
            dependencies: ["BowlineCoreFFI"],
            swiftSettings: [.swiftLanguageMode(.v5)],
            linkerSettings: linkerSettings
        ),
        .target(
            name: "Bowline",
            dependencies: ["BowlineCore"],
            resources: [.copy("PrivacyInfo.xcprivacy")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .executableTarget(
            name: "Host",
            dependencies: ["Bowline"],
            path: "Example",
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
            dependencies: ["Bowline"],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
