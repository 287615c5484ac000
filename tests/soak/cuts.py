"""Connections that break in the middle of streams."""
import asyncio
import collections
import json
import random
import time

from chaos import ChaosProxy
from rig import (PROGRAMS, STATEFUL, STATELESS, Cut, Failure, Server, Wire, call, demand, listen,
                 say, wait_until)

EVENTS = 120


def cuts(seed, quick):
    with Server() as server:
        asyncio.run(resumed(server, random.Random(seed), 250 if quick else 1000))
    with Server() as server:
        asyncio.run(stateless(server, random.Random(seed), 3 if quick else 10))
    # Our client asks by the name of the proxy.
    with Server("--allow-host", "127.0.0.1") as server:
        asyncio.run(own_client_resumes(server, random.Random(seed), 40 if quick else 120))
        asyncio.run(own_client_fails(server, random.Random(seed)))


# The stateful era: a client comes back with the id of the last event.

class Call:
    """One call, however many connections it takes."""

    def __init__(self, server, proxy, session, tag):
        self.server, self.proxy, self.session, self.tag = server, proxy, session, tag
        self.lost_starts = 0
        self.events = []

    async def run(self):
        while not await self.attempt():
            pass
        self.check()

    async def attempt(self):
        wire = await Wire.connect(self.proxy.port)
        try:
            await wire.send(self.request())
            status, fields, _ = await wire.head()
            if status != 200:
                raise Failure(f"{self.tag}: {status} after {self.events[-1:]}")
            async for event in wire.events(fields):
                self.events.append(event)
            demand(self.answered(), f"{self.tag}: the stream ended without an answer")
        except (Cut, OSError):
            pass
        finally:
            wire.close()
        return self.answered()

    def request(self):
        if self.events:
            return listen(self.server.port, self.session, self.events[-1][0])
        # Without an event nobody can know what became of the call: it is made anew.
        self.lost_starts += 1
        tag = f"{self.tag}.{self.lost_starts}"
        arguments = {"tag": tag, "count": EVENTS, "milliseconds": 3}
        return call(self.server.port, tag, "steps", arguments, self.session, progress=True)

    def answered(self):
        return bool(self.events) and '"result"' in self.events[-1][1]

    def check(self):
        streams = {name.rpartition(".")[0] for name, _ in self.events}
        numbers = [int(name.rpartition(".")[2]) for name, _ in self.events]
        demand(len(streams) == 1, f"{self.tag}: events of several streams {streams}")
        demand(numbers == list(range(EVENTS + 2)), f"{self.tag}: event ids {numbers}")
        data = [text for _, text in self.events]
        progress = [json.loads(text)["params"]["progress"] for text in data[1:-1]]
        demand(data[0] == "", f"{self.tag}: no priming event")
        demand(progress == list(range(1, EVENTS + 1)), f"{self.tag}: progress {progress}")
        answer = json.loads(data[-1])
        tag = f"{self.tag}.{self.lost_starts}"
        demand(answer["id"] == tag and answer["result"]["content"][0]["text"] == tag,
               f"{self.tag}: a foreign answer {answer}")


async def resumed(server, generator, wanted):
    calls = []

    async def worker(number, proxy):
        session = server.open_session()
        while proxy.cuts < wanted:
            one = Call(server, proxy, session, f"{number}.{len(calls)}")
            calls.append(one)
            await one.run()

    begin = time.monotonic()
    async with ChaosProxy(server.port, generator, 1500) as proxy:
        await asyncio.wait_for(asyncio.gather(*(worker(i, proxy) for i in range(24))), 90)
    events = sum(len(one.events) for one in calls)
    lost = sum(one.lost_starts - 1 for one in calls)
    say(f"{STATEFUL}: {proxy.cuts} cuts in {len(calls)} calls, {events} events: "
        f"none lost, doubled or out of order ({time.monotonic() - begin:.1f} s; "
        f"{lost} calls made anew that were cut before their first event)")
    demand(proxy.cuts >= wanted, "too few cuts")


# The stateless era: a cut is the end, for both sides.

async def broken_call(server, proxy, tag):
    """From the cut until the client knew that its call had failed."""
    wire = await Wire.connect(proxy.port)
    here = wire.sock.getsockname()[1]
    try:
        arguments = {"tag": tag, "count": 5000, "milliseconds": 2}
        await wire.send(call(server.port, tag, "steps", arguments, progress=True))
        _, fields, _ = await wire.head()
        async for name, data in wire.events(fields):
            demand(name is None, f"{tag}: an event has an id in the stateless era: {name}")
            demand('"result"' not in data, f"{tag}: answered {data} though cut")
        raise Failure(f"{tag}: a cut stream ended as if it were whole")
    except (Cut, OSError):
        return time.monotonic() - proxy.cut_at.get(here, 0)
    finally:
        wire.close()


