"""What every part needs: the server as a process, and just enough HTTP and MCP to speak to it.

The client is written here, over bare sockets, because a test must see what a library would hide:
where an answer was cut, and that bytes which came before a reset still count.
"""
import asyncio
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = pathlib.Path(os.environ.get("GODWIT_SOAK_PROGRAMS", ROOT / "build/release/bin"))
STATEFUL, STATELESS = "2025-11-25", "2026-07-28"
CLIENT = {"name": "soak", "version": "1"}


class Failure(Exception):
    """What a part measured is not what was promised."""


class Cut(Exception):
    """The connection ended. `partial` says whether an answer had begun."""

    def __init__(self, partial, why=""):
        super().__init__(why)
        self.partial = partial


class Server:
    """A soak_server; what its handlers did is in trace()."""
    flags = []  # for every server of the run

    def __init__(self, *flags, place="http"):
        self.folder = tempfile.TemporaryDirectory(prefix="godwit_soak_")
        self.stdout = open(f"{self.folder.name}/stdout", "w+")
        self.stderr = open(f"{self.folder.name}/stderr", "w+")
        places = {"http": ["--http", "127.0.0.1:0", "--metrics", "/metrics", *self.flags],
                  "tcp": ["--tcp", "127.0.0.1:0"],
                  "unix": ["--unix", f"{self.folder.name}/socket"]}
        self.process = subprocess.Popen(
            [PROGRAMS / "soak_server", *places[place], *flags],
            stdin=subprocess.DEVNULL, stdout=self.stdout, stderr=self.stderr)
        self.pid = self.process.pid
        # A number, or the path of a unix socket.
        self.port = self._port(place)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.stdout.close()
        self.stderr.close()
        self.folder.cleanup()

    def _port(self, place):
        marks = {"http": r"http://127\.0\.0\.1:(\d+)/", "tcp": r"127\.0\.0\.1:(\d+)\n",
                 "unix": r"(/\S+)\n"}
        for _ in range(2000):
            said = pathlib.Path(self.stderr.name).read_text()
            found = re.search("listening on " + marks[place], said)
            if found:
                return found.group(1) if place == "unix" else int(found.group(1))
            if self.process.poll() is not None:
                raise Failure(f"the server did not start: {said}")
            time.sleep(0.01)
        raise Failure("the server did not start in 20 s")

    def trace(self):
        """Lines "what tag" of handlers, as pairs."""
        text = pathlib.Path(self.stdout.name).read_text()
        return [tuple(line.split(" ", 1)) for line in text.splitlines()]

    def rss(self):
        pages = int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def peak(self):
        """The most memory that it ever had."""
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s+(\d+) kB", text, re.M).group(1)) << 10

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def metric(self, name):
        with Connection(self.port) as connection:
            connection.send(head_of("GET", "/metrics", self.port))
            text = connection.answer()[1].decode()
        return float(re.search(rf"^godwit_{name} (\S+)$", text, re.M).group(1))

    def open_session(self):
        with Connection(self.port) as connection:
            return connection.open_session()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)


# Requests.

def head_of(method, path, port, fields=(), length=None):
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}",
             "Accept: application/json, text/event-stream"]
    lines += [f"{name}: {value}" for name, value in fields]
    if length is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def stateful_fields(session):
    return [("MCP-Protocol-Version", STATEFUL), ("Mcp-Session-Id", session)] if session else []


def post(port, number, method, params, session=None, progress=False):
    """A request; without a session one of the stateless era, except for the handshake."""
    params, fields = dict(params), stateful_fields(session)
    meta = {"progressToken": number} if progress else {}
    if not session and method != "initialize":
        meta["io.modelcontextprotocol/protocolVersion"] = STATELESS
        meta["io.modelcontextprotocol/clientCapabilities"] = {}
        fields = [("MCP-Protocol-Version", STATELESS), ("Mcp-Method", method)]
        if "name" in params:
            fields.append(("Mcp-Name", params["name"]))
    if meta:
        params["_meta"] = meta
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    return head_of("POST", "/mcp", port, fields, len(body)) + body


def call(port, number, tool, arguments, session=None, progress=False):
    return post(port, number, "tools/call", {"name": tool, "arguments": arguments}, session,
                progress)


def initialize(port, number=0, client=None, capabilities=None):
    return post(port, number, "initialize",
                {"protocolVersion": STATEFUL, "capabilities": capabilities or {},
                 "clientInfo": client or CLIENT})


def body_of(request):
    return request.partition(b"\r\n\r\n")[2]


def initialized(port, session):
    return post(port, None, "notifications/initialized", {}, session)


def listen(port, session, last_event_id=None):
    more = [("Last-Event-ID", last_event_id)] if last_event_id else []
    return head_of("GET", "/mcp", port, stateful_fields(session) + more)


def delete(port, session):
    return head_of("DELETE", "/mcp", port, stateful_fields(session))


# Answers.

def parse_head(text):
    lines = text.decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return int(lines[0].split(" ")[1]), fields, session_of(text)


def session_of(head):
    found = re.search(rb"(?i)\r\nmcp-session-id: (\S+)", head)
    return found.group(1).decode() if found else None


