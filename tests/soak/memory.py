"""What the server keeps: per session and stream, after connections of every kind, after many calls."""
import random
import re
import time

from rig import (Connection, Cut, Server, call, delete, demand, head_of, initialize, initialized,
                 listen, reset, say, wait_until)

KB, MB = 1 << 10, 1 << 20
# Buffers of quiet connections are given back by a walk once a second.
QUIET = 3


# Streams.

def streams(_seed, quick):
    count = 1000 if quick else 5000
    with Server() as server:
        warm_up(server)
        base = server.rss()
        sessions = open_sessions(server, count)
        time.sleep(QUIET)
        with_sessions = server.rss()
        begin = time.monotonic()
        connections = [open_stream(server, session) for session in sessions]
        took = time.monotonic() - begin
        at_once = server.rss()
        time.sleep(QUIET)
        with_streams = server.rss()
        for connection in connections:
            connection.sock.close()
    session = (with_sessions - base) / count
    stream = (with_streams - with_sessions) / count
    say(f"{count} sessions: {session:.0f} bytes each")
    say(f"{count} idle streams opened in {took:.1f} s: {stream:.0f} bytes each "
        f"({(at_once - with_sessions) / count:.0f} before they are quiet), "
        f"with their session {session + stream:.0f}")
    demand(stream <= 8 * KB, f"a stream costs {stream:.0f} bytes, more than 8 KB")


def warm_up(server):
    """What the first of everything costs is not the cost of one more."""
    for session in open_sessions(server, 50):
        open_stream(server, session).sock.close()
    time.sleep(1.5)


def open_sessions(server, count, batch=50):
    """Pipelined: it is the sessions that are measured, not connections."""
    sessions = []
    with Connection(server.port) as connection:
        for _ in range(0, count, batch):
            connection.send(initialize(server.port) * batch)
            opened = [connection.answer()[2] for _ in range(batch)]
            connection.send(b"".join(initialized(server.port, one) for one in opened))
            demand(all(connection.answer()[0] == 202 for _ in opened), "a session did not open")
            sessions += opened
    return sessions


def open_stream(server, session):
    connection = Connection(server.port)
    connection.send(listen(server.port, session))
    status, fields, _ = connection.head()
    demand(status == 200 and fields.get("content-type") == "text/event-stream",
           f"a stream was answered {status} {fields}")
    return connection


# Leaks: kinds of connections, each of which leaves nothing behind.

def clean(server, _random):
    with Connection(server.port) as connection:
        for _ in range(3):
            ask(connection)


def ask(connection):
    connection.send(call(connection.port, 1, "echo", {"message": "clean"}))
    demand(connection.answer()[0] == 200, "a call failed")


def silent(server, _random):
    Connection(server.port).sock.close()


def asked_and_gone(server, _random):
    connection = Connection(server.port)
    connection.send(call(server.port, 1, "echo", {"message": "gone"}))
    reset(connection.sock)


def half_request(server, random):
    request = call(server.port, 1, "echo", {"message": "half" * 20})
    connection = Connection(server.port)
    connection.send(request[:random.randrange(1, len(request))])
    reset(connection.sock) if random.random() < 0.5 else connection.sock.close()


def garbage(server, _random):
    connection = Connection(server.port)
    connection.send(b"\x16\x03\x01 no HTTP at all\r\n\r\n")
    connection.sock.close()


def stream_cut(server, random):
    """A stateless stream that its client leaves in the middle."""
    connection = Connection(server.port)
    connection.send(call(server.port, 1, "steps", {"tag": "leak", "count": 1000, "milliseconds": 1},
                         progress=True))
    connection.head()
    reset(connection.sock) if random.random() < 0.5 else connection.sock.close()


def session_cut(server, random):
    """A session whose stream breaks, and that is ended properly by another connection."""
    with Connection(server.port) as other:
        session = other.open_session()
        stream = open_stream(server, session)
        reset(stream.sock) if random.random() < 0.5 else stream.sock.close()
        other.send(delete(server.port, session))
        demand(other.answer()[0] == 204, "a session did not end")


KINDS = {clean: 25, silent: 10, asked_and_gone: 20, half_request: 25, garbage: 5, stream_cut: 5,
         session_cut: 10}


def connect_often(server, generator, count):
    chosen = generator.choices(list(KINDS), list(KINDS.values()), k=count)
    for kind in chosen:
        try:
            kind(server, generator)
        except (Cut, OSError) as error:
            demand(False, f"{kind.__name__}: {error!r}")
    return {kind.__name__: chosen.count(kind) for kind in KINDS}


def leaks(seed, quick):
    count = 3000 if quick else 10000
    generator = random.Random(seed)
    with Server() as server:
        # The same as later, so that its buffers are there, also those of each thread.
        connect_often(server, generator, 3000)
        # These stay, quiet for so long that their buffers go, and work again afterwards.
        quiet = [Connection(server.port) for _ in range(20)]
        for connection in quiet:
            ask(connection)
        wait_until(lambda: server.metric("open_exchanges") == 0, 5)
        time.sleep(QUIET)
        fds, threads, rss = server.fds(), server.threads(), server.rss()
        kinds = connect_often(server, generator, count)
        good, took = wait_until(lambda: server.fds() == fds and server.threads() == threads, 10)
        time.sleep(QUIET)
        now, grown = server.fds(), server.rss() - rss
        sessions = server.metric("sessions")
        say(f"{count} connects: " + ", ".join(f"{n} {name}" for name, n in kinds.items()))
        say(f"descriptors {fds} -> {now}, threads {threads} -> {server.threads()} "
            f"(after {took:.2f} s), memory {grown / KB:+.0f} KB, sessions {sessions:.0f}")
        for connection in quiet:
            ask(connection)
        demand(good, "descriptors or threads are left")
        demand(sessions == 0, "sessions are left")
        demand(grown <= MB, "more than 1 MB is left")


# A million calls.

BATCH = 50


def million(_seed, quick):
    first, last = (20_000, 200_000) if quick else (100_000, 1_000_000)
    with Server() as server:
        session = server.open_session()
        requests = b"".join(
            call(server.port, number, "echo", {"message": "hello"}, session if number % 2 else None)
            for number in range(BATCH))
        connections = [Connection(server.port) for _ in range(4)]
        begin = time.monotonic()
        made, rss = 0, {}
        while made < last:
            for connection in connections:
                connection.send(requests)
            for connection in connections:
                read_batch(connection)
            made += BATCH * len(connections)
            if made == first or made % (last // 10) == 0:
                rss[made] = server.rss()
        took = time.monotonic() - begin
        grown = rss[last] - rss[first]
        say(f"{made} calls of both eras in {took:.1f} s; memory "
            + ", ".join(f"{calls // 1000}k: {bytes / MB:.2f} MB" for calls, bytes in rss.items()))
        say(f"growth after call {first}: {grown / KB:+.0f} KB")
        demand(grown < MB, "memory grew by more than 1 MB")


NUMBERS = re.compile(rb'"id":(\d+)')
EXPECTED = [str(number).encode() for number in range(BATCH)]


def read_batch(connection):
    while connection.data.count(b'"result"') < BATCH or not connection.data.endswith(b"}"):
        connection.more()
    demand(NUMBERS.findall(connection.data) == EXPECTED and
           connection.data.count(b"HTTP/1.1 200 ") == BATCH, f"wrong answers: {connection.data}")
    connection.data = b""
