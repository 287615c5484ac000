#!/usr/bin/env python3
"""Small rules that a compiler does not know, each with its reason beside it."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORE = {"base", "json", "rpc", "mcp", "server", "client"}

TOKEN = re.compile(
    r'(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")'
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*.*?\*/)"
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')",
    re.DOTALL)

REVISION = re.compile(r"\b20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b")
SHELL = re.compile(r"(?<![\w.>])(?:std::|::)?(system|popen|wordexp)\s*\(")
NAMESPACE = re.compile(r"^namespace godwit(?!::inline v0\b)", re.M)
# A pointer or a flag in shared memory that a destructor empties: Lifetime does that.
LIFE_TOKEN = re.compile(r"\b(?:shared_ptr|make_shared)\s*<\s*(?:bool|[\w:]+\s*\*)\s*>")
SHARED_SELF = re.compile(r"\benable_shared_from_this\s*<")
DECLARATION = re.compile(r"^\s*(?:class|struct|template)\b")
COROUTINE = re.compile(r"\b(co_await|co_return|co_yield)\b")

# What the rest of the library sees of the eras.
ERA_HEADERS = {"codec", "eras", "messages", "operation", "stateless_headers", "tool_param_headers"}
ERA_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"mcp/era/(\w+)\.hpp"', re.M)
COMPARES_REVISION = re.compile(r"\brevision(?:\(\))?\s*[=!]=|[=!]=\s*(?:\w+(?:\.|->))*revision\b")
FEATURE_QUESTION = re.compile(r"\bbool\s+(\w+)\s*\(\s*\)\s*const")


def split(text):
    """The text without comments and literals (lines kept), and the string literals by line."""
    literals = []

    def blank(match):
        if match.group("raw") or match.group("string"):
            literals.append((text.count("\n", 0, match.start()) + 1, match.group()))
        return re.sub(r"[^\n]", " ", match.group())

    return TOKEN.sub(blank, text), literals


def line_of(text, position):
    return text.count("\n", 0, position) + 1


# What may stand before the brace of a namespace or the name of a type, and the braces themselves.
SCOPE = re.compile(
    r"\bnamespace\s*(?P<namespace>[\w:\s]*?)\s*\{"
    r"|\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:GODWIT_API\s+|alignas\([^)]*\)\s*)*"
    r"(?P<type>\w+(?:::\w+)*)(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?\{"
    r"|\busing\s+(?P<alias>\w+)\s*="
    r"|(?P<open>\{)|(?P<close>\})")


def definitions(code):
    """Types and aliases at namespace scope: (qualified name, position). Unnamed namespaces are left
    out, since what they hold belongs to one source alone; so are specialisations."""
    scopes = []  # the name of a namespace, "" for an unnamed one, None for any other brace
    for found in SCOPE.finditer(code):
        if found.group("close"):
            if scopes:
                scopes.pop()
            continue
        name = found.group("type") or found.group("alias")
        if name and None not in scopes and "" not in scopes:
            yield "::".join(scopes + [name]), found.start()
        if found.group("namespace") is not None:
            words = found.group("namespace").replace("inline", " ").replace(" ", "")
            scopes.append(words)
        elif not found.group("alias"):
            scopes.append(None)


def check_definitions(files, errors):
    # A linker joins two types of one name in silence, whatever they hold.
    first = {}
    for path in files:
        where = path.relative_to(ROOT).as_posix()
        code, _ = split(path.read_text(errors="replace"))
        for name, position in definitions(code):
            place = f"{where}:{line_of(code, position)}"
            # Two in one source are for the compiler to find, and may be the branches of an #if.
            if first.setdefault(name, (where, place))[0] != where:
                errors.append(f"{place}: {name} is defined in {first[name][1]} already")


def reason_above(lines, number):
    """The comment on this line, or above the declaration that it is part of."""
    first = number
    while first > 0 and (not DECLARATION.match(lines[first])
                         or re.match(r"\s*template\b", lines[first - 1])):
        first -= 1
    above = first
    while above > 0 and lines[above - 1].lstrip().startswith("//"):
        above -= 1
    return " ".join(line.strip().lstrip("/ ") for line in lines[above:first]) + lines[number]


def check_eras(where, text, code, errors):
    # After a codec is chosen nobody asks which revision it is, or what follows from that: the traits
    # of revisions are known to their era alone.
    if not where.startswith("src/mcp/era/"):
        for found in ERA_INCLUDE.finditer(text):
            if found.group(1) not in ERA_HEADERS:
                errors.append(f"{where}:{line_of(text, found.start())}: {found.group(1)}.hpp is for "
                              "its era alone; say what you want to express to a Codec")
    if where.startswith("src/") and where != "src/mcp/era/select.cpp":
        for found in COMPARES_REVISION.finditer(code):
            errors.append(f"{where}:{line_of(code, found.start())}: compares revisions; "
                          "only src/mcp/era/select.cpp does")
    if where in ("src/mcp/era/codec.hpp", "src/mcp/era/eras.hpp"):
        for found in FEATURE_QUESTION.finditer(code):
            errors.append(f"{where}:{line_of(code, found.start())}: {found.group(1)}() asks what a "
                          "revision has; a codec says what a caller wants to express")


def check(path, errors):
    where = path.relative_to(ROOT).as_posix()
    text = path.read_text(errors="replace")
    code, literals = split(text)

    # One file compares protocol revisions; a literal elsewhere is a second opinion.
    if not where.startswith("src/mcp/era/"):
        for number, literal in literals:
            found = REVISION.search(literal)
            if found:
                errors.append(f"{where}:{number}: protocol revision {found.group()} "
                              "outside src/mcp/era")

    check_eras(where, text, code, errors)

    # A command line is an argv vector, never a text that a shell takes apart.
    for found in SHELL.finditer(code):
        errors.append(f"{where}:{line_of(code, found.start())}: {found.group(1)}() starts a shell")
    for number, literal in literals:
        if literal in ('"/bin/sh"', '"sh"', '"bash"', '"/bin/bash"'):
            errors.append(f"{where}:{number}: {literal} starts a shell")

    # g++ 12 miscompiles coroutines, and the core must run inside any event loop.
    parts = path.relative_to(ROOT).parts
    module = parts[1] if parts[0] == "src" else pathlib.Path(parts[2]).stem
    if module in CORE:
        for found in COROUTINE.finditer(code):
            errors.append(f"{where}:{line_of(code, found.start())}: {found.group()} in the core")

    # One way to notice that an object was destroyed (docs/decisions/0013); others need a reason.
    for found in LIFE_TOKEN.finditer(code):
        errors.append(f"{where}:{line_of(code, found.start())}: {found.group()} as a sign of life; "
                      "use godwit/base/lifetime.hpp")
    lines = text.split("\n")
    for found in SHARED_SELF.finditer(code):
        number = line_of(code, found.start())
        if "Shared because" not in reason_above(lines, number - 1):
            errors.append(f"{where}:{number}: enable_shared_from_this without a comment that says "
                          '"Shared because …"; to notice destruction, godwit/base/lifetime.hpp')

    # g++ extends an inline namespace that is left out; clang opens another one of the same name.
    for found in NAMESPACE.finditer(code):
        errors.append(f"{where}:{line_of(code, found.start())}: write namespace godwit::inline v0…")

    if path.suffix == ".hpp" and "#pragma once" not in text and "#ifndef GODWIT_" not in text:
        errors.append(f"{where}:1: no include guard")


def main():
    errors = []
    files = [path for folder in ("include", "src") for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".cpp", ".hpp")]
    for path in files:
        check(path, errors)
    check_definitions(files, errors)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
