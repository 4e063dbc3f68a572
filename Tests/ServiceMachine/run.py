"""The checks of Scripts/test-service."""
import json, pathlib, random, re, sys, time
from fleet_rig import Failure, measurement, wait_until
from machine import Broker, Machine, board

files, cuts = pathlib.Path(sys.argv[1]), int(sys.argv[2])
# Seconds after which the kernel has written a changed file to the disk: vm.dirty_expire_centisecs and
# vm.dirty_writeback_centisecs are 30 s and 5 s, and an emulated disk takes its time.
writeback = 40
sensitivity = ("settings", "gestures", "tap", "sensitivity")


def passed(text):
    print(f"ok: {text}", flush=True)


def check(condition, text, detail=""):
    if not condition:
        raise Failure(f"not so: {text}{': ' if detail else ''}{detail}")
    passed(text)


def test_start(machine, broker):
    machine.settle()
    wait_until(lambda: broker.availability() == "online", 30, "the agent is online")
    check(machine.show("Type") == "notify" and machine.show("NotifyAccess") == "main", "the service is of type notify")
    start, ready = (int(machine.show(f"{name}Monotonic")) for name in ("ExecMainStartTimestamp", "ActiveEnterTimestamp"))
    check(0 < ready - start < 20e6, f"it was ready {(ready - start) / 1000:.0f} ms after its start")
    wait_until(lambda: machine.show("StatusText") == "measuring connected", 30, "systemctl status says what it does", 0.5)
    wait_until(lambda: broker.events(), 30, "events arrive")
    passed("it measures, is connected, and publishes events")


def test_sandbox(machine):
    process = machine.show("MainPID")
    status = dict(line.split(":\t") for line in machine.run(f"cat /proc/{process}/status").splitlines() if ":\t" in line)
    check(status["CapEff"] == status["CapBnd"] == "0" * 16, "it has no capability")
    check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", "its system calls are filtered")
    groups = machine.run("getent group i2c iio gpio | cut -d: -f3").split()
    check(set(groups) <= set(status["Groups"].split()), "it is in the groups of the chips")
    namespaces = [machine.run(f"readlink /proc/{p}/ns/user") for p in (process, 1)]
    check(namespaces[0] != namespaces[1], "it has a user namespace of its own")
    owner = machine.run("stat -c %U:%a /var/lib/jostle")
    check(owner == "jostle:700", "only the service can read its state", owner)
    report = machine.run("systemd-analyze security jostle --no-pager || true")
    exposure = float(re.search(r"exposure level for jostle.service: ([\d.]+)", report)[1])
    check(exposure <= 1.5, f"systemd-analyze security: {exposure}", report)


# A unit like the service, which runs another command once.
one_shot = r"""sed -E -e '/^(ExecStart|ExecReload|Type|NotifyAccess|WatchdogSec|Restart|Environment=JOSTLE|StateDirectory)/d' \
    -e 's/^\[Service\]/[Service]\nType=oneshot\nRuntimeDirectory=once\nEnvironment=STATE_DIRECTORY=\/run\/once\nExecStart=%s/' \
    /usr/lib/systemd/system/jostle.service >/run/systemd/system/once.service; systemctl daemon-reload; systemctl start once;
    journalctl -b -u once --no-pager -o cat"""


def once(machine, command):
    """Runs a command of the program in the sandbox of the service, and returns what it printed."""
    machine.run("journalctl --rotate --vacuum-time=1s -u once >/dev/null 2>&1 || true")
    output = machine.run(one_shot % command.replace("/", r"\/"), 120)
    result = machine.show("Result", "once")
    if result != "success":
        raise Failure(f"{command} in the sandbox: {result}: {output}")
    return output


