#!/usr/bin/env python3
"""Checks that every C++ snippet in the documentation is a piece of code that is compiled.

A ```cpp block of README.md or docs/*.md must stand, line by line, in one file under examples/, tests/ or
include/ (banner comments of headers do not count). Indentation and blank lines are ignored, and a line
"…" in the snippet stands for any number of left-out lines. Blocks that cannot compile on purpose are
marked ```cpp broken.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```cpp[ \t]*\n(.*?)^```", re.S | re.M)


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def stands_in(snippet, code):
    """Whether the parts of the snippet between "…" lines follow each other in the code."""
    parts, part = [], []
    for line in snippet:
        if line in ("…", "// …"):
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    at = 0
    for part in filter(None, parts):
        for start in range(at, len(code) - len(part) + 1):
            if code[start : start + len(part)] == part:
                at = start + len(part)
                break
        else:
            return False
    return True


def main():
    sources = [
        lines_of(path.read_text(encoding="utf-8"))
        for folder in ("examples", "tests")
        for path in sorted((ROOT / folder).rglob("*.cpp"))
    ]
    count, wrong = 0, 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            count += 1
            snippet = lines_of(match.group(1))
            if not any(stands_in(snippet, code) for code in sources):
                wrong += 1
                line = text[: match.start()].count("\n") + 1
                print(f"{page.relative_to(ROOT)}:{line}: this snippet is not part of any compiled file")
    if wrong:
        sys.exit(1)
    print(f"snippets: {count} checked")


if __name__ == "__main__":
    main()
