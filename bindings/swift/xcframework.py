"""Assembles an xcframework from the static libraries that build-xcframework.sh has built, and its zip.

    xcframework.py OUT BUILT HEADER MODULE_MAP TARGET...

OUT is the folder to write, OUT.zip its archive. The library of a Rust target is
BUILT/TARGET/small/libbowline_ffi.a. Prints the checksum of the zip, which SwiftPM wants with its address
(`swift package compute-checksum`: SHA-256). The same inputs give the same zip. Needs no tool of Apple's.
"""

import hashlib
import pathlib
import plistlib
import shutil
import struct
import sys
import zipfile

NAME = "libbowline_ffi.a"

# Rust's name of a target: Apple's platform, variant and architecture.
TARGETS = {
    "aarch64-apple-darwin": ("macos", "", "arm64"),
    "x86_64-apple-darwin": ("macos", "", "x86_64"),
    "aarch64-apple-ios": ("ios", "", "arm64"),
    "aarch64-apple-ios-sim": ("ios", "simulator", "arm64"),
    "x86_64-apple-ios": ("ios", "simulator", "x86_64"),
}

# `cputype` and `cpusubtype` of <mach/machine.h>.
CPUS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}

# `FAT_MAGIC` of <mach-o/fat.h>. All numbers of its header are big-endian.
FAT_MAGIC = 0xCAFEBABE

# Slices begin at a multiple of 2^14 bytes, the page size of arm64.
ALIGNMENT = 14


def fat(libraries):
    """Returns one file with the libraries of several architectures, as lipo(1) writes it."""
    if len(libraries) == 1:
        return next(iter(libraries.values()))
    header = struct.pack(">II", FAT_MAGIC, len(libraries))
    slices = b""
    at = aligned(len(header) + 20 * len(libraries))
    start = at
    for architecture, content in libraries.items():
        header += struct.pack(">IIIII", *CPUS[architecture], at, len(content), ALIGNMENT)
        slices += content + bytes(aligned(len(content)) - len(content))
        at += aligned(len(content))
    if at > 0xFFFFFFFF:
        sys.exit("xcframework: the libraries exceed 4 GiB, the limit of a fat file")
    return header + bytes(start - len(header)) + slices


def aligned(size):
    return -(-size // (1 << ALIGNMENT)) << ALIGNMENT


def assemble(out, built, headers, targets):
    platforms = {}
    for target in targets:
        platform, variant, architecture = TARGETS[target]
        library = (built / target / "small" / NAME).read_bytes()
        platforms.setdefault((platform, variant), {})[architecture] = library
    shutil.rmtree(out, ignore_errors=True)
    libraries = []
    for (platform, variant), slices in platforms.items():
        name = "-".join(filter(None, [platform, "_".join(slices), variant]))
        # A subdirectory for the module: a flat Headers/module.modulemap collides with that of other packages.
        module = out / name / "Headers" / "BowlineCoreFFI"
        module.mkdir(parents=True)
        for header in headers:
            shutil.copyfile(header, module / header.name)
        (out / name / NAME).write_bytes(fat(slices))
        entry = {
            "BinaryPath": NAME,
            "HeadersPath": "Headers",
            "LibraryIdentifier": name,
            "LibraryPath": NAME,
            "SupportedArchitectures": list(slices),
            "SupportedPlatform": platform,
        }
        libraries.append(entry | ({"SupportedPlatformVariant": variant} if variant else {}))
    content = {
        "AvailableLibraries": libraries,
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
    }
    (out / "Info.plist").write_bytes(plistlib.dumps(content))


def archive(folder, path):
    """Writes a zip of the folder, in order of names and without times."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for file in sorted(it for it in folder.rglob("*") if it.is_file()):
            entry = zipfile.ZipInfo(str(file.relative_to(folder.parent)))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, file.read_bytes())


def main(out, built, header, module_map, *targets):
    out = pathlib.Path(out)
    assemble(out, pathlib.Path(built), [pathlib.Path(header), pathlib.Path(module_map)], targets)
    path = out.with_name(out.name + ".zip")
    archive(out, path)
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name(path.name + ".checksum").write_text(checksum + "\n")
    print(checksum)


main(*sys.argv[1:])
