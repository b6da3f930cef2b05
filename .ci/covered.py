"""Checks that every exported method has a Swift and a Kotlin test and that README examples are compiled.

The names come from the generated sources. The first line of a test file names the types that it tests
(`// Tests: Recording, ChangeStream`). A method whose name several types share must be called in a file of
its type; a unique name may be called in any file.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "bindings"
GENERATED = ROOT / "kotlin/src/generated/kotlin/dev/bowline/bowline_ffi.kt"
TESTS = {
    "Kotlin": ROOT / "kotlin/src/test/kotlin",
    "Swift": ROOT / "swift/Tests",
}
EXAMPLES = {
    "swift": "swift/Tests/BowlineTests/Readme.swift",
    "kotlin": "kotlin/example/Readme.kt",
}


def exported():
    """Returns the exported methods by type, with free functions under None."""
    methods, current = {}, None
    for line in GENERATED.read_text().splitlines():
        interface = re.match(r"public interface (\w+?)(Interface)? *(:.*)?\{", line)
        if interface:
            current = interface.group(1)
        elif line.startswith("}"):
            current = None
        method = re.match(r" +(?:suspend )?fun `(\w+)`\(", line)
        if current and method:
            methods.setdefault(current, set()).add(method.group(1))
        # Names of exported functions are quoted; free functions are not indented.
        free = re.match(r" *(?:@.*)? ?(?:suspend )?fun `(\w+)`\(", line)
        if not current and free and not line.startswith("   "):
            methods.setdefault(None, set()).add(free.group(1))
    return methods


def tests(folder):
    """Returns the text of the tests by type, and of all tests."""
    by_type, everything = {}, ""
    for file in sorted(folder.rglob("*.*")):
        text = file.read_text()
        everything += text
        header = re.match(r"// Tests: (.*)", text)
        for name in header.group(1).split(",") if header else []:
            by_type[name.strip()] = by_type.get(name.strip(), "") + text
    return by_type, everything


def examples():
    """Yields a message for each README example that differs from the compiled one."""
    readme = (ROOT / "README.md").read_text()
    for language, path in EXAMPLES.items():
        compiled = iter([line.strip() for line in (ROOT / path).read_text().splitlines()])
        blocks = re.findall(rf"```{language}\n(.*?)```", readme, re.S)
        for number, block in enumerate(blocks, 1):
            lines = [line.strip() for line in block.splitlines()]
            if not all(line in compiled for line in lines):
                yield f"README.md: {language} example {number} differs from {path}"
                break


def main():
    missing, count = list(examples()), 0
    methods = exported()
    owners = [method for names in methods.values() for method in names]
    for language, folder in TESTS.items():
        by_type, everything = tests(folder)
        for name, names in methods.items():
            for method in sorted(names):
                count += 1
                is_shared = name and owners.count(method) > 1
                text = by_type.get(name, "") if is_shared else everything
                if not re.search(rf"\b{method}\(", text):
                    missing.append(f"{language}: {name or 'library'}.{method} has no test")
    for line in missing:
        print(f"covered: {line}", file=sys.stderr)
    print(f"covered: {count} exports, {len(missing)} problems")
    return 1 if missing or count < 100 else 0


sys.exit(main())
