#!/usr/bin/env bash
# Makes BowlineCoreFFI.xcframework from the library for macOS (arm64 and x86_64), iOS devices and the
# iOS simulator, and a zip of it with its checksum for a release. It needs macOS with Xcode and rustup.
# It has not been run on the machines that Bowline is developed on, which have neither.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "$(uname)" != Darwin ]; then
    echo "build-xcframework: this needs macOS with Xcode" >&2
    exit 1
fi

targets=(aarch64-apple-darwin x86_64-apple-darwin aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios)
rustup target add "${targets[@]}"
for target in "${targets[@]}"; do
    # Of one kind alone: Rust optimizes nothing over crates when a library for other Rust is made as
    # well.
    cargo rustc --profile small -p bowline-ffi --lib --crate-type staticlib --target "$target"
done

package=bindings/swift
build="target/xcframework"
rm -rf "$build" "$package/BowlineCoreFFI.xcframework"

# One folder for each module: a flat Headers/module.modulemap collides with that of other packages.
headers="$build/headers"
mkdir -p "$headers/BowlineCoreFFI"
cp "$package"/Sources/BowlineCoreFFI/{BowlineCoreFFI.h,module.modulemap} "$headers/BowlineCoreFFI"

library() {
    echo "target/$1/small/libbowline_ffi.a"
}
fat() {
    mkdir -p "$build/$1"
    lipo -create "$(library "$2")" "$(library "$3")" -output "$build/$1/libbowline_ffi.a"
}
fat macos aarch64-apple-darwin x86_64-apple-darwin
fat simulator aarch64-apple-ios-sim x86_64-apple-ios

xcodebuild -create-xcframework \
    -library "$build/macos/libbowline_ffi.a" -headers "$headers" \
    -library "$(library aarch64-apple-ios)" -headers "$headers" \
    -library "$build/simulator/libbowline_ffi.a" -headers "$headers" \
    -output "$package/BowlineCoreFFI.xcframework"

(cd "$package" && zip -qr "$OLDPWD/$build/BowlineCoreFFI.xcframework.zip" BowlineCoreFFI.xcframework)
swift package --package-path "$package" compute-checksum "$build/BowlineCoreFFI.xcframework.zip"
