#!/usr/bin/env bash
# Writes the Swift package of a release to a folder: Package.swift at its root, as SwiftPM wants it of a
# repository, and the sources. The folder is the content of the repository that apps name.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: dist.sh OUT [URL]

Writes the package to the folder OUT, which must be empty or missing.

With URL, the package downloads the xcframework from there: URL is the address of the zip that
build-xcframework.sh has written, whose checksum the package names. Without URL, the xcframework is copied
into the package.

Then, in a clone of the repository that serves the package: replace its files by those of OUT, commit, tag
with the version (SwiftPM reads tags such as 0.1.0), and push. An app adds it with
.package(url: "https://…", from: "0.1.0").
TEXT
}

fail() {
    echo "dist: $1" >&2
    exit 1
}

case "${1:-}" in
    -h | --help) usage && exit ;;
    "") usage >&2 && exit 2 ;;
esac
out="$1" url="${2:-}"
root="$(cd "$(dirname "$0")/../.." && pwd)"
package="$root/bindings/swift"
framework=BowlineCoreFFI.xcframework
built="${BOWLINE_XCFRAMEWORK:-$root/target/xcframework/$framework}"
[ -d "$built" ] && [ -f "$built.zip" ] || fail "$built and its zip are missing; run bindings/swift/build-xcframework.sh"
[ -z "$(ls -A "$out" 2>/dev/null)" ] || fail "$out is not empty; name a new folder"
case "$url" in
    "" | https://*.zip) ;;
    *) fail "$url is not the https address of a zip, which SwiftPM requires" ;;
esac

mkdir -p "$out/Sources"
cp -R "$package/Sources/Bowline" "$package/Sources/BowlineCore" "$package/Sources/BowlineUI" "$out/Sources/"
cp "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$root/CHANGELOG.md" "$out/"
if [ -n "$url" ]; then
    checksum="$(python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$built.zip")"
    binary="url: \"$url\", checksum: \"$checksum\""
else
    cp -R "$built" "$out/"
    binary="path: \"$framework\""
fi

# The targets are those of the repository's Package.swift that an app needs.
cat >"$out/Package.swift" <<TEXT
// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Bowline",
    platforms: [.macOS(.v14), .iOS(.v17)],
    products: [
        .library(name: "Bowline", targets: ["Bowline"]),
        .library(name: "BowlineUI", targets: ["BowlineUI"]),
    ],
    targets: [
        .binaryTarget(name: "BowlineCoreFFI", $binary),
        .target(
            name: "BowlineCore",
            dependencies: ["BowlineCoreFFI"],
            swiftSettings: [.swiftLanguageMode(.v5)]
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
    ]
)
TEXT
cat >"$out/README.md" <<TEXT
# Bowline

Owns the session of a coding agent for the app around it: starts the agent, folds what it says into a typed
transcript, and drives it. Generated from a release of Bowline, whose repository has the documentation.

\`\`\`swift
import Bowline

let engine = try Engine.make()
let session = try await engine.start(configuration: DialogueConfiguration(cwd: "/some/project"))
try await session.send("What is in this folder?")
\`\`\`
TEXT
echo "$out: Package.swift $([ -n "$url" ] && echo "for $url, checksum $checksum" || echo "with $framework")"
