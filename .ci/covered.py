"""Fails when an exported method has no test in Swift or in Kotlin, or an example is not compiled.

The names come from the generated sources. A test file says in its first line which types it tests
(`// Tests: Recording, ChangeStream`); these files must call every method of theirs whose name other
types have as well. A name that only one type has may be called anywhere.
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
    """Methods by type; free functions under None."""
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
        # Free functions stand between ticks, at the left.
        free = re.match(r" *(?:@.*)? ?(?:suspend )?fun `(\w+)`\(", line)
        if not current and free and not line.startswith("   "):
            methods.setdefault(None, set()).add(free.group(1))
    return methods


def tests(folder):
    """The text of the tests of each type, and all of it."""
    by_type, everything = {}, ""
    for file in sorted(folder.rglob("*.*")):
        text = file.read_text()
        everything += text
        header = re.match(r"// Tests: (.*)", text)
        for name in header.group(1).split(",") if header else []:
            by_type[name.strip()] = by_type.get(name.strip(), "") + text
    return by_type, everything


def examples():
    """The examples of the README that are not those that are compiled."""
    readme = (ROOT / "README.md").read_text()
    for language, path in EXAMPLES.items():
        block = re.search(rf"```{language}\n(.*?)```", readme, re.S).group(1)
        lines = [line.strip() for line in block.splitlines()]
        compiled = iter([line.strip() for line in (ROOT / path).read_text().splitlines()])
        if not all(line in compiled for line in lines):
            yield f"README.md: its {language} is not that of {path}"


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
                    missing.append(f"{language}: {name or 'the library'}.{method} has no test")
    for line in missing:
        print(f"covered: {line}", file=sys.stderr)
    print(f"covered: {count} exports, {len(missing)} complaints")
    return 1 if missing or count < 100 else 0


sys.exit(main())
