"""The parts of a chaos run: MQTT packets, links that break, an observer, a broker, and agents on bad disks."""
import asyncio, collections, contextlib, ctypes, mmap, os, shutil, signal, sqlite3, struct, subprocess, time

from fleet_rig import Failure, free_port, jostle, patience

# Shorter than the default, so that a will comes soon. The broker waits one and a half times as long.
keep_alive = 5
health_interval = 2

# Adds the nanoseconds in the file $STEPPING_CLOCK to the wall clock of a program.
stepping_clock = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("STEPPING_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *memory = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) offset = memory;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result != 0 || clock != CLOCK_REALTIME || !offset) return result;
    int64_t time = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + *offset;
    now->tv_sec = time / 1000000000;
    now->tv_nsec = time % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
    (void)zone;
    struct timespec time;
    int result = clock_gettime(CLOCK_REALTIME, &time);
    *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
"""


def die_with_parent():
    """In a new process: the kernel kills it when this script ends, however it ends (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def compile_library(directory, name, sources, *options):
    """The path of a library for LD_PRELOAD; `None` if it cannot be built."""
    path = f"{directory}/{name}.so"
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", *options, *sources, "-ldl", "-lm", "-o", path],
                       check=True, capture_output=True)
        return path
    except (OSError, subprocess.CalledProcessError):
        return None


# MARK: MQTT packets

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, PINGREQ = 1, 2, 3, 4, 8, 12


class Packets:
    """Cuts a stream into MQTT packets."""

    def __init__(self):
        self.buffer = bytearray()

    def feed(self, data):
        """Yields the first byte and the body of each packet that is complete."""
        self.buffer += data
        while len(self.buffer) >= 2:
            length, shift, position = 0, 0, 1
            while True:
                if position >= len(self.buffer):
                    return
                byte = self.buffer[position]
                length |= (byte & 127) << shift
                shift, position = shift + 7, position + 1
                if byte < 128:
                    break
            if len(self.buffer) < position + length:
                return
            head, body = self.buffer[0], bytes(self.buffer[position:position + length])
            del self.buffer[:position + length]
            yield head, body


def packet(head, body):
    length, digits = len(body), bytearray()
    while True:
        length, digit = length >> 7, length & 127
        digits.append(digit | (128 if length else 0))
        if not length:
            return bytes([head]) + bytes(digits) + body


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(">H", len(data)) + data


def publication(head, body, version):
    """The topic, the packet's identifier and the payload of a PUBLISH packet."""
    size = struct.unpack_from(">H", body)[0]
    topic, position, identifier = body[2:2 + size].decode(errors="replace"), 2 + size, None
    if head >> 1 & 3:
        identifier, position = struct.unpack_from(">H", body, position)[0], position + 2
    if version == 5:
        length, shift = 0, 0
        while True:
            byte, position = body[position], position + 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        position += length
    return topic, identifier, body[position:]


# MARK: links

class Connection:
    """A connection of an agent through its link."""

    def __init__(self, writers):
        self.writers, self.opened, self.accepted, self.version = writers, time.time(), None, 4
        self.packets = {"out": Packets(), "in": Packets()}
        # The payloads that wait for an acknowledgement, by packet identifier.
        self.pending = {}

    def abort(self):
        for writer in self.writers:
            writer.transport.abort()


class Link:
    """A TCP proxy between an agent and the broker. It notes what passes, and can be cut, frozen and slowed down."""

    def __init__(self, name, broker_port, witness):
        self.name, self.broker_port, self.witness, self.port = name, broker_port, witness, None
        self.connections = set()
        self.freezes = self.refusals = 0
        self.delays, self.cut_after = [], None
        # Since when it works.
        self.since = time.time()

    async def start(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    @property
    def works(self):
        return not (self.freezes or self.refusals or self.delays or self.cut_after is not None)

    @property
    def accepted(self):
        """When the present MQTT connection was accepted; `None` if there is none."""
        return max((each.accepted for each in self.connections if each.accepted), default=None)

    def cut(self):
        for connection in list(self.connections):
            connection.abort()
        self.since = time.time()

    async def serve(self, reader, writer):
        if self.refusals:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.broker_port)
        except OSError:
            writer.transport.abort()
            return
        connection = Connection([writer, far_writer])
        self.connections.add(connection)
        try:
            await asyncio.gather(
                self.pump(reader, far_writer, connection, "out"), self.pump(far_reader, writer, connection, "in"))
        except asyncio.CancelledError:
            pass
        except Exception as error:
            self.witness.failure = error
        finally:
            self.connections.discard(connection)
            connection.abort()

    async def pump(self, reader, writer, connection, direction):
        try:
            while True:
                data = await reader.read(4096)
                while self.freezes:
                    await asyncio.sleep(0.02)
                if not data:
                    break
                if self.delays:
                    await asyncio.sleep(max(self.delays))
                if direction == "out" and self.cut_after is not None:
                    part, self.cut_after = data[:max(1, self.cut_after * len(data) // 100)], None
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.01)
                    connection.abort()
                    self.since = time.time()
                    return
                self.note(connection, direction, data)
                writer.write(data)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        with contextlib.suppress(OSError, RuntimeError):
            writer.close()

    def note(self, connection, direction, data):
        for head, body in connection.packets[direction].feed(data):
            kind = head >> 4
            if direction == "out" and kind == CONNECT:
                connection.version = body[2 + struct.unpack_from(">H", body)[0]]
            elif direction == "in" and kind == CONNACK and body[1] == 0:
                connection.accepted = time.time()
            elif direction == "out" and kind == PUBLISH:
                topic, identifier, payload = publication(head, body, connection.version)
                if identifier is not None:
                    connection.pending[identifier] = (topic, payload)
                self.witness.passed(self.name, connection, topic, payload)
            elif direction == "in" and kind == PUBACK:
                identifier = struct.unpack_from(">H", body)[0]
                if identifier in connection.pending:
                    self.witness.acknowledged(self.name, *connection.pending.pop(identifier))


# MARK: the observer

class Observer:
    """An MQTT 3.1.1 client with a persistent session, straight at the broker."""

    def __init__(self, port, witness):
        self.port, self.witness, self.writer, self.identifier = port, witness, None, 0

    async def run(self):
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                try:
                    await asyncio.wait_for(self.connect(reader, writer), 10)
                    await self.read(reader, writer)
                finally:
                    self.writer = None
                    writer.transport.abort()
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
                pass
            await asyncio.sleep(0.02)

    async def connect(self, reader, writer):
        self.packets = Packets()
        writer.write(packet(CONNECT << 4, string("MQTT") + bytes([4, 0]) + struct.pack(">H", 60) + string("observer")))
        answer = await reader.readexactly(4)
        if answer[3] != 0:
            raise OSError("refused")
        if not answer[2] & 1:
            self.witness.no_session()
            writer.write(packet(SUBSCRIBE << 4 | 2, struct.pack(">H", 65535) + string("jostle/#") + b"\1"))
        self.writer = writer

    async def read(self, reader, writer):
        pings = asyncio.create_task(self.ping(writer))
        try:
            while data := await reader.read(65536):
                for head, body in self.packets.feed(data):
                    if head >> 4 != PUBLISH:
                        continue
                    topic, identifier, payload = publication(head, body, 4)
                    self.witness.received(topic, payload, bool(head & 1), bool(head & 8))
                    if identifier is not None:
                        writer.write(packet(PUBACK << 4, struct.pack(">H", identifier)))
        finally:
            pings.cancel()

    async def ping(self, writer):
        while True:
            await asyncio.sleep(20)
            writer.write(packet(PINGREQ << 4, b""))

    def publish(self, topic, payload):
        """Publishes with QoS 1 and does not repeat it: returns whether there is a connection."""
        if not self.writer:
            return False
        self.identifier = self.identifier % 60000 + 1
        self.writer.write(
            packet(PUBLISH << 4 | 2, string(topic) + struct.pack(">H", self.identifier) + payload.encode()))
        return True


# MARK: processes

class Broker:
    """A mosquitto that stores its messages every second."""

    def __init__(self, directory):
        self.directory, self.port, self.process = f"{directory}/broker", free_port(), None
        self.deaths, self.since = [], None
        os.mkdir(self.directory)
        with open(f"{self.directory}/mosquitto.conf", "w") as file:
            file.write(
                f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nuser root\n"
                f"log_dest stderr\nlog_type error\nlog_type warning\nmax_queued_messages 0\nmax_inflight_messages 0\n"
                f"persistence true\npersistence_location {self.directory}/\nautosave_interval 1\n")

    async def start(self):
        with open(f"{self.directory}/errors", "a") as errors:
            self.process = subprocess.Popen(
                ["mosquitto", "-c", f"{self.directory}/mosquitto.conf"], stderr=errors, preexec_fn=die_with_parent)
        deadline = time.time() + patience
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                break
            except OSError:
                if time.time() > deadline or self.process.poll() is not None:
                    raise Failure("mosquitto does not accept connections") from None
                await asyncio.sleep(0.02)
        self.since = self.started = time.time()

    def end(self, number):
        self.deaths.append((time.time(), number))
        self.since = None
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        self.process.wait(patience)

    def check(self):
        if self.since and self.process.poll() is not None:
            with open(f"{self.directory}/errors") as file:
                raise Failure(f"mosquitto ended with status {self.process.poll()}: {file.read()[-500:]}")


class Life:
    """One start of an agent, and its end."""

    def __init__(self, number):
        self.number, self.start, self.end, self.signal = number, time.time(), None, None
        # Whether the disk did not work at the start, and whether it did not at the end.
        self.started_without_disk = self.ended_without_disk = False
        self.pauses = 0
        # Whether it was checked that the agent was offline after it.
        self.is_judged = False

    @property
    def was_killed(self):
        return self.signal == signal.SIGKILL


class Agent:
    """An agent with its link, its disk and its clock."""

    def __init__(self, name, rig, settings, groups, is_on_bus=False, has_clock=False):
        self.name, self.rig, self.settings, self.is_on_bus = name, rig, settings, is_on_bus
        self.directory = f"{rig.directory}/{name}"
        self.state, self.stall, self.log = f"{self.directory}/state", f"{self.directory}/stall", f"{self.directory}/log"
        os.makedirs(self.state)
        if rig.has_disks:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", self.state], check=True)
        self.groups, self.link = groups, Link(name, rig.broker.port, rig.ledger)
        self.process, self.lives, self.since = None, [], None
        self.fillings = self.stalls = 0
        self.disk_since = 0.0
        self.memory = 0
        self.layers = []
        # The steps of the clock: when, and the offset from then on, s.
        self.clock, self.clocks = None, [(0.0, 0.0)]
        if has_clock and rig.clock_library:
            with open(f"{self.directory}/clock", "w+b") as file:
                file.write(bytes(8))
                file.flush()
                self.clock = mmap.mmap(file.fileno(), 8)
        self.bus = f"/dev/i2c-{os.getpid()}{len(rig.agents)}"

    @property
    def is_alive(self):
        return self.process is not None

    @property
    def life(self):
        return self.lives[-1]

    @property
    def has_no_disk(self):
        """Whether the disk does not work, or worked too shortly to have been written again."""
        return bool(self.fillings or self.stalls) or time.time() - self.disk_since < 4

    def start(self, faults=""):
        environment = {**os.environ, "STATE_DIRECTORY": self.state}
        libraries = []
        if self.is_on_bus:
            libraries.append(self.rig.bus_library)
            environment |= {"FAKE_I2C": self.bus, "FAKE_I2C_OPTIONS": faults}
        if self.rig.disk_library:
            libraries.append(self.rig.disk_library)
            environment |= {"STALLING_DISK": self.state, "STALLING_DISK_SWITCH": self.stall}
        if self.clock:
            libraries.append(self.rig.clock_library)
            environment["STEPPING_CLOCK"] = f"{self.directory}/clock"
        environment["LD_PRELOAD"] = " ".join(libraries)
        settings = {
            "device.id": self.name, "device.groups": "[" + ",".join(self.groups) + "]",
            "mqtt.broker": f"mqtt://127.0.0.1:{self.link.port}", "mqtt.keep_alive": keep_alive,
            "publish.health.interval": health_interval, "publish.attitude.rate": 2, "publish.motion.rate": 1,
            "fleet.probation": "10s", "gestures.vibration.run_time": "2s", "gestures.vibration.done_after": "2s",
            **self.settings}
        if self.is_on_bus:
            settings["sensor.bus"] = self.bus
        arguments = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        life = Life(len(self.lives))
        life.started_without_disk = self.has_no_disk
        with open(self.log, "a") as log:
            log.write(f"---- {time.time():.3f} start {life.number}\n")
            log.flush()
            self.process = subprocess.Popen(
                [jostle, "run", "--config", self.rig.configuration, *arguments], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env=environment, preexec_fn=die_with_parent)
        self.lives.append(life)
        self.since = time.time()

    async def end(self, number):
        """Ends the process with a signal, and returns its exit status; `None` if it did not end in time."""
        process, life = self.process, self.life
        if process.poll() is not None:
            return process.returncode
        life.signal, self.since = number, None
        self.accepted_at_end = self.link.accepted
        process.send_signal(signal.SIGCONT)
        process.send_signal(number)
        deadline = time.time() + 20
        while process.poll() is None and time.time() < deadline:
            await asyncio.sleep(0.01)
        status = process.poll()
        if status is None:
            process.kill()
            process.wait()
        life.end, life.ended_without_disk = time.time(), self.has_no_disk
        self.process = None
        return status

    def stored(self):
        """The ids of the events in the outbox of a dead agent, and its open gestures."""
        copy = f"{self.directory}/copy"
        shutil.rmtree(copy, ignore_errors=True)
        os.mkdir(copy)
        for end in ("", "-wal"):
            if os.path.exists(f"{self.state}/outbox.sqlite3{end}"):
                shutil.copy(f"{self.state}/outbox.sqlite3{end}", copy)
        try:
            with contextlib.closing(sqlite3.connect(f"{copy}/outbox.sqlite3")) as database:
                return (
                    [row[0] for row in database.execute("SELECT id FROM message WHERE id IS NOT NULL ORDER BY token")],
                    list(database.execute("SELECT gesture, simulated FROM open_gesture")))
        except sqlite3.Error:
            return [], []

    def step_clock(self, seconds):
        self.clock[:8] = struct.pack("=q", int(seconds * 1e9))
        self.clocks.append((time.time(), seconds))

    def fill(self):
        """Writes until the disk is full."""
        file = os.open(f"{self.state}/filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in (65536, 4096, 1):
                with contextlib.suppress(OSError):
                    while os.write(file, bytes(size)):
                        pass
        finally:
            os.close(file)

    def measure(self):
        if not self.process:
            return
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{self.process.pid}/statm") as file:
                self.memory = max(self.memory, int(file.read().split()[1]) * 4096 / 1e6)

    def last_lines(self, count=8):
        with open(self.log, errors="replace") as file:
            return "".join(collections.deque(file, count))