def reset(sock):
    """Closes so that the peer gets a reset, not an end."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Connection:
    """Blocking, for answers with a length."""

    def __init__(self, port, timeout=10, source="127.0.0.1"):
        self.port = port
        self.sock = socket.create_connection(("127.0.0.1", port), timeout, (source, 0))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def more(self):
        piece = self.sock.recv(1 << 16)
        if not piece:
            raise Cut(bool(self.data), "the server closed the connection")
        self.data += piece

    def head(self):
        while (end := self.data.find(b"\r\n\r\n")) < 0:
            self.more()
        head, self.data = self.data[:end + 4], self.data[end + 4:]
        return parse_head(head)

    def answer(self):
        """The status, the body, and the session if there is a new one."""
        status, fields, session = self.head()
        length = int(fields.get("content-length", 0))
        while len(self.data) < length:
            self.more()
        body, self.data = self.data[:length], self.data[length:]
        return status, body, session

    def open_session(self):
        self.send(initialize(self.port))
        status, body, session = self.answer()
        if status != 200 or not session:
            raise Failure(f"initialize was answered {status} {body[:200]}")
        self.send(initialized(self.port, session))
        if (status := self.answer()[0]) != 202:
            raise Failure(f"notifications/initialized was answered {status}")
        return session


def plain_connection(port, timeout=10):
    """A socket to a server without HTTP: by number or by path."""
    sock = socket.socket(socket.AF_UNIX if isinstance(port, str) else socket.AF_INET)
    sock.settimeout(timeout)
    end = time.monotonic() + timeout
    while True:
        try:
            sock.connect(port if isinstance(port, str) else ("127.0.0.1", port))
            return sock
        except BlockingIOError:  # a unix socket does not wait for room in the queue
            if time.monotonic() > end:
                raise
            time.sleep(0.001)


class Lines:
    """A client without HTTP: one message per line."""

    def __init__(self, port, handshake=False, timeout=10):
        self.sock = plain_connection(port, timeout)
        self.file = self.sock.makefile("rb")
        self.meta = {}
        if handshake:
            self.ask(body_of(initialize(port)))
        else:
            self.meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS,
                                   "io.modelcontextprotocol/clientCapabilities": {}}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.sock.close()

    def call(self, tool, arguments):
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments, **self.meta}}).encode()

    def send(self, line):
        self.sock.sendall(line + b"\n")

    def ask(self, line):
        self.send(line)
        answer = self.file.readline()
        if not answer.endswith(b"\n"):
            raise Cut(bool(answer), "the server closed the connection")
        return answer


class Wire:
    """The same for asyncio, with streams. Not asyncio's own reader: that one throws away what came
    before a reset."""

    def __init__(self, sock):
        self.sock, self.data = sock, b""
        self.last = False  # the server has said that nothing more will be answered here

    @classmethod
    async def connect(cls, port):
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        except OSError:
            sock.close()
            raise
        return cls(sock)

    def close(self):
        self.sock.close()

    async def send(self, data):
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def more(self, partial):
        try:
            piece = await asyncio.get_running_loop().sock_recv(self.sock, 1 << 16)
        except OSError as error:
            raise Cut(partial or bool(self.data), str(error)) from None
        if not piece:
            raise Cut(partial or bool(self.data), "closed")
        self.data += piece

    async def until(self, mark, partial):
        while (end := self.data.find(mark)) < 0:
            await self.more(partial)
        found, self.data = self.data[:end + len(mark)], self.data[end + len(mark):]
        return found

    async def exactly(self, size):
        while len(self.data) < size:
            await self.more(True)
        found, self.data = self.data[:size], self.data[size:]
        return found

    async def head(self):
        return parse_head(await self.until(b"\r\n\r\n", False))

    async def pieces(self, fields):
        """The body; ends only where its framing says so."""
        if fields.get("transfer-encoding") != "chunked":
            yield await self.exactly(int(fields.get("content-length", 0)))
            return
        while size := int(await self.until(b"\r\n", True), 16):
            yield await self.exactly(size)
            if await self.exactly(2) != b"\r\n":
                raise Failure("a chunk does not end where it said")
        await self.exactly(2)

    async def events(self, fields):
        """Pairs of id and data of whole events; one without its empty line never happened."""
        text = b""
        async for piece in self.pieces(fields):
            text += piece
            *whole, text = text.split(b"\n\n")
            for block in whole:
                lines = [line.partition(":") for line in block.decode().split("\n")]
                event = {name: value.removeprefix(" ") for name, _, value in lines if name}
                if event:
                    yield event.get("id"), event.get("data", "")
        if text:
            raise Failure(f"a stream ended in the middle of an event: {text[:100]}")

    async def result(self):
        """Status and the last message, of an answer of either kind."""
        status, fields, _ = await self.head()
        self.last = fields.get("connection") == "close"
        last = b""
        if "text/event-stream" in fields.get("content-type", ""):
            async for _, data in self.events(fields):
                last = data
        else:
            async for piece in self.pieces(fields):
                last += piece
        return status, json.loads(last) if last else None


# Judging.

def demand(good, why):
    if not good:
        raise Failure(why)


def wait_until(condition, seconds):
    """Whether it came true, and how long that took."""
    begin = time.monotonic()
    while not (good := condition()) and time.monotonic() - begin < seconds:
        time.sleep(0.02)
    return good, time.monotonic() - begin


def say(text):
    print(f"  {text}", flush=True)
