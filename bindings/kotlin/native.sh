#!/usr/bin/env bash
# Builds the library for this machine into the directory that the jar includes: one subdirectory for each
# platform, named as JNA does. A release copies those of its other platforms beside it before it runs
# `mvn package`. With --local it is the library for local sessions only.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) platform=linux-x86-64 library=libbowline_ffi.so ;;
    Linux-aarch64) platform=linux-aarch64 library=libbowline_ffi.so ;;
    Darwin-arm64) platform=darwin-aarch64 library=libbowline_ffi.dylib ;;
    Darwin-x86_64) platform=darwin-x86-64 library=libbowline_ffi.dylib ;;
    *)
        echo "native: $(uname -sm) is not supported; build on Linux or macOS" >&2
        exit 1
        ;;
esac
bindings/library.sh "$@"
mkdir -p "bindings/kotlin/target/native/$platform"
[ "${1:-}" != --local ] && built=target/small || built=target/local/small
cp "$built/$library" "bindings/kotlin/target/native/$platform"
