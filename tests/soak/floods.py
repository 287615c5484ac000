"""Floods: clients that take places and do nothing with them.

Good clients go on beside them without a failure, newcomers are let in, and what the flood costs is
bounded. The bounds are set low where that shows the same in less time.
"""
import collections
import time

from company import compare
from rig import (Connection, Cut, Lines, Server, call, delete, demand, initialize, initialized,
                 plain_connection, say, wait_until)

KB, MB = 1 << 10, 1 << 20
# Of these the flood comes; good clients are at 127.0.0.1.
FOREIGN = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


def limits(**values):
    return [flag for name, value in values.items() for flag in ("--limit", f"{name}={value}")]


# Sessions.

SESSIONS, SHARE = 3000, 1000


def sessions(_seed, quick):
    """A session that its owner does not use for a while must still be there after the flood."""
    longest = compare("beside a flood of sessions", make_sessions, quick,
                      limits(sessions=SESSIONS, sessions_per_address=SHARE), look=newcomer)
    demand(longest < 0.5, f"a call took {longest:.2f} s")
    idle_session_stays()


def newcomer(server):
    """Somebody who comes while all places are taken."""
    count = server.metric("sessions")
    demand(count <= SESSIONS, f"{count:.0f} sessions, more than {SESSIONS}")
    with Connection(server.port) as connection:
        session = connection.open_session()
        connection.send(call(server.port, 1, "echo", {"message": "new"}, session))
        status, body, _ = connection.answer()
        demand(status == 200 and b'"new"' in body, f"a newcomer got {status} {body[:200]}")
        connection.send(delete(server.port, session))
        connection.answer()
    return f"{count:.0f} sessions at most {SESSIONS}; newcomers are let in"