def still_running(server):
    states = collections.Counter()
    for what, tag in server.trace():
        states[tag] += 1 if what == "begin" else -1
    return [tag for tag, state in states.items() if state > 0]


async def stateless(server, generator, waves):
    failed_after, freed_after, stopped_after, calls = [], [], [], 0
    for wave in range(waves):
        async with ChaosProxy(server.port, generator, 4000, spare_some=False) as proxy:
            ends = [broken_call(server, proxy, f"{wave}.{i}") for i in range(30)]
            failed_after += await asyncio.wait_for(asyncio.gather(*ends), 60)
            calls += len(ends)
            demand(proxy.cuts == len(ends), f"{proxy.cuts} cuts for {len(ends)} calls")
            last_cut = proxy.last_cut
        free, _ = wait_until(lambda: server.metric("open_exchanges") == 0, 3)
        freed_after.append(time.monotonic() - last_cut)
        demand(free, f"{server.metric('open_exchanges')} exchanges stay open")
        stopped, _ = wait_until(lambda: not still_running(server), 3)
        stopped_after.append(time.monotonic() - last_cut)
        demand(stopped, f"handlers work on for nobody: {still_running(server)[:5]}")
    say(f"{STATELESS}: {calls} calls cut; the client failed within {max(failed_after):.3f} s, "
        f"slots were free within {max(freed_after):.3f} s, "
        f"handlers stopped within {max(stopped_after):.3f} s")
    for what in (failed_after, freed_after, stopped_after):
        demand(max(what) <= 1, "that is more than 1 s")


# The same with our own client.

async def own_client(proxy, era, calls, steps, milliseconds):
    """Runs it, with the connection that it opens first left alone; gives what it printed, with the
    time: tag, verdict, progress seen, order, message."""
    proxy.calm = True
    process = await asyncio.create_subprocess_exec(
        PROGRAMS / "soak_client", era, f"http://127.0.0.1:{proxy.port}/mcp",
        *map(str, (calls, steps, milliseconds)),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    try:
        first = await process.stdout.readline()
        demand(first == b"connected\n", f"our client said {first}")
        proxy.calm = False
        process.stdin.write(b"go\n")
        lines = []
        while line := await asyncio.wait_for(process.stdout.readline(), 90):
            verdict, tag, seen, order, why = line.decode().strip("\n").split(" ", 4)
            lines.append((time.monotonic(), tag, verdict, int(seen), order, why))
        demand(await process.wait() == 0 and len(lines) == calls,
               f"our client made {calls} calls and told of {len(lines)}")
        return lines
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def own_client_resumes(server, generator, steps):
    async with ChaosProxy(server.port, generator, 5000) as proxy:
        lines = await own_client(proxy, "stateful", 24, steps, 3)
    good = [line for line in lines if line[2] == "ok"]
    for _, tag, verdict, seen, order, why in lines:
        demand(order == "ordered", f"{tag}: progress came out of order")
        # Cut before its first event a call cannot be resumed: then it must say so.
        demand(seen == steps if verdict == "ok" else seen == 0,
               f"{tag}: {verdict} after {seen} of {steps} events {why}")
    say(f"our client, {STATEFUL}: {proxy.cuts} cuts, {len(good)} of {len(lines)} calls whole, the "
        f"others failed before their first event: {set(line[5] for line in lines if line[5])}")
    demand(len(good) >= len(lines) / 2, "most calls were lost")


async def own_client_fails(server, generator):
    async with ChaosProxy(server.port, generator, 4000, spare_some=False) as proxy:
        lines = await own_client(proxy, "stateless", 30, 500, 3)
        cut_at = sorted(proxy.cut_at.values())
    failed = sorted(line[0] for line in lines if line[2] == "failed")
    # One connection was left alone; each of the others is the end of a call.
    demand(len(failed) == len(cut_at) >= len(lines) - 1,
           f"{len(cut_at)} cuts, {len(failed)} calls of {len(lines)} failed")
    longest = max(known - cut for known, cut in zip(failed, cut_at))
    say(f"our client, {STATELESS}: {len(failed)} calls cut, failed within {longest:.3f} s: "
        f"{set(line[5] for line in lines if line[5])}")
    demand(longest <= 1, "that is more than 1 s")
