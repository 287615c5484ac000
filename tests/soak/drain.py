"""SIGTERM under load.

Every request ends in one of these ways:
  answered  a whole answer came, a result or an error of the protocol
  refused   a whole answer came that says 503: nothing was run
  closed    the connection ended before the first byte of an answer: also the rest of a burst, once
            an answer has said "Connection: close"
  cut       the connection ended in the middle of an answer
A server that drains well cuts none, and answers all that its handlers did: nothing that left a
trace may be refused or closed. It is gone in 6 s, with 0.
"""
import asyncio
import collections
import random
import time

from rig import Cut, Server, Wire, call, demand, say

WORKERS = 32
WITHIN = 6


class Load:
    def __init__(self, server, generator):
        self.server, self.random = server, generator
        self.session = server.open_session()
        self.ends, self.sent = {}, {}  # by tag; when
        self.resets = 0

    def requests(self, worker, turn):
        """A few that are sent at once on one connection."""
        session = self.session if self.random.random() < 0.5 else None
        kind = self.random.choice(["one", "burst", "slow", "stream"])
        tags = [f"{worker}.{turn}.{i}" for i in range(8 if kind == "burst" else 1)]
        return [(tag, self.request(kind, tag, session)) for tag in tags]

    def request(self, kind, tag, session):
        port = self.server.port
        if kind == "stream":
            arguments = {"tag": tag, "count": 10, "milliseconds": self.random.randint(1, 40)}
            return call(port, tag, "steps", arguments, session, progress=True)
        if kind == "slow":
            arguments = {"tag": tag, "milliseconds": self.random.randint(1, 600)}
            return call(port, tag, "slow_mark", arguments, session)
        return call(port, tag, "mark", {"tag": tag}, session)

    async def worker(self, number):
        """Goes on until the server is gone."""
        turn = 0
        while True:
            try:
                wire = await Wire.connect(self.server.port)
            except OSError:
                return
            try:
                while not wire.last:
                    turn += 1
                    await self.exchange(wire, self.requests(number, turn))
            except (Cut, OSError) as error:
                self.resets += "reset" in str(error).lower()
            finally:
                wire.close()

    async def exchange(self, wire, requests):
        for tag, _ in requests:
            self.ends[tag] = "closed"
        await wire.send(b"".join(request for _, request in requests))
        self.sent.update((tag, time.monotonic()) for tag, _ in requests)
        for tag, _ in requests:
            try:
                status, answer = await wire.result()
            except Cut as cut:
                if cut.partial:
                    self.ends[tag] = "cut"
                raise
            demand(answer and (status == 503 or answer["id"] == tag), f"{tag} got {answer}")
            self.ends[tag] = "refused" if status == 503 else "answered"


async def one_round(generator):
    with Server() as server:
        load = Load(server, generator)
        workers = [asyncio.create_task(load.worker(i)) for i in range(WORKERS)]
        await asyncio.sleep(generator.uniform(0.3, 0.9))
        begin = time.monotonic()
        server.terminate()
        while server.process.poll() is None and time.monotonic() - begin < 2 * WITHIN:
            await asyncio.sleep(0.01)
        took = time.monotonic() - begin
        await asyncio.wait_for(asyncio.gather(*workers), 5)
        judge(load, server, took)
        ends = collections.Counter(load.ends.values())
        ends["sent before the signal"] = sum(
            end == "closed" and load.sent.get(tag, begin) < begin
            for tag, end in load.ends.items())
        return took, ends, load.resets


def judge(load, server, took):
    code = server.process.poll()
    demand(code == 0 and took <= WITHIN, f"exit code {code} after {took:.2f} s")
    traces = collections.Counter(tag for what, tag in server.trace() if what != "begin")
    begun = {tag for what, tag in server.trace() if what == "begin"}
    ran = set(traces) | begun
    unanswered = sorted(tag for tag in ran if load.ends[tag] != "answered")
    untrue = sorted(tag for tag, end in load.ends.items() if end == "answered" and tag not in ran)
    cut = [tag for tag, end in load.ends.items() if end == "cut"]
    demand(not cut, f"{len(cut)} answers were cut in the middle: {cut[:5]}")
    demand(not unanswered, f"{len(unanswered)} calls were run but not answered: "
           f"{[(tag, load.ends[tag]) for tag in unanswered[:5]]}")
    demand(not untrue, f"answered without having run: {untrue[:5]}")
    demand(max(traces.values()) == 1, "a call ran twice")


def drain(seed, quick):
    generator = random.Random(seed)
    rounds, ends, times, resets = (3 if quick else 12), collections.Counter(), [], 0
    for _ in range(rounds):
        took, round_ends, round_resets = asyncio.run(one_round(generator))
        times.append(took)
        ends += round_ends
        resets += round_resets
    say(f"{rounds} times SIGTERM under {WORKERS} clients: "
        + ", ".join(f"{ends[name]} {name}" for name in ("answered", "refused", "cut", "closed"))
        + f" ({ends['sent before the signal']} of these sent before the signal), "
        f"{resets} connections reset; gone within {max(times):.2f} s")
