#!/usr/bin/env bash
# Makes BowlineCoreFFI.xcframework from the library for macOS (arm64 and x86_64), iOS devices and the
# iOS simulator, and a zip of it with its checksum for a release. It needs macOS with Xcode and rustup.
# It has not been run on the machines that Bowline is developed on, which have neither: there,
# `--check` looks at what it would take from the repository, and says what is missing on the machine.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=bindings/swift
build="target/xcframework"
targets=(aarch64-apple-darwin x86_64-apple-darwin aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios)
headers=("$package"/Sources/BowlineCoreFFI/{BowlineCoreFFI.h,module.modulemap})

# What is wrong with the repository: nothing, on every machine.
repository() {
    for file in "${headers[@]}" "$package/Package.swift"; do
        [ -s "$file" ] || echo "$file is missing, run: cargo bindings"
    done
    grep -q '^module BowlineCoreFFI ' "${headers[1]}" || echo "${headers[1]} is of another module"
    grep -q 'header "BowlineCoreFFI.h"' "${headers[1]}" || echo "${headers[1]} has another header"
    # As the build asks for them: of one kind, in one profile.
    grep -q '^\[profile\.small\]' Cargo.toml || echo "Cargo.toml has no profile small"
    grep -q 'staticlib' crates/ffi/Cargo.toml || echo "crates/ffi makes no staticlib"
    for target in "${targets[@]}"; do
        rustc --print target-list | grep -qx "$target" || echo "this Rust knows no $target"
    done
}

# What the machine lacks, with what to do about it.
machine() {
    [ "$(uname)" = Darwin ] || echo "$(uname) is not macOS, take a machine that runs it"
    local tool
    for tool in cargo rustup xcodebuild lipo swift zip; do
        command -v "$tool" >/dev/null && continue
        case "$tool" in
            cargo | rustup) echo "$tool is missing, install it from rustup.rs" ;;
            *) echo "$tool is missing, install Xcode and run: xcode-select --install" ;;
        esac
    done
}

wrong="$(repository)"
lacking="$(machine)"
say() {
    [ -n "$1" ] || return 0
    while IFS= read -r line; do
        echo "build-xcframework: $line"
    done <<<"$1"
}
if [ "${1:-}" = --check ]; then
    say "$wrong"
    say "$lacking"
    # The machine is whose it is; the repository is ours.
    [ -z "$wrong" ] || exit 1
    exit 0
fi
if [ -n "$wrong$lacking" ]; then
    { say "$wrong"; say "$lacking"; } >&2
    exit 1
fi

rustup target add "${targets[@]}"
for target in "${targets[@]}"; do
    # Of one kind alone: Rust optimizes nothing over crates when a library for other Rust is made as
    # well.
    cargo rustc --profile small -p bowline-ffi --lib --crate-type staticlib --target "$target"
done

rm -rf "$build" "$package/BowlineCoreFFI.xcframework"

# One folder for each module: a flat Headers/module.modulemap collides with that of other packages.
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
