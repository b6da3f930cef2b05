#!/usr/bin/env bash
# Builds BowlineCoreFFI.xcframework for macOS (arm64 and x86_64), iOS devices and the iOS simulator, and a
# zip of it with its checksum for a release. Needs macOS with Xcode and rustup. `--check` runs everywhere:
# it verifies the inputs from the repository and prints what the machine lacks.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=bindings/swift
build="target/xcframework"
targets=(aarch64-apple-darwin x86_64-apple-darwin aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios)
headers=("$package"/Sources/BowlineCoreFFI/{BowlineCoreFFI.h,module.modulemap})

# Prints problems of the repository.
repository() {
    for file in "${headers[@]}" "$package/Package.swift"; do
        [ -s "$file" ] || echo "$file is missing; run cargo bindings"
    done
    grep -q '^module BowlineCoreFFI ' "${headers[1]}" || echo "${headers[1]} does not define the module BowlineCoreFFI"
    grep -q 'header "BowlineCoreFFI.h"' "${headers[1]}" || echo "${headers[1]} does not include BowlineCoreFFI.h"
    grep -q '^\[profile\.small\]' Cargo.toml || echo "Cargo.toml has no profile small"
    grep -q 'staticlib' crates/ffi/Cargo.toml || echo "crates/ffi has no crate type staticlib"
    for target in "${targets[@]}"; do
        rustc --print target-list | grep -qx "$target" || echo "this rustc does not support $target"
    done
}

# Prints what the machine lacks.
machine() {
    [ "$(uname)" = Darwin ] || echo "$(uname) is not macOS; build on a Mac"
    local tool
    for tool in cargo rustup xcodebuild lipo swift zip; do
        command -v "$tool" >/dev/null && continue
        case "$tool" in
            cargo | rustup) echo "$tool is missing; install it from rustup.rs" ;;
            *) echo "$tool is missing; install Xcode and run xcode-select --install" ;;
        esac
    done
}

repository_problems="$(repository)"
machine_problems="$(machine)"
report() {
    [ -n "$1" ] || return 0
    while IFS= read -r line; do
        echo "build-xcframework: $line"
    done <<<"$1"
}
if [ "${1:-}" = --check ]; then
    report "$repository_problems"
    report "$machine_problems"
    # Only problems of the repository are failures.
    [ -z "$repository_problems" ] || exit 1
    exit 0
fi
if [ -n "$repository_problems$machine_problems" ]; then
    { report "$repository_problems"; report "$machine_problems"; } >&2
    exit 1
fi

rustup target add "${targets[@]}"
for target in "${targets[@]}"; do
    # One crate type only: with an rlib in the same build, rustc does not optimize across crates.
    cargo rustc --profile small -p bowline-ffi --lib --crate-type staticlib --target "$target"
done

rm -rf "$build" "$package/BowlineCoreFFI.xcframework"

# A subdirectory for the module: a flat Headers/module.modulemap collides with that of other packages.
include="$build/headers"
mkdir -p "$include/BowlineCoreFFI"
cp "${headers[@]}" "$include/BowlineCoreFFI"

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
    -library "$build/macos/libbowline_ffi.a" -headers "$include" \
    -library "$(library aarch64-apple-ios)" -headers "$include" \
    -library "$build/simulator/libbowline_ffi.a" -headers "$include" \
    -output "$package/BowlineCoreFFI.xcframework"

(cd "$package" && zip -qr "$OLDPWD/$build/BowlineCoreFFI.xcframework.zip" BowlineCoreFFI.xcframework)
swift package --package-path "$package" compute-checksum "$build/BowlineCoreFFI.xcframework.zip"
