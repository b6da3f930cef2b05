#!/usr/bin/env bash
# Builds the library in its release profile for this machine, into target/small. With --local it is the one for
# local sessions only, and is also copied to target/small/local.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=() features=()
[ "${1:-}" != --local ] || features=(--no-default-features)
case "$(uname -s)-$(uname -m)" in
    # Rust links with its bundled lld here, which can merge identical functions.
    Linux-x86_64) flags=(-Clinker="$PWD/bindings/linker.sh" -Clink-arg=-Wl,--icf=all) ;;
    Linux-*) flags=(-Clinker="$PWD/bindings/linker.sh") ;;
esac
# One crate type only: with an rlib in the same build, rustc does not optimize across crates.
cargo rustc --quiet --profile small -p bowline-ffi --lib --crate-type cdylib ${features[@]+"${features[@]}"} -- ${flags[@]+"${flags[@]}"}
[ "${1:-}" = --local ] || exit 0
extension=so
[ "$(uname -s)" != Darwin ] || extension=dylib
mkdir -p target/small/local
cp "target/small/libbowline_ffi.$extension" target/small/local