def test_chips(machine, broker):
    registers = ("0x00 0xd1", "0x40 0x28", "0x41 0x08", "0x42 0x28", "0x43 0x00", "0x0c 0x64", "0x0d 0x00", "0x0e 0x38",
                 "0x0f 0xff", "0x10 0x2c", "0x11 0x01", "0x12 0xf4", "0x13 0x01", "0x14 0x18", "0x15 0xfc", "0x16 0x00",
                 "0x17 0x10")
    machine.run("modprobe i2c-dev && modprobe i2c-stub chip_addr=0x69 && udevadm settle")
    bus = machine.run("grep -l stub /sys/bus/i2c/devices/i2c-*/name | grep -o 'i2c-[0-9]*'")
    for register in registers:
        machine.run(f"i2cset -y {bus[4:]} 0x69 {register}")
    output = once(machine, f"/usr/bin/jostle scan --bus /dev/{bus}")
    check(f"BMI160 at 0x69 on /dev/{bus}" in output, "in the sandbox, a chip on a bus answers", output)
    machine.run(f"modprobe bmi160_i2c && echo bmi160 0x69 >/sys/bus/i2c/devices/{bus}/new_device")
    rate = "cat /sys/bus/iio/devices/iio:device0/in_accel_sampling_frequency"
    wait_until(lambda: machine.try_run(rate).returncode == 0, 10, "the kernel driver has the chip")
    machine.run("udevadm settle")
    before = machine.run(rate)
    machine.run("systemctl stop once; systemctl reset-failed once || true")
    output = once(machine, "/usr/bin/jostle record --for 2 --set sensor.driver=iio --set sensor.rate=25Hz /run/once/r.csv")
    check("denied" not in output and "Failed" not in output, "in the sandbox, the sensor of a kernel driver is set up and read",
          output)
    check(machine.run(rate) == before, "and its rate is as it was before", before)
    machine.run("echo 'sensor: { driver: iio, rate: 25 Hz }' >/etc/jostle/conf.d/test.yaml && systemctl restart jostle")
    machine.settle()
    health = lambda: json.loads((broker.received("health") or ["{}"])[-1])
    wait_until(lambda: health().get("sensor_state") == "streaming" and "bmi160" in machine.log(), 60, "it measures", 0.5)
    wait_until(lambda: health().get("real_time") is True, 30, "the report says that the sensor thread has priority", 0.5)
    fields = machine.run(f"cat /proc/$(systemctl show --value -p MainPID jostle)/task/{machine.sensor_thread()}/stat")
    fields = fields.rsplit(")", 1)[1].split()
    check(fields[37:39] == ["1", "1"], "the thread of a real sensor has the lowest real-time priority", fields[37:39])
    machine.run("rm /etc/jostle/conf.d/test.yaml && systemctl restart jostle")
    machine.settle()
    machine.run(f"echo 0x69 >/sys/bus/i2c/devices/{bus}/delete_device; modprobe -r i2c-stub || true")


def test_journal(machine, broker):
    broker.publish(f"jostle/{board}/set/gestures.tap.sensitivity", "99")
    machine.logs("gestures.tap.sensitivity not set")
    entries = [json.loads(line) for line in machine.log("-o json").splitlines()]
    own = [entry for entry in entries if entry.get("_COMM") == "jostle"]
    levels = {entry["PRIORITY"] for entry in own}
    check({"4", "6"} <= levels, "the journal knows warnings from information", levels)
    warnings = machine.log("-p warning -o cat")
    check("not set" in warnings and "publishing under" not in warnings, "journalctl -p warning shows only warnings", warnings)
    check(all(entry.get("JOSTLE_DEVICE") == board for entry in own), "every entry has the device's id")


