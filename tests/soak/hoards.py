"""Hoards: clients that make the server keep as much as they can. What it keeps has bounds, and good
clients do not notice."""
import socket
import time

from company import compare
from floods import FOREIGN, MB, begin_sessions, limits
from rig import (STATEFUL, Connection, Cut, Server, call, delete, demand, head_of, initialize,
                 initialized, listen, post, say, wait_until)

MOST = 4 * MB  # one message
KEPT = 32 * MB  # of all sessions, and again of all bodies, in this test
# A message of 4 MiB takes a few milliseconds of the one thread that everybody shares, however well
# it is handled, and so does asking for much at once.
LARGE = 0.02


# What clients say about themselves and what they want to hear of.

def kept(_seed, quick):
    found = {}

    def look(server):
        found["peak"] = max(found.get("peak", 0), server.peak())
        return f"memory at most {found['peak'] / MB:.0f} MB"

    longest = compare("beside hoarders", hoard, quick,
                      limits(process_session_bytes=KEPT, process_body_bytes=KEPT), look=look,
                      spare=LARGE)
    # The two bounds, as much again for what is on its way, and the process itself.
    most = 4 * KEPT + 64 * MB
    demand(found["peak"] <= most, f"{found['peak'] / MB:.0f} MB, more than {most / MB:.0f}")
    demand(longest < 0.5, f"a call took {longest:.2f} s")


def hoard(port, _session, ready, stop):
    """Each of these once before the good clients begin, and then in turn."""
    hoarder = Hoarder(port)
    for work in hoarder.works:
        for _ in range(15):
            hoarder.run(work)
    ready.set()
    for turn in range(400):
        if stop.is_set():
            break
        hoarder.run(hoarder.works[turn % len(hoarder.works)])
        time.sleep(0.05)


class Hoarder:
    def __init__(self, port):
        self.port = port
        self.works = [self.names, self.capabilities, self.allowed_capabilities, self.subscriptions,
                      self.long_subscriptions, self.listens, self.bodies]
        self.one = self.connect()
        self.session = self.one.open_session()
        self.number = 0
        self.held = []  # sockets that stay open

    def connect(self):
        return Connection(self.port, source=FOREIGN[0])

    def run(self, work):
        """The server may end a connection over it."""
        self.number += 1
        try:
            work()
        except (Cut, OSError):
            self.one.sock.close()
            self.one = self.connect()

    def ask(self, request):
        self.one.send(request)
        return self.one.answer()

    def names(self):
        self.ask(initialize(self.port, client={"name": "n" * (MOST - 1000), "version": "1"}))

    def capabilities(self):
        self.ask(initialize(self.port, capabilities={"experimental": {"x": {
            "y": "c" * (MOST - 1000)}}}))

    def allowed_capabilities(self):
        """Less than a session may have: it is their number that is too much."""
        for _ in range(10):
            self.ask(initialize(self.port, capabilities={"experimental": {"x": {
                "y": "c" * 200_000}}}))

    def subscribe(self, uri):
        status, _, _ = self.ask(post(self.port, self.number, "resources/subscribe", {"uri": uri},
                                     self.session))
        if status == 404:  # it gave way to another
            self.session = self.one.open_session()

    def subscriptions(self):
        for i in range(20):
            self.subscribe(f"soak:{self.number}.{i}" + "s" * 8000)

    def long_subscriptions(self):
        self.subscribe(f"soak:{self.number}" + "l" * (MOST - 1000))

    def listens(self):
        """Held open, as long as there are not too many."""
        if len(self.held) > 150:
            return
        uris = [f"soak:{self.number}.{i}" + "u" * 8000 for i in range(490)]
        connection = self.connect()
        connection.send(post(self.port, self.number, "subscriptions/listen",
                             {"notifications": {"resourceSubscriptions": uris}}))
        self.held.append(connection)

    def bodies(self):
        """All but the last byte."""
        if len(self.held) > 150:
            return
        request = initialize(self.port, client={"name": "b" * (MOST - 1000), "version": "1"})
        connection = self.connect()
        self.held.append(connection)
        connection.send(request[:-1])


# Streams that are asked for again.

STORM = 300


def resumes(_seed, quick):
    found = {}

    def look(server):
        found["peak"] = max(found.get("peak", 0), server.peak())
        return f"memory at most {found['peak'] / MB:.0f} MB"

    longest = compare(f"beside {STORM} resumed streams that nobody reads", storm, quick, look=look,
                      spare=LARGE)
    # What is kept of the streams (8 MiB each), and of those sent again what fits into a queue.
    most = 64 * MB + (STREAMS * 8 + 16 * 4) * MB
    demand(found["peak"] <= most, f"{found['peak'] / MB:.0f} MB, more than {most / MB:.0f}")
    demand(longest < 0.5, f"a call took {longest:.2f} s")


STREAMS = 4


def storm(port, _session, ready, stop):
    """Few streams with much in them, asked for again and again by connections that read nothing."""
    with Connection(port, source=FOREIGN[0]) as one:
        session = one.open_session()
    firsts = [fill_stream(port, session, number) for number in range(STREAMS)]
    deaf = [ask_again(port, session, firsts[i % STREAMS]) for i in range(STORM)]
    ready.set()
    for turn in range(400):
        if stop.is_set():
            break
        deaf.append(ask_again(port, session, firsts[turn % STREAMS]))
        deaf.pop(0).close()
        time.sleep(0.02)
    with Connection(port, source=FOREIGN[0]) as one:  # or the next round finds its streams kept, too
        one.send(delete(port, session))
        one.answer()


def fill_stream(port, session, number):
    """Leaves a call that tells much; gives the id of its first event."""
    with Connection(port, source=FOREIGN[0]) as connection:
        connection.send(call(port, number, "steps", {"tag": f"full{number}", "count": 900,
                                                     "milliseconds": 0, "bytes": 8000},
                             session, progress=True))
        connection.head()
        while b"\nid: " not in connection.data or b"\n\n" not in connection.data:
            connection.more()
        first = connection.data.partition(b"id: ")[2].partition(b"\n")[0].decode().strip()
    time.sleep(1)  # until it has told all of it
    return first


def ask_again(port, session, first):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.bind((FOREIGN[0], 0))
    sock.connect(("127.0.0.1", port))
    sock.sendall(listen(port, session, first))
    return sock