def make_sessions(port, _session, ready, stop):
    """First as many as can be, by one connection; then without end, by that one and by many."""
    one = Connection(port, source=FOREIGN[0])
    for _ in range(2 * SESSIONS // 50):
        begin_sessions(one, 50)
    ready.set()
    many, made = collections.deque(), 0
    while not stop.is_set() and made < 20_000:
        begin_sessions(one, 5)
        made += 6
        many.append(Connection(port, source=FOREIGN[made % len(FOREIGN)]))
        begin_sessions(many[-1], 1)
        if len(many) > 200:
            many.popleft().sock.close()
        time.sleep(0.004)


def begin_sessions(connection, count):
    """Whatever the server says to it, even that it is the last one here."""
    try:
        connection.send(initialize(connection.port) * count)
        return [connection.answer()[2] for _ in range(count)]
    except (Cut, OSError):
        connection.__init__(connection.port, source=FOREIGN[0])
        return []


def idle_session_stays():
    with Server(*limits(sessions=SESSIONS, sessions_per_address=SHARE)) as server:
        session = server.open_session()
        for source in FOREIGN:
            with Connection(server.port, source=source) as connection:
                for _ in range(2 * SHARE // 50):
                    begin_sessions(connection, 50)
        with Connection(server.port) as connection:
            connection.send(call(server.port, 1, "echo", {"message": "back"}, session))
            status, body, _ = connection.answer()
        demand(status == 200, f"a session that was idle in a flood of others got {status} {body}")
        say(f"{2 * SHARE * len(FOREIGN)} sessions of {len(FOREIGN)} addresses, and an idle one of "
            f"another: {server.metric('sessions'):.0f} are left, that one among them")


# Sessions that never begin.

def unused(_seed, quick):
    """A handshake without anything after it is forgotten; one that is used is not."""
    waves, count, wait = 3 if quick else 6, 2000, 2
    with Server(*limits(session_first_message_time=wait)) as server:
        with Connection(server.port) as good:
            used = good.open_session()
            # Servers are lenient about a client that says nothing but asks.
            good.send(initialize(server.port))
            lenient = good.answer()[2]
            good.send(call(server.port, 1, "echo", {"message": "lenient"}, lenient))
            demand(good.answer()[0] == 200, "a session without initialized was refused")
            rss, times = [], []
            for _ in range(waves):
                with Connection(server.port, source=FOREIGN[0]) as connection:
                    for _ in range(count // 50):
                        begin_sessions(connection, 50)
                gone, took = wait_until(lambda: server.metric("sessions") == 2, wait + 5)
                demand(gone, f"{server.metric('sessions'):.0f} sessions are left after "
                       f"{took:.1f} s; 2 are in use")
                times.append(took)
                rss.append(server.rss())
            for session in (used, lenient):
                good.send(call(server.port, 2, "echo", {"message": "still"}, session))
                demand(good.answer()[0] == 200, "a session that is used was forgotten")
        grown = rss[-1] - rss[0]
        say(f"{waves} times {count} handshakes: forgotten within {max(times):.1f} s (they have "
            f"{wait} s), memory {grown / KB:+.0f} KB after the first time")
        demand(grown <= 2 * MB, "more than 2 MB is left")


# Silent connections, without HTTP.

def silent(_seed, quick):
    for place in ("tcp", "unix"):
        flood(place, quick)
        leave(place)


def flood(place, quick):
    """10,050 that say nothing, where 10,000 have a place."""
    most = 1000 if quick else 10_000
    flags = limits(connections=most) if quick else []

    def crowd(port, _session, ready, stop):
        held = collections.deque(plain_connection(port) for _ in range(most + 50))
        ready.set()
        more = 0
        while not stop.is_set() and more < 20_000:
            held.popleft().close()
            held.append(plain_connection(port))
            more += 1
            time.sleep(0.002)

    longest = compare(f"beside {most + 50} silent connections ({place})", crowd, quick, flags,
                      place, look=lambda server: let_in(server, most))
    demand(longest < 0.5, f"a call took {longest:.2f} s")


def let_in(server, most):
    for handshake in (False, True):
        try:
            with Lines(server.port, handshake, timeout=3) as new:
                demand(b'"new"' in new.ask(new.call("echo", {"message": "new"})),
                       "a newcomer was refused")
        except (Cut, OSError) as error:
            demand(False, f"a newcomer was not let in: {error!r}")
    # The listener, the loop and the streams of the process have a few of their own.
    held = server.fds()
    demand(held <= most + 40, f"{held} descriptors for at most {most} connections")
    return f"{held} descriptors; newcomers are let in"


def leave(place):
    """Those that never say anything go, and those that take nothing; those that are only quiet
    stay."""
    wait = 2
    with Server(*limits(first_message_time=wait, write_stall=wait), place=place) as server:
        quiet = [Lines(server.port, i % 2) for i in range(20)]
        for one in quiet:
            one.ask(one.call("echo", {"message": "quiet"}))
        fds = server.fds()
        mute = [plain_connection(server.port) for _ in range(300)]
        half = [plain_connection(server.port) for _ in range(100)]
        for sock in half:
            sock.sendall(b'{"jsonrpc":"2.0","id":1,')
        deaf = [takes_nothing(server) for _ in range(20)]
        gone, took = wait_until(lambda: server.fds() == fds, 3 * wait + 5)
        say(f"{place}: {len(mute)} silent, {len(half)} with half a message and {len(deaf)} that "
            f"take nothing are gone within {took:.1f} s (they have {wait} s)")
        demand(gone, f"{server.fds() - fds} connections are left")
        for one in quiet:
            try:
                demand(b'"again"' in one.ask(one.call("echo", {"message": "again"})), "no answer")
            except (Cut, OSError) as error:
                demand(False, f"a quiet connection was closed: {error!r}")


def takes_nothing(server):
    """Asks until nothing more can be sent."""
    one = Lines(server.port, timeout=0.2)
    request = one.call("echo", {"message": "x" * 100_000})
    try:
        for _ in range(100):
            one.send(request)
    except OSError:
        pass
    return one