def test_actions(machine, broker):
    """A program of a rule runs outside of the sandbox, if root has listed it."""
    script = r"""#!/bin/sh
echo "gesture $JOSTLE_GESTURE from $JOSTLE_DEVICE as $(id -un) in $(id -Gn)"
exec cat >/tmp/action.json
"""
    machine.run(f"cat >/usr/local/bin/on-shake <<'END'\n{script}END\nchmod 755 /usr/local/bin/on-shake; rm -f /tmp/action.json")
    machine.run("echo 'actions: [{ on: shake, name: bell, run: /usr/local/bin/on-shake, simulated: true }]'"
                " >/etc/jostle/conf.d/test.yaml && systemctl restart jostle")
    machine.settle()
    machine.logs("/usr/local/bin/on-shake is not in /etc/jostle/programs", 90)
    problems = lambda: json.loads((broker.received("health") or ["{}"])[-1]).get("problems", [])
    wait_until(lambda: "actions" in problems(), 30, "the report has the problem", 0.5)
    check(machine.try_run("test -e /tmp/action.json").returncode != 0, "a program that root has not listed does not run")
    machine.run("echo /usr/local/bin/on-shake >>/etc/jostle/programs")
    journal = lambda: machine.run("journalctl -b -u 'jostle-run@*' --no-pager -o cat")
    wait_until(lambda: f"gesture shake from {board} as jostle-run" in journal(), 90, "the program's output is in the journal", 1)
    groups = re.search("as jostle-run in (.*)", journal())[1].split()
    check({"gpio", "audio"} <= set(groups), "its user is in the groups of GPIO and sound", groups)
    wait_until(lambda: "actions" not in problems(), 30, "the report has the problem no more", 0.5)
    event = json.loads(machine.run("cat /tmp/action.json"))
    check(event["gesture"] == "shake" and event["device"] == board, "its standard input is the event", event)
    check(machine.run("stat -c %U:%a /run/jostle-run.socket") == "jostle:600", "only the agent may ask for programs")
    for user in ("nobody", "jostle-run"):
        check(machine.try_run(f"runuser -u {user} -- test -w /run/jostle-run.socket").returncode != 0, f"{user} may not")
    machine.run("rm /etc/jostle/conf.d/test.yaml && systemctl restart jostle")
    machine.settle()


def test_reload(machine, broker):
    process = machine.show("MainPID")
    machine.run("echo 'gestures: { tap: { sensitivity: 7 } }' >/etc/jostle/conf.d/test.yaml && systemctl reload jostle")
    wait_until(lambda: broker.reported(*sensitivity) == 7, 30, "the reloaded value is reported")
    passed("systemctl reload applies a file of conf.d")
    machine.run("echo 'gestures: { tap: { sensitivity: 77 } }' >/etc/jostle/conf.d/test.yaml")
    failed = machine.try_run("systemctl reload jostle").returncode
    check(failed != 0, "a reload with a mistake fails")
    machine.logs("/etc/jostle/conf.d/test.yaml:1:33: gestures.tap.sensitivity")
    machine.run("systemctl kill --kill-who=main -s HUP jostle")
    machine.logs("the configuration stays as it is")
    machine.run("printf 'sensor: { bus: /dev/i2c-9 }\n' >/etc/jostle/conf.d/test.yaml && systemctl reload jostle")
    machine.logs("takes effect at the next start: sensor.bus")
    wait_until(lambda: broker.reported("restart_required") == ["sensor.bus"], 30, "the key is reported")
    passed("what needs a restart is named")
    machine.run("rm /etc/jostle/conf.d/test.yaml && systemctl reload jostle")
    wait_until(lambda: broker.reported("restart_required") is None, 30, "the key is not reported any more")
    check(machine.show("MainPID") == process and machine.show("NRestarts") == "0", "and it runs on all the time")


def test_credentials(machine, broker):
    listing = machine.run("ls -ld /etc/jostle/credentials /etc/jostle/credentials/password")
    check(listing.count("root root") == 2 and "drwx------" in listing and "-rw-------" in listing,
          "the password with which it is connected is readable by root only", listing)
    check("valid" in machine.run("jostle check-config"), "root's check-config finds it too")
    # A board without the directory, whose password is a file that the service's group can read.
    machine.run("install -m 640 -g jostle /etc/jostle/credentials/password /etc/jostle/password"
                " && mv /etc/jostle/credentials /etc/old && systemctl restart jostle")
    machine.settle()
    wait_until(lambda: broker.availability() == "online", 30, "it is online")
    passed("without the directory of credentials it starts, and reads /etc/jostle/password")
    machine.run("mkdir -m 700 /etc/jostle/credentials && systemctl restart jostle")
    machine.settle()
    passed("with an empty one too")
    machine.run("rm -r /etc/jostle/credentials /etc/jostle/password && mv /etc/old /etc/jostle/credentials"
                " && systemctl restart jostle")
    machine.settle()
    wait_until(lambda: broker.availability() == "online", 30, "it is online again")


