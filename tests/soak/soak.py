#!/usr/bin/env python3
"""Loads, hurts and attacks our server, prints what it measured and judges it.

Called by "./dev soak" once build/release/bin has soak_server and soak_client; GODWIT_SOAK_PROGRAMS
names another folder (and GODWIT_SOAK_TESTS that of tests, instead of build/dev/bin). A part fails if what is promised was not kept; then the exit code is 1. The
seed is printed first, and --seed repeats its choices.
"""
import argparse
import random
import resource
import sys
import time

from allocations import allocations
from company import blocking, slow
from cuts import cuts
from drain import drain
from floods import sessions, silent, unused
from hoards import kept, resumes
from memory import leaks, million, streams
from rig import PROGRAMS, Failure, Server

PARTS = {
    "cuts": (cuts, "streams that a proxy cuts, stalls and dribbles"),
    "streams": (streams, "memory of sessions and of idle streams"),
    "slow": (slow, "good clients beside slow and silent connections"),
    "blocking": (blocking, "quick calls beside a tool that blocks"),
    "sessions": (sessions, "good clients beside a flood of sessions"),
    "unused": (unused, "sessions that are begun and never used"),
    "silent": (silent, "silent connections over TCP and unix sockets"),
    "kept": (kept, "clients that make the server keep as much as it can"),
    "resumes": (resumes, "streams that are asked for again and not read"),
    "allocations": (allocations, "requests whose n-th allocation fails, for every n"),
    "drain": (drain, "SIGTERM under load"),
    "leaks": (leaks, "what connections of every kind leave behind"),
    "million": (million, "memory over a million calls"),
}


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev soak", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Loads, hurts and attacks the server and judges what was measured.",
        epilog="parts:\n" + "\n".join(f"  {name:11} {about}" for name, (_, about) in PARTS.items()))
    parser.add_argument("parts", nargs="*", metavar="PART", help="all of them if none is named")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--quick", action="store_true", help="smaller numbers, in less time")
    parser.add_argument("--threads", type=int, default=1, help="of the server")
    chosen = parser.parse_args()
    for part in chosen.parts:
        if part not in PARTS:
            parser.error(f'there is no part "{part}"')
    return chosen


def run(name, chosen):
    """Whether the part is fine."""
    work, about = PARTS[name]
    print(f"{name}: {about}", flush=True)
    begin = time.monotonic()
    try:
        work(chosen.seed, chosen.quick)
        verdict = "ok"
    except Failure as failure:
        verdict = f"FAILED: {failure}"
    except (OSError, TimeoutError) as error:
        verdict = f"FAILED: {error!r}"
    print(f"{name}: {verdict} ({time.monotonic() - begin:.1f} s)", flush=True)
    return verdict == "ok"


def main():
    chosen = arguments()
    # A descriptor for each of thousands of connections, here and in the server, which inherits it.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for program in ("soak_server", "soak_client"):
        if not (PROGRAMS / program).exists():
            sys.exit(f"soak: there is no {PROGRAMS / program}; ./dev soak makes it")
    Server.flags = ["--threads", str(chosen.threads)]
    print(f"seed {chosen.seed}, {chosen.threads} thread(s)", flush=True)
    begin = time.monotonic()
    failed = [name for name in chosen.parts or PARTS if not run(name, chosen)]
    print(f"soak: {'FAILED: ' + ', '.join(failed) if failed else 'ok'} "
          f"({time.monotonic() - begin:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
