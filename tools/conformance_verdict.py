#!/usr/bin/env python3
"""conformance_verdict.py OUT: what the conformance suite found, and whether that is good enough.

OUT has one folder per leg, filled by conformance.sh: `expected` names the scenarios that were to be
run; each has a folder SCENARIO-TIME somewhere below with the suite's checks.json, and for a client
beside that folder `status`, the exit code of the suite. Every FAILURE and every WARNING counts,
whether the suite scores it or not, and so does everything that was not really tried.
"""

import collections
import fnmatch
import json
import pathlib
import re
import sys

# Extensions that are not there yet. What is found in them is told and does not count.
DEFERRED = ["tasks-*", "sep-2640-*"]

# Checks that the suite passes over with INFO where there was nothing to see. We have it to show.
MUST_SUCCEED = {"server-sse-polling": ["server-sse-disconnect-resume"]}

STATUSES = ["SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"]
RESULT = re.compile(r"^(server-)?(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z$")


def deferred(scenario):
    return any(fnmatch.fnmatchcase(scenario, pattern) for pattern in DEFERRED)


def one_line(text):
    text = " ".join(str(text).split())
    return text if len(text) <= 400 else text[:400] + "…"


def read_checks(folder):
    """The checks, and a sentence if they cannot be read."""
    path = folder / "checks.json"
    if not path.is_file():
        return [], f"no checks.json in {folder}"
    try:
        checks = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        return [], f"{path}: {error}"
    if not isinstance(checks, list) or not all(isinstance(check, dict) for check in checks):
        return [], f"{path} is not a list of checks"
    return checks, None


def troubles_of(scenario, folder, checks):
    """What is wrong in one scenario, a line each."""
    troubles = []
    for check in checks:
        status = check.get("status")
        if status in ("FAILURE", "WARNING") or status not in STATUSES:
            why = check.get("errorMessage") or check.get("description") or "no message"
            troubles.append(f"{status} {scenario} {check.get('id')}: {one_line(why)}")
    good = {check.get("id") for check in checks if check.get("status") == "SUCCESS"}
    if not good and not troubles:
        troubles.append(f"NOTHING {scenario}: no check has succeeded or failed")
    for wanted in MUST_SUCCEED.get(scenario, []):
        if wanted not in good and not any(f" {wanted}:" in trouble for trouble in troubles):
            troubles.append(f"NOTHING {scenario} {wanted}: did not succeed")
    status = folder.parent / "status"
    if not troubles and status.is_file() and status.read_text().strip() != "0":
        troubles.append(
            f"STATUS {scenario}: all checks are good, but the client failed or took too long")
    said = folder / "stderr.txt"
    if troubles and said.is_file():
        if words := one_line(said.read_text(encoding="utf-8", errors="replace")):
            troubles.append(f"  the client said: {words}")
    return troubles


def judge(leg):
    """Prints what is to be said of a leg; True if it is good."""
    results = collections.defaultdict(list)
    for folder in sorted(path for path in leg.rglob("*") if path.is_dir()):
        if match := RESULT.match(folder.name):
            results[match["scenario"]].append(folder)
    expected = (leg / "expected").read_text(encoding="utf-8").split()

    counts = collections.Counter()
    troubles = []
    put_off = []
    tried = 0
    for scenario in sorted(set(expected) | set(results)):
        found = collections.Counter()
        wrong = []
        for folder in results[scenario]:
            checks, unreadable = read_checks(folder)
            found.update(check.get("status") for check in checks)
            wrong += [f"NOTHING {scenario}: {unreadable}"] if unreadable else troubles_of(
                scenario, folder, checks)
        if not results[scenario]:
            wrong.append(f"NOTHING {scenario}: was to be run and was not")
        if deferred(scenario):
            put_off.append(f"{scenario} ({found['SUCCESS']} SUCCESS, {found['FAILURE']} FAILURE)")
            continue
        tried += len(results[scenario])
        counts += found
        troubles += wrong
    if tried == 0:
        troubles.append("NOTHING: the leg has tried nothing")

    print(f"{leg.name}: {tried} scenarios: " +
          ", ".join(f"{counts[status]} {status}" for status in STATUSES))
    for trouble in troubles:
        print(f"  {trouble}")
    for scenario in put_off:
        print(f"  deferred: {scenario}")
    return not troubles


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    legs = sorted(path.parent for path in pathlib.Path(sys.argv[1]).glob("*/expected"))
    good = [judge(leg) for leg in legs]
    if not legs:
        print("conformance: FAILED: there is no leg")
    elif not all(good):
        print(f"conformance: FAILED: {good.count(False)} of {len(good)} legs; "
              f"what the suite and the programs said is in {sys.argv[1]}")
    else:
        print(f"conformance: ok: {len(good)} legs; deferred: {', '.join(DEFERRED)}")
    sys.exit(0 if legs and all(good) else 1)


if __name__ == "__main__":
    main()
