#!/usr/bin/env bash
# Builds the library as it ships, for this machine, into target/small.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=()
case "$(uname -s)-$(uname -m)" in
    # Rust links with its own lld here, which makes one of functions that are alike.
    Linux-x86_64) flags=(-Clinker="$PWD/bindings/linker.sh" -Clink-arg=-Wl,--icf=all) ;;
    Linux-*) flags=(-Clinker="$PWD/bindings/linker.sh") ;;
esac
# Of one kind alone: Rust optimizes nothing over crates when a library for other Rust is made as well.
exec cargo rustc --quiet --profile small -p bowline-ffi --lib --crate-type cdylib -- ${flags[@]+"${flags[@]}"}
