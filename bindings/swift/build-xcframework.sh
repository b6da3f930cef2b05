#!/usr/bin/env bash
# Builds BowlineCoreFFI.xcframework for macOS (arm64 and x86_64) and a zip of it for a release, in
# target/xcframework, and prints the zip's checksum. On a Mac, which needs Xcode and rustup, it also builds
# for iOS devices and the iOS simulator, and puts the xcframework where Package.swift looks for it. Linux
# compiles for macOS with the tools of .ci/macos-root. With `--local` it is the library for local sessions
# only. `--check` verifies the inputs from the repository and prints what the machine lacks.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=bindings/swift
out=target/xcframework
targets=(aarch64-apple-darwin x86_64-apple-darwin)
[ "$(uname)" != Darwin ] || targets+=(aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios)
is_local="$([ "${1:-}" != --local ] || echo yes)"
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
    local tool tools=(cargo rustc python3)
    [ "$(uname)" != Darwin ] || tools+=(rustup xcrun)
    for tool in "${tools[@]}"; do
        command -v "$tool" >/dev/null && continue
        case "$tool" in
            xcrun) echo "$tool is missing; install Xcode and run xcode-select --install" ;;
            python3) echo "$tool is missing; install Python 3" ;;
            *) echo "$tool is missing; install it from rustup.rs" ;;
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

if [ "$(uname)" = Darwin ]; then
    rustup target add "${targets[@]}"
    build=(cargo rustc)
    built="${CARGO_TARGET_DIR:-target}"
    compiler=(xcrun clang)
    macos=-apple-macos14.0
else
    root="$(.ci/macos-root)"
    build=(.ci/macos-cargo rustc)
    built="$root/target"
    compiler=("$(echo "$root"/zig-*/bin/python3)" -m ziglang cc)
    macos=-macos.14.0
fi
features=()
if [ -n "$is_local" ]; then
    # A folder of its own: cargo does not notice that a library of the same name has other features.
    built="$built/local"
    features=(--no-default-features --target-dir "$built")
fi
rm -rf "$out" && mkdir -p "$out"

# Links a program that refers to every function of the header with a library and the system alone: the
# linker names what is missing.
check_functions() { # LIBRARY CLANG_TARGET
    {
        echo '#include "BowlineCoreFFI.h"'
        echo 'void *const functions[] = {'
        grep -oE '\b(uniffi|ffi)_bowline_ffi_[a-z0-9_]+\(' "${headers[0]}" | sort -u | sed 's/(/,/; s/^/(void *)/'
        echo '};'
        echo 'int main(int count, char **arguments) { return functions[count] == 0 || arguments == 0; }'
    } >"$out/functions.c"
    "${compiler[@]}" -target "$2" -I "${headers[0]%/*}" "$out/functions.c" "$1" -o "$out/functions"
    rm "$out"/functions*
}

for target in "${targets[@]}"; do
    # One crate type only: with an rlib in the same build, rustc does not optimize across crates.
    "${build[@]}" --quiet --profile small -p bowline-ffi --lib --crate-type staticlib --target "$target" \
        ${features[@]+"${features[@]}"}
    library="$built/$target/small/libbowline_ffi.a"
    case "$target" in
        *-apple-darwin) check_functions "$library" "${target%%-*}$macos" ;;
    esac
    echo "$target: $(wc -c <"$library") bytes" >&2
done

python3 "$package/xcframework.py" "$out/BowlineCoreFFI.xcframework" "$built" "${headers[@]}" "${targets[@]}"
if [ "$(uname)" = Darwin ]; then
    rm -rf "$package/BowlineCoreFFI.xcframework"
    cp -R "$out/BowlineCoreFFI.xcframework" "$package/"
fi