def expect_restart(machine, broker, what):
    """The watchdog ends the service, and systemd starts it again."""
    start = time.monotonic()
    machine.logs("Watchdog timeout", 90)
    ended = time.monotonic() - start
    wait_until(lambda: broker.availability() == "online" and machine.is_running(), 90, f"the service is back after {what}", 0.3)
    wait_until(lambda: machine.show("StatusText") == "measuring connected", 30, "it measures again", 0.3)
    passed(f"{what}: the watchdog noticed after {ended:.0f} s, and it measured again {time.monotonic() - start - ended:.0f} s later")


def test_watchdog(machine, broker):
    check(machine.show("WatchdogUSec") == "30s", "the watchdog waits for 30 s")
    machine.run("mkdir -p /run/systemd/system/jostle.service.d && printf '[Service]\\nWatchdogSec=6s\\n'"
                " >/run/systemd/system/jostle.service.d/fast.conf && systemctl daemon-reload && systemctl restart jostle")
    machine.settle()
    time.sleep(8)
    check(machine.show("NRestarts") == "0", "it feeds the watchdog")
    machine.run("kill -STOP $(systemctl show --value -p MainPID jostle)")
    expect_restart(machine, broker, "a process that is stopped")
    machine.run("journalctl --rotate --vacuum-time=1s >/dev/null 2>&1; true")
    machine.run(f"guest_tool hold {machine.sensor_thread()} >/dev/null 2>&1 &")
    expect_restart(machine, broker, "a sensor thread that is stuck")
    check(machine.show("NRestarts") == "2", "there was no other restart", machine.show("NRestarts"))
    machine.run("pkill -f '^guest_tool' || killall guest_tool || true; rm -r /run/systemd/system/jostle.service.d"
                " && systemctl daemon-reload && systemctl restart jostle")
    machine.settle()


def test_crash_loop(machine, broker):
    version = int(machine.run("systemctl --version").split()[1])
    pauses = []
    for _ in range(4):
        machine.run("systemctl kill --kill-who=main -s SEGV jostle")
        start = time.monotonic()
        wait_until(lambda: not machine.is_running(), 10, "it has crashed", 0.1)
        wait_until(machine.is_running, 90, "it is back", 0.2)
        pauses.append(time.monotonic() - start)
    passed("a crash is followed by a start after " + ", ".join(f"{pause:.0f}" for pause in pauses) + " s")
    if version >= 254:
        check(pauses[-1] > pauses[0] + 2, "each time later")
    machine.run("echo 'sensor: { rate: fast }' >/etc/jostle/conf.d/broken.yaml; systemctl restart jostle || true")
    wait_until(lambda: int(machine.show("NRestarts")) >= 2, 120, "systemd goes on trying", 0.5)
    check("/etc/jostle/conf.d/broken.yaml:1:17: sensor.rate" in machine.log("-p err -o cat"),
          "the mistake is in the journal, as an error")
    machine.run("rm /etc/jostle/conf.d/broken.yaml")
    wait_until(lambda: machine.is_running() and broker.availability() == "online", 120, "it starts again", 0.5)
    passed("when the mistake is corrected, it starts by itself")


def stored_events(machine):
    """The ids of the events in the outbox. The agent locks the file, so a copy is read."""
    query = "select id from message where id is not null and topic like '%/event/%'"
    return set(machine.run("rm -rf /tmp/copy; mkdir /tmp/copy; cp /var/lib/jostle/outbox.sqlite3* /tmp/copy/"
                           f" && sqlite3 /tmp/copy/outbox.sqlite3 \"{query}\"").split())


