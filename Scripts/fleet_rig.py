"""A broker, a swarm of virtual boards and an observer, for the scripts that measure a fleet."""
import contextlib, json, os, queue, resource, signal, socket, subprocess, sys, tempfile, threading, time

jostle = os.environ.get("JOSTLE", ".build/release/jostle")
# Seconds after which a program that does not answer, or does not end, is a failure.
patience = 30
command_patience = 120


class Failure(Exception):
    """Why a measurement cannot go on."""


def wait_until(condition, seconds, goal, pause=0.01):
    """Returns once the condition is true. It is a failure if that takes longer than these seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            raise Failure(f"{goal}: not within {seconds:.0f} s")
        time.sleep(pause)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def use(process):
    """Resident memory, MB, and processor time, s."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[21]) * 4096 / 1e6, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pass_lines(stream, lines):
    """Puts each line of a stream into a queue, and an empty one at the end."""
    for line in stream:
        lines.put(line)
    lines.put("")


class Rig:
    """A broker, a swarm, an observer of all messages, and their files. The end of `with` kills and deletes them."""

    def __init__(self, boards, *options):
        self.boards, self.options, self.port = boards, options, free_port()
        self.temporary = tempfile.TemporaryDirectory()
        self.directory = self.temporary.name
        # The programs that were started, by name.
        self.programs = {}
        # What the swarm writes to standard output.
        self.lines = queue.Queue()
        # One line for each message: when it arrived, on which topic, how long it is, and the payload.
        self.log = f"{self.directory}/messages"
        # `jostle fleet` keeps the documents here, and not in the user's history.
        self.environment = {**os.environ, "XDG_STATE_HOME": f"{self.directory}/history"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs.values():
            program.kill()
        for program in self.programs.values():
            program.wait()
        self.temporary.cleanup()

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self):
        """Starts everything, and waits until all boards have reported."""
        with open(f"{self.directory}/mosquitto.conf", "w") as file:
            file.write(
                f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nuser root\n"
                f"log_dest stderr\nlog_type error\nmax_queued_messages 0\npersistence true\n"
                f"persistence_location {self.directory}/\nautosave_interval 1\n")
        self.start_broker()
        self.start_swarm()
        # The boards subscribe a second time within five seconds.
        time.sleep(7)
        with open(self.log, "w") as log:
            self.start_program(
                "mosquitto_sub",
                ["mosquitto_sub", "-p", str(self.port), "-q", "1", "-R", "-t", "jostle/#", "-F", "%U %t %l %p"],
                stdout=log)
        time.sleep(1)

    def start_program(self, name, command, **options):
        """Starts a program that ends with the rig at the latest. A file gets what it writes to standard error."""
        with open(self.errors(name), "w") as errors:
            self.programs[name] = subprocess.Popen(command, stderr=errors, env=self.environment, **options)
        return self.programs[name]

    def errors(self, name):
        return f"{self.directory}/{name}.errors"

    def start_broker(self):
        self.start_program("mosquitto", ["mosquitto", "-c", f"{self.directory}/mosquitto.conf"])
        wait_until(self.broker_accepts, patience, "mosquitto accepts connections")

    def broker_accepts(self):
        self.check()
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def kill_broker(self):
        broker = self.programs.pop("mosquitto")
        broker.kill()
        broker.wait()

    def start_swarm(self):
        swarm = self.start_program(
            "swarm",
            [f"{jostle}-swarm", "--devices", str(self.boards), "--broker", self.url,
             "--state", f"{self.directory}/state", *self.options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=pass_lines, args=(swarm.stdout, self.lines), daemon=True).start()
        wait_until(
            lambda: self.status()["reported"] >= self.boards, 60 + self.boards / 20, "all boards have reported", 0.5)

    def check(self):
        """It is a failure if the broker, the swarm or the observer has ended."""
        for name in ("mosquitto", "swarm", "mosquitto_sub"):
            if name in self.programs and self.programs[name].poll() is not None:
                raise self.ended(name)

    def ended(self, name):
        """The failure that a program has ended: its status and what it wrote to standard error."""
        status = self.programs[name].wait(patience)
        with open(self.errors(name), errors="replace") as file:
            return Failure(f"{name} ended with status {status}: {file.read()[-500:].strip()}")

    def status(self):
        """The figures of the swarm."""
        try:
            os.write(self.programs["swarm"].stdin.fileno(), b"status\n")
        except BrokenPipeError:
            raise self.ended("swarm") from None
        deadline = time.monotonic() + patience
        while (remaining := deadline - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=remaining)
            except queue.Empty:
                break
            if not line:
                raise self.ended("swarm")
            if line.startswith("{"):
                return json.loads(line)
        raise Failure(f"the swarm did not answer `status` within {patience} s")

    def fleet(self, *arguments):
        """Runs `jostle fleet` until it ends."""
        return subprocess.run(
            [jostle, "fleet", *arguments, "--broker", self.url], capture_output=True, text=True, env=self.environment,
            timeout=command_patience)

    def set(self, value):
        """Changes a setting of all boards, and returns the revision that was published."""
        result = self.fleet("set", "--all", f"gestures.shake.sensitivity={value}", "--wait", "60", "--json")
        if result.returncode != 0:
            raise Failure(f"jostle fleet set: {result.returncode}: {result.stderr[:500].strip()}")
        return json.loads(result.stdout)["documents"][0]["revision"]

    def messages(self, since):
        """When each message arrived, its topic, length and payload. A line that is still being written is left out."""
        with open(self.log, errors="replace", newline="\n") as file:
            for line in file:
                if not line.endswith("\n"):
                    return
                moment, topic, length, payload = line.split(" ", 3)
                if float(moment) >= since:
                    yield float(moment), topic, int(length), payload

    def published(self, since, revision):
        """When the observer got the document of all boards with this revision."""
        for moment, topic, _, payload in self.messages(since):
            if topic == "jostle/_all/config" and json.loads(payload)["revision"] == revision:
                return moment
        raise Failure(f"the observer has not got revision {revision}")

    def applied(self, since, revision):
        """When each board first reported this revision of the document of all boards as applied, by topic."""
        self.check()
        moments = {}
        for moment, topic, _, payload in self.messages(since):
            if not topic.endswith("/config/reported") or topic in moments:
                continue
            layer = json.loads(payload)["layers"]["all"]
            if layer["status"] == "applied" and layer["revision"] == revision:
                moments[topic] = moment
        return moments


def end(number, _):
    sys.exit(128 + number)


@contextlib.contextmanager
def measurement():
    """Prints a failure in one line and ends with status 1. A signal ends the programs that were started, too."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    except (Failure, subprocess.TimeoutExpired) as failure:
        sys.exit(str(failure))
