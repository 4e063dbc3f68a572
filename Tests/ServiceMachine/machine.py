"""A virtual machine with the service, and the broker that it publishes to, for Scripts/test-service."""
import json, os, pathlib, re, signal, subprocess, time
from fleet_rig import Failure, free_port, wait_until

board = "press-17"
boot_patience = 300


class Machine:
    """A virtual machine that boots a directory's Debian from a disk."""

    def __init__(self, files, broker_port):
        self.files, self.root, self.disk = files, files / "root", files / "disk"
        self.key, self.port = files / "key", free_port()
        self.process = None
        self.configure(broker_port)
        size = sum(f.lstat().st_size for f in self.root.rglob("*") if f.is_file() and not f.is_symlink())
        subprocess.run(
            ["mke2fs", "-q", "-F", "-t", "ext4", "-d", self.root, self.disk, f"{size // 1_000_000 + 600}M"], check=True)
        [self.kernel] = self.root.glob("boot/vmlinuz-*")
        [self.initrd] = self.root.glob("boot/initrd.img-*")

    def configure(self, broker_port):
        """Writes what the machine needs: its network, a key to log in with, and the configuration of the service."""
        self.key.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        self.write("root/.ssh/authorized_keys", pathlib.Path(f"{self.key}.pub").read_text(), 0o600)
        os.chown(self.root / "root/.ssh/authorized_keys", 0, 0)
        self.write("etc/hostname", "machine\n")
        self.write("etc/hosts", "127.0.0.1 localhost machine\n10.0.2.2 broker\n")
        self.write("etc/fstab", "/dev/vda / ext4 defaults 0 1\n")
        self.write("etc/systemd/network/machine.network",
                   "[Match]\nName=e*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n")
        self.write("etc/systemd/journald.conf.d/machine.conf", "[Journal]\nStorage=persistent\nRateLimitBurst=0\n")
        self.write("etc/jostle/conf.d/machine.yaml", f"""\
device: {{ id: {board} }}
sensor: {{ driver: virtual }}
mqtt: {{ broker: "mqtt://broker:{broker_port}", username: board, password_file: password }}
publish: {{ health: {{ interval: 2 s }} }}
""")
        # Readable by root only; the service gets a copy.
        self.write("etc/jostle/credentials/password", "secret\n", 0o600)
        subprocess.run(["chroot", self.root, "systemctl", "enable", "--quiet", "systemd-networkd", "jostle"], check=True)

    def write(self, path, text, mode=0o644):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def boot(self, rtc="base=utc"):
        """Switches it on, and waits until one can log in."""
        acceleration = os.environ.get("ACCEL", "tcg")
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", acceleration, "-cpu", "max", "-smp", "2", "-m", "768", "-display", "none", "-nodefaults", "-no-reboot",
             "-serial", f"file:{self.files}/console", "-rtc", rtc,
             "-drive", f"file={self.disk},format=raw,if=virtio,cache=writeback",
             "-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{self.port}-:22", "-device", "virtio-net-pci,netdev=net",
             "-kernel", self.kernel, "-initrd", self.initrd, "-append", "root=/dev/vda rw console=ttyS0 panic=-1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.files / "qemu", "w"))
        wait_until(self.answers, boot_patience, "the machine has booted", 0.3)

    def answers(self):
        if self.process.poll() is not None:
            raise Failure("qemu ended: " + (self.files / "qemu").read_text())
        return self.try_run("true").returncode == 0

    def cut_power(self):
        """Ends it between two instructions. What the machine had not written to its disk is lost."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def try_run(self, command, seconds=60):
        try:
            return subprocess.run(
                ["ssh", "-q", "-i", self.key, "-p", str(self.port), "-o", "StrictHostKeyChecking=no", "-o",
                 "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=5", "-o", "BatchMode=yes", "root@127.0.0.1", command],
                capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 255, "", "no answer")

    def run(self, command, seconds=60):
        """Runs a shell command, and returns what it prints. Another status than 0 is a failure."""
        result = self.try_run(command, seconds)
        if result.returncode != 0:
            raise Failure(f"{command}: status {result.returncode}: {(result.stdout + result.stderr)[-2000:]}")
        return result.stdout.strip()

    def show(self, name, unit="jostle"):
        """A property of a unit."""
        return self.run(f"systemctl show --value -p {name} {unit}")

    def is_running(self):
        return self.try_run("systemctl is-active jostle").stdout.strip() == "active"

    def settle(self):
        """Waits until the service runs with its sensor thread."""
        wait_until(lambda: self.is_running() and self.sensor_thread(), 60, "the service runs", 0.3)

    def sensor_thread(self):
        """The id of the thread that reads the chip."""
        lines = self.try_run("grep -l '^jostle-sensor' /proc/$(systemctl show --value -p MainPID jostle)/task/*/comm").stdout
        found = re.search(r"task/(\d+)/comm", lines)
        return found and found[1]

    def log(self, options="-o cat"):
        """The service's journal of this boot."""
        return self.run(f"journalctl -b -u jostle --no-pager {options}")

    def logs(self, text, seconds=60):
        """Waits for a line of the journal."""
        wait_until(lambda: text in self.log(), seconds, f"the journal has: {text}", 0.5)


class Broker:
    """A broker that wants a password, and a file with all messages that it passed on."""

    def __init__(self, files):
        self.port, self.configuration, self.messages = free_port(), files / "mosquitto.conf", files / "messages"
        passwords = files / "passwords"
        passwords.unlink(missing_ok=True)
        subprocess.run(["mosquitto_passwd", "-b", "-c", passwords, "board", "secret"], check=True, capture_output=True)
        self.configuration.write_text(
            f"listener {self.port} 127.0.0.1\npassword_file {passwords}\nuser root\npersistence false\nlog_type none\n")
        self.messages.write_text("")
        self.broker = self.observer = None
        self.start()

    def start(self):
        self.broker = subprocess.Popen(["mosquitto", "-c", self.configuration], stderr=subprocess.DEVNULL)
        wait_until(lambda: self.publish("probe", "") == 0, 20, "the broker answers", 0.1)
        self.observer = subprocess.Popen(
            ["mosquitto_sub", *self.login(), "-v", "-q", "1", "-t", f"jostle/{board}/#"],
            stdout=open(self.messages, "a"), stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    def stop(self):
        # The broker first: what it acknowledges reaches the observer.
        self.broker.kill()
        self.broker.wait()
        time.sleep(0.5)
        self.observer.kill()
        self.observer.wait()

    def login(self):
        return ["-h", "127.0.0.1", "-p", str(self.port), "-u", "board", "-P", "secret"]

    def publish(self, topic, payload, *options):
        return subprocess.run(
            ["mosquitto_pub", *self.login(), "-q", "1", "-t", topic, "-m", payload, *options],
            capture_output=True, timeout=30).returncode

    def received(self, end):
        """The payloads on a topic of the board, oldest first."""
        start = f"jostle/{board}/{end} "
        return [line[len(start):] for line in self.messages.read_text().splitlines() if line.startswith(start)]

    def events(self):
        """All events, oldest first."""
        start = f"jostle/{board}/event/"
        return [json.loads(line.split(" ", 1)[1])
                for line in self.messages.read_text().splitlines() if line.startswith(start)]

    def reported(self, *path):
        """A value in the last report of the configuration; None without a report or a value."""
        reports = self.received("config/reported")
        value = json.loads(reports[-1]) if reports else {}
        for name in path:
            value = value.get(name, {}) if isinstance(value, dict) else {}
        return None if value == {} else value

    def availability(self):
        return (self.received("availability") or [None])[-1]
