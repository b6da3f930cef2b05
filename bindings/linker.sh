#!/usr/bin/env bash
# Links with `cc`, without UniFFI's metadata. Only the generators read it, and they use a debug build:
# symbols that are not exported are dropped by the linker.
set -euo pipefail
for argument; do
    case "$argument" in
        -Wl,--version-script=*) sed -i '/UNIFFI_META_/d' "${argument#*=}" ;;
    esac
done
exec cc "$@"
