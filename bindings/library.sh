#!/usr/bin/env bash
# Builds the library in its release profile for this machine, into target/small. With --local it is the one for
# local sessions only, in target/local/small.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=() features=()
# A folder of its own: cargo does not notice that a library of the same name has other features.
[ "${1:-}" != --local ] || features=(--no-default-features --target-dir target/local)
case "$(uname -s)-$(uname -m)" in
    # Rust links with its bundled lld here, which can merge identical functions.
    Linux-x86_64) flags=(-Clinker="$PWD/bindings/linker.sh" -Clink-arg=-Wl,--icf=all) ;;
    Linux-*) flags=(-Clinker="$PWD/bindings/linker.sh") ;;
esac
# One crate type only: with an rlib in the same build, rustc does not optimize across crates.
exec cargo rustc --quiet --profile small -p bowline-ffi --lib --crate-type cdylib ${features[@]+"${features[@]}"} -- ${flags[@]+"${flags[@]}"}
