"""Bad company: what slow clients and slow tools do to the calls of others.

Rounds with and without company alternate and their medians are compared, so that whatever else the
machine does meanwhile falls on both. The company lives in a process of its own: how long our
interpreter takes for it is not the server's fault.
"""
import multiprocessing
import os
import selectors
import socket
import statistics
import time

from rig import Connection, Cut, Lines, Server, call, demand, listen, say

CONNECTIONS = 8


def prefer(pid, measured):
    """Where that is allowed, the processor is first for those who are measured. A nice value is not
    enough: the process that floods keeps a processor until its slice is over, whoever wakes up
    meanwhile, and then the slice is what is measured (2 to 3 times the quiet p99, with a server
    that was busy for 3 % of the time; 1.0 times with this)."""
    policy, priority = (os.SCHED_FIFO, 10) if measured else (os.SCHED_OTHER, 0)
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setscheduler(int(thread), policy, os.sched_param(priority))
    except PermissionError:
        pass


class GoodClients:
    """One call at a time, in turn over connections, eras alternating."""

    def __init__(self, server):
        self.session = server.open_session()
        self.connections = [Connection(server.port) for _ in range(CONNECTIONS)]
        self.requests = [call(server.port, i, "echo", {"message": "good"},
                              self.session if i % 2 else None) for i in range(CONNECTIONS)]

    def latencies(self, calls):
        out = []
        for i in range(calls):
            connection = self.connections[i % CONNECTIONS]
            begin = time.perf_counter()
            connection.send(self.requests[i % CONNECTIONS])
            status, body, _ = connection.answer()
            out.append(time.perf_counter() - begin)
            demand(status == 200 and b'"good"' in body, f"a good call got {status} {body[:200]}")
            time.sleep(0.0005)  # a load that is the same however fast the answers come
        return out


class GoodLines:
    """The same without HTTP."""

    def __init__(self, server):
        self.session = None
        self.connections = [Lines(server.port, handshake=i % 2) for i in range(CONNECTIONS)]
        self.requests = [one.call("echo", {"message": "good"}) for one in self.connections]

    def latencies(self, calls):
        out = []
        for i in range(calls):
            begin = time.perf_counter()
            try:
                answer = self.connections[i % CONNECTIONS].ask(self.requests[i % CONNECTIONS])
            except (Cut, OSError) as error:
                demand(False, f"a good client lost its connection: {error!r}")
            out.append(time.perf_counter() - begin)
            demand(b'"good"' in answer, f"a good call got {answer[:200]}")
            time.sleep(0.0005)
        return out


class Company:
    """Runs `work(port, session, ready, stop)` in another process for the length of a block."""

    def __init__(self, work, server, session):
        fork = multiprocessing.get_context("fork")
        self.ready, self.stop = fork.Event(), fork.Event()
        self.process = fork.Process(target=work, daemon=True,
                                    args=(server.port, session, self.ready, self.stop))

    def __enter__(self):
        self.process.start()
        prefer(self.process.pid, False)
        demand(self.ready.wait(20), "the company did not come")
        time.sleep(0.3)

    def __exit__(self, *_):
        self.stop.set()
        self.process.join(10)
        if self.process.exitcode != 0:
            self.process.kill()
            demand(False, f"the company ended with {self.process.exitcode}")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def compare(name, work, quick, flags=(), place="http", look=None, spare=0):
    """The longest call in company; prints how calls fare without it and with it. `look` is called
    with the server while the company is there, and whatever it finds is said. In seconds, `spare`
    is what nearly all calls may take in any case."""
    rounds, calls = (3, 800) if quick else (7, 1500)
    quiet, loud, seen = [], [], None
    with Server(*flags, place=place) as server:
        prefer(server.pid, True)
        prefer(os.getpid(), True)
        try:
            good = (GoodClients if place == "http" else GoodLines)(server)
            good.latencies(500)
            for _ in range(rounds):
                quiet.append(good.latencies(calls))
                with Company(work, server, good.session):
                    loud.append(good.latencies(calls))
                    seen = look(server) if look else None
                time.sleep(0.2)
        finally:
            prefer(os.getpid(), False)
    if seen:
        say(seen)
    for label, found in (("quiet", quiet), (name, loud)):
        p50, p99 = (medians(found, share) for share in (0.5, 0.99))
        longest = max(max(one) for one in found)
        say(f"{label}: p50 {p50 * 1e6:.0f} us, p99 {p99 * 1e6:.0f} us, longest "
            f"{longest * 1e3:.1f} ms (medians of {rounds} rounds of {calls} calls)")
    ratio = medians(loud, 0.99) / medians(quiet, 0.99)
    best = [min(percentile(one, 0.99) for one in found) for found in (quiet, loud)]
    say(f"p99 is {ratio:.2f}x; of the best rounds {best[0] * 1e6:.0f} and {best[1] * 1e6:.0f} us")
    demand(ratio <= 2 or medians(loud, 0.99) <= spare, "p99 is more than twice the quiet one")
    return longest


def medians(rounds, share):
    return statistics.median(percentile(one, share) for one in rounds)


# Slow and silent connections.

def slow(_seed, quick):
    compare("with 1000 slow ones", slow_crowd, quick)


def slow_crowd(port, session, ready, stop):
    whole = call(port, 1, "echo", {"message": "slow" * 300})
    halves = [Connection(port) for _ in range(400)]
    for one in halves:
        one.send(whole[:60])
    drips = [Connection(port) for _ in range(400)]
    body = whole.index(b"\r\n\r\n") + 4
    for one in drips:
        one.send(whole[:body])
    deaf = [never_reading(port, session) for _ in range(200)]
    ready.set()
    at = body
    while not stop.is_set():
        for one in drips:
            one.send(whole[at:at + 1])
            time.sleep(1 / len(drips))
        at += 1
    del halves, deaf


def never_reading(port, session):
    """Asks for more than fits into its window, and takes none of it."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", port))
    sock.sendall(call(port, sock.fileno(), "steps",
                      {"tag": "deaf", "count": 50, "milliseconds": 0, "bytes": 1024},
                      progress=True))
    return sock


# Slow tools.

SLEEP = 1.0


def blocking(_seed, quick):
    longest = compare("beside 64 calls of a tool that blocks for 1 s", sleepers, quick)
    demand(longest < SLEEP / 2, f"a call took {longest:.2f} s: it waited for a slow one")


def sleepers(port, session, ready, stop):
    """Twice as many as there are threads for them; half in the session of the good clients."""
    chosen = selectors.DefaultSelector()
    for i in range(64):
        one = Connection(port)
        request = call(port, 1000 + i, "slow_mark",
                       {"tag": "sleeper", "milliseconds": int(SLEEP * 1000)},
                       session if i % 2 else None)
        one.send(request)
        chosen.register(one.sock, selectors.EVENT_READ, (one, request))
    ready.set()
    while not stop.is_set():
        for key, _ in chosen.select(0.1):
            one, request = key.data
            one.more()
            # Whole, as JSON or as the end of a stream: the next one.
            if one.data.endswith((b"}", b"\r\n0\r\n\r\n")):
                one.data = b""
                one.send(request)
