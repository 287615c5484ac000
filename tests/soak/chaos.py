"""A proxy that cuts, stalls and dribbles, by the choices of a seeded generator."""
import asyncio
import socket
import time

from rig import reset

ENDINGS = ("close", "reset", "stall", "orphan")


class Plan:
    """What happens to one connection."""

    def __init__(self, random, most_bytes):
        self.whole = random.random() < 0.1
        self.after = random.randint(1, most_bytes)  # bytes of the answer that pass
        self.dribble = random.random() < 0.3
        self.ending = random.choice(ENDINGS)
        self.wait = random.uniform(0.02, 0.2)


class ChaosProxy:
    """`cuts` counts the connections that it ended; `cut_at` says when, by the client's port."""

    def __init__(self, target, random, most_bytes, spare_some=True):
        self.target, self.random, self.most_bytes = target, random, most_bytes
        self.spare_some = spare_some
        self.calm = False  # new connections are left alone
        self.cuts, self.last_cut, self.cut_at = 0, 0.0, {}
        self.tasks = set()

    async def __aenter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self._start(self._accept())
        return self

    async def __aexit__(self, *_):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.listener.close()

    def _start(self, work):
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _accept(self):
        while True:
            client, _ = await asyncio.get_running_loop().sock_accept(self.listener)
            self._start(self._serve(client, Plan(self.random, self.most_bytes)))

    async def _serve(self, client, plan):
        server = socket.socket()
        try:
            for sock in (client, server):
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().sock_connect(server, ("127.0.0.1", self.target))
            if await self._exchange(client, server, plan):
                await self._end(client, server, plan)
        except OSError:
            pass  # one side went first
        finally:
            client.close()
            server.close()

    async def _exchange(self, client, server, plan):
        """Passes bytes in both directions; True if it is time to end that."""
        most = None if self.calm or (plan.whole and self.spare_some) else plan.after
        up = self._start(self._pump(client, server, plan))
        down = self._start(self._pump(server, client, plan, most))
        try:
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            return down.done() and down.result()
        finally:
            # Before their sockets are closed: asyncio would go on to watch the numbers, which are
            # soon those of other sockets.
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _pump(self, source, sink, plan, most=None):
        """Passes bytes on; True if `most` have passed."""
        loop = asyncio.get_running_loop()
        passed = 0
        while most is None or passed < most:
            piece = await loop.sock_recv(source, 1 << 16)
            if not piece:
                return False
            piece = piece[:most - passed] if most else piece
            passed += len(piece)
            for part in self._split(piece, plan):
                await loop.sock_sendall(sink, part)
                await asyncio.sleep(0)
        return True

    @staticmethod
    def _split(piece, plan):
        return [piece[i:i + 1] for i in range(len(piece))] if plan.dribble else [piece]

    async def _end(self, client, server, plan):
        if plan.ending == "stall":
            await asyncio.sleep(plan.wait)
        self.cuts += 1
        self.last_cut = self.cut_at[client.getpeername()[1]] = time.monotonic()
        if plan.ending == "reset":
            reset(client)
            reset(server)
        elif plan.ending == "orphan":
            # The server believes for a while that its client still listens.
            reset(client)
            await asyncio.sleep(plan.wait)