def cut_power(machine, broker, number):
    """The power fails while events are being stored that no broker has."""
    value = random.choice([n for n in range(1, 11) if n != broker.reported(*sensitivity)])
    broker.publish(f"jostle/{board}/set/gestures.tap.sensitivity", str(value))
    wait_until(lambda: broker.reported(*sensitivity) == value and broker.reported("not_kept") is None, 20,
               "the value is reported as stored")
    broker.stop()
    wait_until(lambda: len(stored_events(machine)) >= 3, 60, "events are stored", 0.3)
    time.sleep(random.uniform(0, 6))
    stored = stored_events(machine)
    # Without a pause between events, the kernel writes the file to the disk, at the latest after half a minute.
    time.sleep(writeback + random.uniform(0, 5))
    machine.cut_power()
    broker.start()
    start = time.monotonic()
    machine.boot()
    missing = lambda: stored - {event["id"] for event in broker.events()}
    try:
        wait_until(lambda: not missing(), 90, "every stored event arrives", 0.3)
    except Failure as failure:
        raise Failure(f"{failure}; missing: {sorted(missing())} of {sorted(stored)}")
    wait_until(lambda: broker.reported(*sensitivity) == value, 30, "the value that was set is in force")
    log = machine.log()
    bad = [line for line in log.splitlines() if re.search(r"damaged|set aside|cannot be read|lost", line)]
    if bad:
        raise Failure("state was damaged: " + "\n".join(bad))
    passed(f"power cut {number}: {len(stored)} events of {writeback} s before arrived, the value set was in force, nothing was damaged "
           f"({time.monotonic() - start:.0f} s)")


def test_order(broker):
    """Over all power cuts: the events of each run without a gap."""
    runs = {}
    for event in broker.events():
        run, number = event["id"].split("-")
        runs.setdefault(run, set()).add(int(number))
    gaps = [run for run, numbers in runs.items() if max(numbers) - min(numbers) + 1 != len(numbers)]
    check(not gaps, f"the events of {len(runs)} runs have no gap", gaps)


def test_clock(machine, broker):
    machine.run("systemctl stop jostle; rm -f /var/lib/jostle/last-time; sync")
    machine.cut_power()
    machine.boot(rtc="base=2001-01-01T00:00:00")
    machine.settle()
    machine.logs("the time may be wrong until the clock is synchronised")
    count = len(broker.events())
    wait_until(lambda: len(broker.events()) > count, 30, "events arrive")
    check(broker.events()[-1].get("clock") == "unset", "with a clock that was never set, events say so", broker.events()[-1])
    machine.run(f"date -s @{int(time.time())} >/dev/null && guest_tool synchronise")
    check(machine.run("timedatectl show --value -p NTPSynchronized") == "yes", "another program synchronises the clock")
    start = time.monotonic()
    machine.logs("the time can be trusted now", 60)
    passed(f"in the sandbox, the agent knows that {time.monotonic() - start:.0f} s later")
    count = len(broker.events())
    wait_until(lambda: len(broker.events()) > count + 1, 30, "events arrive")
    event = broker.events()[-1]
    check("clock" not in event and abs(event["t"] / 1000 - time.time()) < 60, "and events have the right time", event)
    time.sleep(2)
    machine.cut_power()
    machine.boot(rtc="base=2001-01-01T00:00:00")
    machine.settle()
    machine.logs("the time may be wrong until the clock is synchronised")
    count = len(broker.events())
    wait_until(lambda: len(broker.events()) > count, 30, "events arrive")
    check(broker.events()[-1].get("clock") == "unset", "after a power cut the wrong time of the hardware clock is not trusted")


with measurement():
    broker = Broker(files)
    machine = None
    try:
        machine = Machine(files, broker.port)
        machine.boot()
        test_start(machine, broker)
        test_sandbox(machine)
        test_chips(machine, broker)
        test_journal(machine, broker)
        test_actions(machine, broker)
        test_reload(machine, broker)
        test_credentials(machine, broker)
        test_watchdog(machine, broker)
        test_crash_loop(machine, broker)
        for number in range(1, cuts + 1):
            cut_power(machine, broker, number)
        test_order(broker)
        test_clock(machine, broker)
        print("Everything passed.")
    except Failure:
        if machine is not None and machine.process is not None and machine.process.poll() is None:
            (files / "journal").write_text(machine.try_run("journalctl -b --no-pager -n 400").stdout)
            print(machine.try_run("journalctl -b -u jostle -u once --no-pager -n 40").stdout, file=sys.stderr)
        raise
    finally:
        if machine is not None:
            machine.cut_power()
        broker.stop()
