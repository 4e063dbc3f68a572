"""A page with an honest reader, and attacks on it, for Scripts/attack-page."""
import json, os, random, re, resource, socket, ssl, subprocess, tempfile, threading, time

program = os.environ.get("JOSTLE_PAGE", ".build/release/jostle-page")
board = "attacked"
clock_ticks = os.sysconf("SC_CLK_TCK")
# The attackers' own descriptors.
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))


class Failure(Exception):
    """Why the measurement cannot go on."""


def wait_until(condition, seconds, goal):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"{goal}: not within {seconds:.0f} s")
        time.sleep(0.02)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Page:
    """A broker, the page, a source of 200 messages a second, and an honest reader. The end of `with` kills them."""

    def __init__(self, tls, descriptors=None):
        self.tls, self.limit = tls, descriptors
        self.temporary = tempfile.TemporaryDirectory()
        self.directory = self.temporary.name
        self.broker_port, self.port = free_port(), free_port()
        self.processes = []
        self.delays = []
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.context = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.ended.set()
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.temporary.cleanup()

    def spawn(self, *words, **options):
        process = subprocess.Popen(words, **options)
        self.processes.append(process)
        return process

    def start(self):
        with open(f"{self.directory}/mosquitto.conf", "w") as file:
            file.write(f"listener {self.broker_port} 127.0.0.1\nallow_anonymous true\nlog_dest none\n")
        self.spawn("mosquitto", "-c", f"{self.directory}/mosquitto.conf")
        wait_until(lambda: self.accepts(self.broker_port), 10, "the broker listens")
        words = [program, "--broker", f"mqtt://127.0.0.1:{self.broker_port}", "--listen", f"127.0.0.1:{self.port}"]
        if self.tls:
            certificate, key = f"{self.directory}/page.pem", f"{self.directory}/page.key"
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                 key, "-out", certificate, "-subj", "/CN=localhost", "-days", "2"], check=True, capture_output=True)
            os.chmod(key, 0o600)
            words += ["--set", f"page.certificate_file={certificate}", "--set", f"page.key_file={key}"]
            self.context = ssl.create_default_context(cafile=certificate)
            self.context.check_hostname = False
        if self.limit:
            words = ["prlimit", f"--nofile={self.limit}:{self.limit}"] + words
        with open(f"{self.directory}/empty.yaml", "w") as file:
            file.write("{}\n")
        environment = {**os.environ, "STATE_DIRECTORY": f"{self.directory}/state",
                       "JOSTLE_CONFIG": f"{self.directory}/empty.yaml"}
        self.page = self.spawn(*words, stdout=subprocess.PIPE, stderr=open(f"{self.directory}/log", "w"), text=True,
                               env=environment)
        address = self.page.stdout.readline().strip()
        if "token=" not in address:
            with open(f"{self.directory}/log") as file:
                raise Failure(f"the page did not start: {file.read()}")
        connection = self.connect()
        connection.sendall(f"GET /?token={address.split('token=')[1]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = connection.recv(65536).decode()
        self.cookie = re.search(r"Set-Cookie: ([^;]*)", answer)[1]
        connection.close()
        threading.Thread(target=self.publish, daemon=True).start()
        self.reader = self.open_events()
        threading.Thread(target=self.read, daemon=True).start()
        wait_until(lambda: self.count() > 50, 20, "the reader gets the stream")
        wait_until(self.has_history, 60, "the history is open")

    @staticmethod
    def accepts(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    # MARK: Connections

    def raw(self, buffer=None):
        """A TCP connection, without a handshake of TLS."""
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(5)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def connect(self, buffer=None):
        """A connection on which requests can be sent."""
        connection = self.raw(buffer)
        return self.context.wrap_socket(connection) if self.tls else connection

    def open_events(self, buffer=None):
        """A stream of events of the board."""
        connection = self.connect(buffer)
        connection.sendall(
            f"GET /events?board={board}&stream=1 HTTP/1.1\r\nHost: localhost\r\nCookie: {self.cookie}\r\n\r\n".encode())
        return connection

    # MARK: The stream

    def publish(self):
        """Two hundred messages a second, each with the time at which it was published."""
        source = self.spawn(
            "mosquitto_pub", "-p", str(self.broker_port), "-t", f"jostle/{board}/stream", "-l", stdin=subprocess.PIPE,
            text=True)
        padding = "x" * 400
        due = time.monotonic()
        while not self.ended.is_set():
            try:
                source.stdin.write(json.dumps({"at": time.monotonic(), "x": padding}) + "\n")
                source.stdin.flush()
            except OSError:
                return
            due += 0.005
            time.sleep(max(0, due - time.monotonic()))

    def read(self):
        text = b""
        pattern = re.compile(rb'event: stream\ndata: \{"at": ([0-9.]+)')
        self.reader.settimeout(None)
        while True:
            try:
                part = self.reader.recv(65536)
            except OSError:
                part = b""
            if not part:
                return
            now = time.monotonic()
            text += part
            last = 0
            for match in pattern.finditer(text):
                # A number may continue in the next part.
                if match.end() == len(text):
                    break
                last = match.end()
                with self.lock:
                    self.delays.append(now - float(match[1]))
            text = text[max(last, len(text) - 200):]

    def count(self):
        with self.lock:
            return len(self.delays)

    def take_delays(self):
        with self.lock:
            delays, self.delays = self.delays, []
        return delays

    # MARK: The process

    def memory(self):
        """Resident memory, kB."""
        with open(f"/proc/{self.page.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def has_history(self):
        """Whether the page has opened its history, which it keeps open from its first write on."""
        return any(os.path.realpath(file.path).endswith("/page-history.sqlite3-wal")
                   for file in os.scandir(f"/proc/{self.page.pid}/fd"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.page.pid}/fd"))

    def processor(self):
        """Processor time, seconds."""
        with open(f"/proc/{self.page.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / clock_ticks

    def check(self):
        if self.page.poll() is not None:
            with open(f"{self.directory}/log") as file:
                raise Failure(f"the page ended with status {self.page.returncode}: {file.read()[-2000:]}")

    def settle(self):
        """A second in which nobody attacks."""
        time.sleep(1)
        self.take_delays()


# MARK: Attacks. Each one goes on until `until()`, and returns how often it did something.


def stalled_pages(page, until, _):
    """Ten pages that open the stream and never read."""
    open_pages = [page.open_events(4096) for _ in range(10)]
    while not until():
        time.sleep(0.1)
    return len(open_pages)


def half_open(page, until, _):
    """A thousand connections that send nothing or a part of a request or handshake."""
    beginnings = [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"] if page.tls else [b"", b"GET /"]
    connections = []
    for index in range(1000):
        if until():
            break
        connections.append(page.raw())
        send(connections[-1], beginnings[index % 2])
    while not until():
        time.sleep(0.1)
    return len(connections)


def slow(page, until, _):
    """A hundred requests that send a byte a second, and readers of a byte a second."""
    beginnings = [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
                  b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000\r\n\r\n"]
    senders, readers, sent = [], [], 0
    for index in range(100):
        try:
            senders.append(page.connect())
            send(senders[-1], beginnings[index % 2])
        except OSError:
            pass
    for _ in range(20):
        try:
            readers.append(page.connect(2048))
            send(readers[-1], b"GET /app.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        except OSError:
            pass
    while not until():
        for connection in senders:
            sent += send(connection, b"x")
        for connection in readers:
            receive(connection, 1)
        time.sleep(1)
    return sent


def churn(page, until, _):
    """Connections that come, ask or do not, and go."""
    count = 0
    while not until():
        try:
            connection = page.connect() if count % 3 else page.raw()
        except OSError:
            continue
        if count % 2:
            send(connection, b"GET /login HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.close()
        count += 1
    return count


def oversized(page, until, _):
    """Ten thousand headers, long lines, and bodies without end."""
    requests = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % index for index in range(10_000)) + b"\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n" + b"x" * 500_000,
        b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        + (b"3e8\r\n" + b"x" * 1000 + b"\r\n") * 1000,
    ]
    count = 0
    while not until():
        try:
            connection = page.connect()
        except OSError:
            continue
        send(connection, requests[count % len(requests)])
        receive(connection, 65536)
        connection.close()
        count += 1
    return count


SEEDS = [
    "GET /?token=0123456789abcdef0123456789abcdef HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /events?board=washer-1&stream=1 HTTP/1.1\r\nHost: [::1]:8088\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n",
    "GET /app.js?x=%41%00&&=;y HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip;q=0.5, br\r\nIf-None-Match: W/\"x\"\r\n\r\n",
    "POST /api/set HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}; a=b\r\nContent-Type: application/json\r\nX-Jostle: 1\r\n"
    "Origin: {origin}\r\nContent-Length: 59\r\n\r\n{{\"board\":\"a\",\"key\":\"device.name\",\"value\":[1e9,null,\"\\u00e9\"]}}",
    "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Jostle: 1\r\nOrigin: {origin}\r\n"
    "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n10\r\n{{\"password\":\"x\"}}\r\n0\r\n\r\n",
    "HEAD /metrics HTTP/1.0\r\nHost: localhost\r\n\r\nGET /login HTTP/1.1\r\nHost: localhost\r\n\r\n",
]
TOKENS = [b"\r\n", b"\0", b"%", b"%00", b"..", b"/", b"Content-Length: ", b"Host: a\r\n", b"chunked", b"\xff\xfe", b"\r",
          b"\n", b":", b"-1", b"99999999999999999999", b"{", b"[" * 300, b"\"", b"\\u", b"HTTP/1.1", b"?", b"&", b"=", b";"]


def garbled(page, until, seed):
    """Right requests with some bytes changed, removed, repeated or inserted."""
    dice = random.Random(seed)
    origin = f"{'https' if page.tls else 'http'}://localhost"
    seeds = [text.format(cookie=page.cookie, origin=origin).encode() for text in SEEDS]
    count = 0
    while not until():
        request = bytearray(dice.choice(seeds))
        for _ in range(dice.randrange(1, 8)):
            at = dice.randrange(len(request) + 1)
            kind = dice.randrange(5)
            if kind == 0:
                request[at:at] = dice.choice(TOKENS)
            elif kind == 1:
                del request[at:at + dice.randrange(1, 12)]
            elif kind == 2 and at < len(request):
                request[at] = dice.randrange(256)
            elif kind == 3:
                request[at:at] = request[at:at + dice.randrange(1, 60)] * dice.randrange(1, 4)
            else:
                request[at:at + dice.randrange(1, 8)] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 8)))
        try:
            connection = page.connect()
        except OSError:
            continue
        send(connection, bytes(request))
        connection.settimeout(0.05 if count % 50 == 0 else 0.002)
        receive(connection, 4096)
        connection.close()
        count += 1
    return count


def out_of_descriptors(page, until, _):
    """More connections than the program may have descriptors."""
    connections = [page.raw() for _ in range(120)]
    time.sleep(1)
    before, began = page.processor(), time.monotonic()
    while not until():
        time.sleep(0.1)
    share = (page.processor() - before) / max(time.monotonic() - began, 0.1)
    if share > 0.5:
        raise Failure(f"without descriptors the page takes {share:.0%} of a processor")
    return len(connections)


def nothing(page, until, _):
    while not until():
        time.sleep(0.1)
    return 0


ATTACKS = {"nothing": nothing, "stalled": stalled_pages, "half-open": half_open, "slow": slow, "churn": churn,
           "oversized": oversized, "garbled": garbled}
# Needs a page of its own.
DESCRIPTORS = "descriptors"


def send(connection, data):
    """Sends; returns whether the page still took it."""
    try:
        connection.sendall(data)
        return 1
    except (OSError, ssl.SSLError):
        return 0


def receive(connection, size):
    try:
        return connection.recv(size)
    except (OSError, ssl.SSLError):
        return b""


class Report:
    """The table, and whether everything was as it must be."""

    def __init__(self):
        self.status = 0

    def fail(self, text):
        print(f"WRONG: {text}")
        self.status = 1

    def begin(self, page):
        self.before = page.memory(), page.descriptors()
        kind = "with TLS" if page.tls else "without TLS" if not page.limit else f"with {page.limit} descriptors"
        print(f"{kind}: {self.before[0]} kB, {self.before[1]} descriptors")
        print(f"{'attack':<14}{'times':>9}{'received/s':>12}{'median ms':>11}{'99 % ms':>9}{'longest':>9}"
              f"{'memory kB':>11}{'descr.':>8}{'processor':>11}", flush=True)

    def measure(self, page, name, attack, seconds, seed):
        page.take_delays()
        processor, began = page.processor(), time.monotonic()
        largest = [0, 0]
        watching = threading.Event()

        def watch():
            while not watching.wait(0.1) and page.page.poll() is None:
                largest[0] = max(largest[0], page.memory())
                largest[1] = max(largest[1], page.descriptors())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            times = attack(page, lambda: time.monotonic() - began > seconds or page.page.poll() is not None, seed)
        finally:
            watching.set()
            watcher.join()
        page.check()
        delays = sorted(page.take_delays()) or [float("inf")]
        took = time.monotonic() - began
        print(f"{name:<14}{times:>9}{len(delays) / took:>12.0f}{delays[len(delays) // 2] * 1000:>11.1f}"
              f"{delays[int(len(delays) * 0.99)] * 1000:>9.1f}{delays[-1] * 1000:>9.1f}{largest[0]:>11}{largest[1]:>8}"
              f"{(page.processor() - processor) / took:>11.0%}", flush=True)
        if delays[-1] > 0.5:
            self.fail(f"{name}: the honest reader waited {delays[-1]:.2f} s")

    def end(self, page):
        """Everything must be as before, half a minute later at the latest."""
        # The reader's stream may be replaced, and the thread that writes running hours has three of its own once it runs.
        allowed = self.before[1] + 4
        deadline = time.monotonic() + 35
        while page.descriptors() > allowed and time.monotonic() < deadline:
            time.sleep(0.2)
        page.settle()
        processor = page.processor()
        time.sleep(3)
        share = (page.processor() - processor) / 3
        page.check()
        print(f"afterwards: {page.memory()} kB, {page.descriptors()} descriptors, {share:.0%} of a processor for the stream\n",
              flush=True)
        if page.descriptors() > allowed:
            self.fail("descriptors were kept")
        if page.memory() > self.before[0] + 40_000:
            self.fail("memory was kept")
        if share > 0.3:
            self.fail("it does not come to rest")
