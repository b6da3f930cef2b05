#!/usr/bin/env bash
# Links as `cc` does, but for the descriptions that UniFFI's generators alone read, which take them from
# a debug build: without their names on the list of exports the linker leaves them out.
set -euo pipefail
for argument; do
    case "$argument" in
        -Wl,--version-script=*) sed -i '/UNIFFI_META_/d' "${argument#*=}" ;;
    esac
done
exec cc "$@"
