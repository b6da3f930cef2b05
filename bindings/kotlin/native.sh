#!/usr/bin/env bash
# Builds the library for this machine and puts it where the jar takes it from: one folder for each
# platform, by JNA's names. A release copies the folders of its other machines beside this one, and runs
# `mvn package` then.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) platform=linux-x86-64 library=libbowline_ffi.so ;;
    Linux-aarch64) platform=linux-aarch64 library=libbowline_ffi.so ;;
    Darwin-arm64) platform=darwin-aarch64 library=libbowline_ffi.dylib ;;
    Darwin-x86_64) platform=darwin-x86-64 library=libbowline_ffi.dylib ;;
    *)
        echo "native: $(uname -sm) is no platform of the library" >&2
        exit 1
        ;;
esac
bindings/library.sh
mkdir -p "bindings/kotlin/target/native/$platform"
cp "target/small/$library" "bindings/kotlin/target/native/$platform"
