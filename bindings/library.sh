#!/usr/bin/env bash
# Builds the library in its release profile for this machine, into target/small.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=()
case "$(uname -s)-$(uname -m)" in
    # Rust links with its bundled lld here, which can merge identical functions.
    Linux-x86_64) flags=(-Clinker="$PWD/bindings/linker.sh" -Clink-arg=-Wl,--icf=all) ;;
    Linux-*) flags=(-Clinker="$PWD/bindings/linker.sh") ;;
esac
# One crate type only: with an rlib in the same build, rustc does not optimize across crates.
exec cargo rustc --quiet --profile small -p bowline-ffi --lib --crate-type cdylib -- ${flags[@]+"${flags[@]}"}
