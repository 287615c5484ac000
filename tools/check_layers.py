#!/usr/bin/env python3
"""Checks who includes whom against tools/modules.txt.

- a module includes only itself and the modules it may use;
- public headers include the standard library and godwit/ only (adapters also their library);
- a library is included only in the sources of a module that lists it;
- the private headers of one module are not included by another that may not ("name*").
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')

# Folders of headers that are not modules: which modules and which libraries they may use.
ADAPTERS = {"nlohmann": "nlohmann"}

# System call headers, for the modules that list "posix".
POSIX = re.compile(
    r"^((sys|netinet|arpa|net|linux|asm)/.*"
    r"|(dirent|dlfcn|fcntl|grp|netdb|poll|pthread|pty|pwd|sched|semaphore|spawn|syslog|termios|"
    r"unistd|utime|wait|strings)\.h)$")
# Instructions of the processor: the compiler's own headers.
INTRINSICS = re.compile(r"^(immintrin|x86intrin|emmintrin|smmintrin|tmmintrin|nmmintrin|wmmintrin|"
                        r"arm_neon|cpuid)\.h$")
STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath codecvt compare complex concepts condition_variable coroutine
csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque
exception execution expected filesystem flat_map flat_set format forward_list fstream functional
future generator initializer_list iomanip ios iosfwd iostream istream iterator latch limits list
locale map mdspan memory memory_resource mutex new numbers numeric optional ostream print queue
random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span
spanstream sstream stack stacktrace stdexcept stdfloat stop_token streambuf string string_view
strstream syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map
unordered_set utility valarray variant vector version
assert.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h
stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h uchar.h wchar.h
wctype.h
""".split())


def read_modules():
    uses, insides, externals = {}, {}, {}
    for line in (ROOT / "tools/modules.txt").read_text().splitlines():
        if not re.match(r"[a-z]", line):
            continue
        name, used, libraries = (part.strip() for part in line.split(":"))
        closed = {name}
        insides[name] = {other.rstrip("*") for other in used.split() if other.endswith("*")}
        for other in used.split():
            closed |= uses[other.rstrip("*")]
        uses[name] = closed
        externals[name] = set(libraries.split())
    return uses, insides, externals


def module_of_public(path):
    """The module of a public header named by its path below include/godwit/, or "*" for all."""
    parts = pathlib.PurePosixPath(path).parts
    if len(parts) > 1:
        return parts[0]
    stem = parts[0].removesuffix(".hpp")
    return "*" if stem == "godwit" else stem


class Checker:
    def __init__(self):
        self.uses, self.insides, self.externals = read_modules()
        self.errors = []

    def error(self, path, number, text):
        self.errors.append(f"{path.relative_to(ROOT)}:{number}: {text}")

    def includes(self, path):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)

    def check_module_use(self, path, number, module, header):
        """A godwit/ header, included by a file of module."""
        below = header.removeprefix("godwit/")
        if not (ROOT / "include" / header).exists():
            self.error(path, number, f"<{header}> does not exist")
            return
        target = module_of_public(below)
        if target == "adapters":
            self.error(path, number, f"nothing in godwit includes an adapter ({header})")
        elif target == "*":
            self.error(path, number, f"<{header}> is for users; include what you need")
        elif target not in self.uses[module]:
            self.error(path, number, f"{module} may not use {target} (tools/modules.txt): {header}")

    def public_header(self, path):
        below = path.relative_to(ROOT / "include/godwit").as_posix()
        module = module_of_public(below)
        adapter = ADAPTERS.get(path.stem) if module == "adapters" else None
        if module not in self.uses and module not in ("*", "adapters"):
            self.error(path, 1, f"\"{module}\" is not a module (tools/modules.txt)")
            return
        for number, kind, header in self.includes(path):
            if header in STANDARD and kind == "<":
                continue
            if header.startswith("godwit/"):
                if module in self.uses:
                    self.check_module_use(path, number, module, header)
                elif not (ROOT / "include" / header).exists():
                    self.error(path, number, f"<{header}> does not exist")
                continue
            if adapter and header.startswith(adapter + "/"):
                continue
            self.error(path, number,
                       f"public headers include the standard library and godwit/ only: {header}")

    def source(self, path):
        module = path.relative_to(ROOT / "src").parts[0]
        if module not in self.uses:
            self.error(path, 1, f"src/{module} is not a module (tools/modules.txt)")
            return
        for number, kind, header in self.includes(path):
            if kind == "<" and (header in STANDARD or INTRINSICS.match(header)):
                continue
            if header.startswith("godwit/"):
                self.check_module_use(path, number, module, header)
            elif kind == '"':
                self.private_include(path, number, module, header)
            elif not self.allowed_external(module, header):
                self.error(path, number, f"{module} may not include <{header}> (tools/modules.txt)")

    def private_include(self, path, number, module, header):
        for base in (path.parent, ROOT / "src"):
            target = (base / header).resolve()
            if not target.exists():
                continue
            allowed = [(ROOT / "src" / name).resolve() for name in {module} | self.insides[module]]
            if not any(folder in target.parents for folder in allowed):
                self.error(path, number, f"\"{header}\" is private to another module")
            return
        self.error(path, number, f"\"{header}\" is neither beside this file nor below src/")

    def allowed_external(self, module, header):
        for name in self.externals[module]:
            if name == "posix" and POSIX.match(header):
                return True
            if header in (name + ".h", name + ".hpp") or header.startswith(name + "/"):
                return True
        return False

    def run(self):
        for path in sorted((ROOT / "include").rglob("*")):
            if path.is_file():
                if path.suffix != ".hpp":
                    self.error(path, 1, "public headers end in .hpp")
                else:
                    self.public_header(path)
        if (ROOT / "src").is_dir():
            for path in sorted((ROOT / "src").rglob("*")):
                if path.suffix in (".cpp", ".hpp"):
                    self.source(path)
        for error in self.errors:
            print(error)
        return 1 if self.errors else 0


if __name__ == "__main__":
    sys.exit(Checker().run())
