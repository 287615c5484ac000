"""The end of memory: each allocation fails in turn, until none is left that did not."""
import os
import pathlib
import re
import subprocess
import time

from rig import ROOT, demand, say

TESTS = pathlib.Path(os.environ.get("GODWIT_SOAK_TESTS", ROOT / "build/dev/bin"))
WITHIN = 300


def allocations(_seed, _quick):
    """Tests of their own, because what fails an allocation must be inside of the process."""
    programs = sorted(TESTS.glob("*_allocation_failure_test"))
    demand(programs, f"there is no {TESTS}/*_allocation_failure_test; ./dev soak makes them")
    for program in programs:
        begin = time.monotonic()
        try:
            done = subprocess.run([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=WITHIN)
        except subprocess.TimeoutExpired:
            demand(False, f"{program.name} hangs")
        said = done.stdout.decode(errors="replace")
        demand(done.returncode == 0,
               f"{program.name} ended with {done.returncode}:\n{said[-2000:]}")
        passed = re.search(r"\[  PASSED  \] (\d+) tests?", said)
        demand(passed and int(passed.group(1)) > 0, f"{program.name} tested nothing")
        say(f"{program.name}: {passed.group(1)} ways, {time.monotonic() - begin:.1f} s")
