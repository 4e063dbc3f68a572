"""Runs the blueprints in a real Home Assistant; called by Scripts/test-home-assistant.

usage: home_assistant_rig.py DIRECTORY HASS JOSTLE
       home_assistant_rig.py DIRECTORY HASS

Starts a broker, Home Assistant and an agent with the virtual chip, all on loopback. Home Assistant makes an automation
of each blueprint; `jostle simulate` makes the movements. What the automations do is seen at the broker. The board gets
another id. If this version of Home Assistant knows messages for whole devices, the agent changes to that form of
discovery, gets another id again, and changes back.

Without JOSTLE, for Scripts/test-packages: there is no agent. It prints the port of the broker. When a board has come to
it, it makes an automation of a blueprint. It prints `ready` and, when a shake has switched the lamp, `lamp`, each with
the time in milliseconds.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLUEPRINTS = ROOT / "deploy/home-assistant/blueprints/automation/jostle"
BOARD = "board"

# The other form of discovery: the setting, and what the topics of the former form get first.
WHOLE_DEVICE = "home_assistant.discovery_form=device"
MIGRATION = '{"migrate_discovery":true}'
# Home Assistant says this of a topic that changes its form or its id, when nothing of its message is left.
FORGOTTEN = "No device components to cleanup for "

# An automation of each blueprint, with its inputs. The actions `(topic, payload)` publish on test/TOPIC.
AUTOMATIONS = {
    "shake_toggle": ("shake_toggle", {"target": {"entity_id": "switch.lamp"}, "quiet_time": 0.5}),
    "real_shakes": ("shake_toggle", {"actions": ("real", "shake"), "simulated": False}),
    "machine_done": ("machine_done", {"actions": ("done", "{{ minutes }}"), "shortest": 0.1}),
    "long_run": ("machine_done", {"actions": ("long", "{{ minutes }}")}),
    "fall_or_impact": ("fall_or_impact", {"actions": ("alert", "{{ what }} {{ height }}"), "quiet_time": 4}),
    "hard_impact": ("fall_or_impact", {"actions": ("hard", "{{ what }}"), "weakest": 160}),
    "letterbox": ("letterbox", {"actions": ("mail", "opened"), "quiet_time": 3}),
    "turn_dims": ("turn_dims", {"target": {"entity_id": "light.ceiling"}}),
}

# The movement, with the options of `jostle simulate`; the topics that are looked at; and what arrives there, in order.
MOVEMENTS = [
    (["shake"], "lamp|test/real", ["lamp/set ON"]),
    (["shake"], "lamp|test/real", ["lamp/set OFF"]),
    (["fan", "--for", "15"], "test/(done|long)", [r"test/done 0\.\d"]),
    (["drop"], "test/(alert|hard)", [r"test/alert fall 0\.\d+", "test/hard fall"]),
    (["bump"], "test/(alert|hard)", ["test/alert impact 0"]),
    # A tilt turns the board about another axis than a knob.
    (["tilt"], "test/mail|ceiling", ["test/mail opened"]),
    (["turn-right"], "ceiling", [r"ceiling/brightness 12[78]", "ceiling/set ON"]),
    (["turn-left"], "ceiling", ["ceiling/set OFF"]),
]

# What an automation does that somebody runs by hand, without an event.
BY_HAND = [
    ("shake_toggle", "lamp", ["lamp/set ON"]),
    ("machine_done", "test/done", [r"test/done 0(\.0)?"]),
    ("fall_or_impact", "test/alert", ["test/alert fall 0"]),
    ("letterbox", "test/mail", ["test/mail opened"]),
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Rig:
    def __init__(self, directory, hass, jostle):
        self.directory = pathlib.Path(directory)
        self.hass_program, self.jostle_program = hass, jostle
        shutil.rmtree(self.directory, ignore_errors=True)
        self.config = self.directory / "config"
        (self.config / ".storage").mkdir(parents=True)
        self.port, self.http_port = free_port(), free_port()
        self.processes = []
        self.board = BOARD

    def start(self, name, arguments, **options):
        log = open(self.directory / f"{name}.log", "a", encoding="utf-8")
        process = subprocess.Popen(arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def stop(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def stop_all(self):
        for process in reversed(self.processes):
            self.stop(process)

    def start_broker(self):
        (self.directory / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
        )
        self.start("mosquitto", ["mosquitto", "-c", str(self.directory / "mosquitto.conf")])
        wait(lambda: self.answers(self.port), 10, "the broker does not start")
        # Everything that is published, one line a message: topic, then payload.
        self.seen = self.directory / "seen.log"
        self.start("seen", ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(self.port), "-v", "-t", "#"])

    def answers(self, port):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    def messages(self):
        return self.seen.read_text(encoding="utf-8", errors="replace").splitlines()

    def start_agent(self, *more):
        state = self.directory / "state"
        state.mkdir(exist_ok=True)
        settings = [
            f"device.id={self.board}",
            "device.name=Front door",
            f"mqtt.broker=mqtt://127.0.0.1:{self.port}",
            "sensor.driver=virtual",
            "sensor.trajectory=rest",
            "gestures.vibration.done_after=5s",
            *more,
        ]
        (self.directory / "empty.yaml").write_text("")
        arguments = [self.jostle_program, "run", "--config", str(self.directory / "empty.yaml")]
        arguments += [word for setting in settings for word in ("--set", setting)]
        online = f"jostle/{self.board}/availability online"
        before = self.messages().count(online)
        process = self.start("jostle", arguments, env=dict(os.environ, STATE_DIRECTORY=str(state)))
        last = (self.whole(),) if WHOLE_DEVICE in more else (f"homeassistant/button/{self.board}/tare/config",)
        wait(
            lambda: self.messages().count(online) > before and self.has_retained(last),
            30, "the agent is not announced", process,
        )
        self.agent = process

    def whole(self):
        """The topic of the message for the whole device."""
        return f"homeassistant/device/{self.board}/config"

    def has_retained(self, topics):
        """Whether the last message to each of these topics is not empty."""
        last = dict(line.partition(" ")[::2] for line in self.messages())
        return all(last.get(topic, "") not in ("", MIGRATION) for topic in topics)

    def knows_whole_devices(self):
        command = [self.hass_program, "--version"]
        version = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        return tuple(map(int, version.split(".")[:2])) >= (2024, 11)

    def entities(self):
        registry = json.loads((self.config / ".storage/core.entity_registry").read_text())["data"]
        return sorted(
            (entity["unique_id"], entity["entity_id"], entity["id"])
            for entity in registry["entities"] if entity["platform"] == "mqtt"
        )

    def discovery(self):
        """The topics that the broker retains for discovery."""
        command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(self.port), "-W", "2", "-v", "-t", "homeassistant/+/#"]
        lines = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.splitlines()
        return [line.split(" ")[0] for line in lines if line.split(" ")[0].endswith("/config")]

    def simulate(self, words):
        setting = ["--set", f"mqtt.broker=mqtt://127.0.0.1:{self.port}", "--config", str(self.directory / "empty.yaml")]
        command = [self.jostle_program, "simulate", *words, "--on", self.board, *setting]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if result.returncode != 0:
            raise SystemExit(f"jostle simulate {' '.join(words)}: {result.stderr}")

    def publish(self, topic, payload):
        command = ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(self.port), "-t", topic, "-m", payload]
        subprocess.run(command, timeout=30, check=True)

    def write_configuration(self):
        (self.config / "configuration.yaml").write_text(
            f"""\
homeassistant:
  name: test
  latitude: 0
  longitude: 0
  elevation: 0
  unit_system: metric
  time_zone: UTC
http:
  server_host: 127.0.0.1
  server_port: {self.http_port}
logger:
  default: warning
automation: !include automations.yaml
mqtt:
  - switch:
      name: Lamp
      command_topic: lamp/set
  - light:
      name: Ceiling
      command_topic: ceiling/set
      brightness_command_topic: ceiling/brightness
"""
        )
        (self.config / "automations.yaml").write_text("[]\n")
        entry = {
            "entry_id": "0123456789abcdef0123456789abcdef", "version": 1, "minor_version": 1, "domain": "mqtt",
            "title": "broker", "data": {"broker": "127.0.0.1", "port": self.port, "discovery": True}, "options": {},
            "pref_disable_new_entities": False, "pref_disable_polling": False, "source": "user", "unique_id": None,
            "disabled_by": None,
        }
        document = {"version": 1, "minor_version": 1, "key": "core.config_entries", "data": {"entries": [entry]}}
        (self.config / ".storage/core.config_entries").write_text(json.dumps(document))
        shutil.copytree(BLUEPRINTS, self.config / "blueprints/automation/jostle")

    def write_automations(self, device):
        # Run by hand: as the button "Run" does.
        run = {"service": "automation.trigger", "target": {"entity_id": "automation.{{ trigger.payload }}"}}
        automations = [
            {"id": "by_hand", "trigger": {"platform": "mqtt", "topic": "run"}, "action": run, "mode": "queued"},
            {"id": "asked", "trigger": {"platform": "mqtt", "topic": "ask"}, "action": publish("answer", "ready")},
        ]
        for name, (blueprint, inputs) in AUTOMATIONS.items():
            values = {"board": device}
            for key, value in inputs.items():
                values[key] = [publish(f"test/{value[0]}", value[1])] if key == "actions" else value
            use = {"path": f"jostle/{blueprint}.yaml", "input": values}
            automations.append({"id": name, "alias": name, "use_blueprint": use})
        # JSON is YAML.
        (self.config / "automations.yaml").write_text(json.dumps(automations, indent=1))

    def start_hass(self):
        births = sum(m == "homeassistant/status online" for m in self.messages())
        process = self.start("hass", [self.hass_program, "-c", str(self.config), "--log-no-color"])
        wait(
            lambda: sum(m == "homeassistant/status online" for m in self.messages()) > births,
            300, "Home Assistant does not connect", process,
        )
        wait(lambda: self.answers(self.http_port), 60, "Home Assistant does not listen", process)
        return process

    def wait_for_automations(self):
        def answers():
            self.publish("ask", "")
            time.sleep(0.5)
            return "answer ready" in self.messages()

        wait(answers, 60, "the automations are not set up")
        # The triggers of the device are announced by retained messages, which have arrived by now.
        time.sleep(5)

    def device(self):
        registry = json.loads((self.config / ".storage/core.device_registry").read_text())
        for device in registry["data"]["devices"]:
            if any(kind == "mqtt" and name.startswith(f"jostle_{BOARD}") for kind, name in device["identifiers"]):
                if device["manufacturer"] != "Jostle":
                    raise SystemExit("the blueprints' selector looks for the manufacturer Jostle")
                return device["id"]
        raise SystemExit("Home Assistant has not created the device")


def wait(condition, seconds, message, process=None):
    deadline = time.monotonic() + seconds
    while not condition():
        if process is not None and process.poll() is not None:
            raise SystemExit(f"{message}: it ended with status {process.returncode}")
        if time.monotonic() > deadline:
            raise SystemExit(f"{message} within {seconds} s")
        time.sleep(0.1)


def publish(topic, payload):
    """An action that publishes a message."""
    return {"service": "mqtt.publish", "data": {"topic": topic, "payload": payload}}


class Report:
    """What was checked, and how many checks failed."""

    def __init__(self, rig):
        self.rig = rig
        self.checks = self.failures = 0

    def check(self, what, make, topics, expected):
        """Makes something happen. On the topics, exactly the expected messages must arrive."""
        before = len(self.rig.messages())
        pattern = re.compile(f"({topics})[/ ]")
        make()

        def found():
            return [line for line in self.rig.messages()[before:] if pattern.match(line)]

        deadline = time.monotonic() + 20
        while len(found()) < len(expected) and time.monotonic() < deadline:
            time.sleep(0.1)
        # Longer than the quiet times above, so that one case does not silence the next, and for one message too many.
        time.sleep(5)
        messages = found()
        is_right = len(messages) == len(expected) and all(
            re.fullmatch(e, m) for e, m in zip(sorted(expected), sorted(messages))
        )
        self.add(is_right, f"{what}: {messages}" + ("" if is_right else f", expected {expected}"))

    def migrate(self):
        """Changes the form of discovery, and back. Entities stay, and automations go on."""
        rig = self.rig
        # Home Assistant writes its registry ten seconds after a change.
        time.sleep(12)
        before, single = rig.entities(), rig.discovery()
        board = rig.board
        for form, settings in (("device", [WHOLE_DEVICE]), ("component", [])):
            rig.stop(rig.agent)
            rig.start_agent(*settings)
            time.sleep(15)
            topics = rig.discovery()
            expected = [rig.whole()] if settings else [topic.replace(f"/{board}/", f"/{rig.board}/") for topic in single]
            is_right = sorted(topics) == sorted(expected)
            self.add(is_right, f"discovery_form {form}: {len(topics)} messages are retained")
            after = rig.entities()
            self.add(after == before, f"discovery_form {form}: {len(after)} of {len(before)} entities, the same")
            self.check(
                f"discovery_form {form}: jostle simulate shake", lambda: rig.simulate(["shake"]), "lamp|test/real",
                ["lamp/set (ON|OFF)"],
            )
            if settings:
                self.rename(f"{rig.board}-again", *settings)

    def rename(self, board, *settings):
        """Gives the board another id. Entities stay, and automations go on."""
        rig = self.rig
        time.sleep(12)
        before, count = rig.entities(), len(rig.discovery())
        rig.stop(rig.agent)
        rig.board = board
        rig.start_agent(*settings)
        time.sleep(15)
        topics, after = rig.discovery(), rig.entities()
        is_right = len(topics) == count and all(f"/{board}/" in topic for topic in topics)
        self.add(is_right, f"{board}: {len(topics)} of {count} messages are retained")
        self.add(after == before, f"{board}: {len(after)} of {len(before)} entities, the same")
        self.check(f"{board}: jostle simulate shake", lambda: rig.simulate(["shake"]), "lamp|test/real", ["lamp/set (ON|OFF)"])

    def add(self, is_right, text):
        self.checks += 1
        self.failures += not is_right
        print("ok     " if is_right else "FAILED ", text, flush=True)


def run(rig):
    report = Report(rig)
    rig.write_configuration()
    rig.start_broker()
    rig.start_agent()
    rig.stop(rig.start_hass())
    rig.write_automations(rig.device())
    everything = "test|lamp|ceiling"
    report.check("start of Home Assistant", lambda: (rig.start_hass(), rig.wait_for_automations()), everything, [])
    for words, topics, expected in MOVEMENTS:
        report.check(f"jostle simulate {words[0]}", lambda: rig.simulate(words), topics, expected)
    for name, topics, expected in BY_HAND:
        report.check(f"{name} run by hand", lambda: rig.publish("run", name), topics, expected)

    def restart_agent():
        rig.stop(rig.agent)
        rig.start_agent()

    report.check("restart of the agent", restart_agent, everything, [])
    report.rename("other")
    if rig.knows_whole_devices():
        report.migrate()
    log = (rig.directory / "hass.log").read_text(errors="replace")
    bad = [
        line for line in log.splitlines()
        if re.search(r"(WARNING|ERROR).*(automation|blueprint|jostle|mqtt)", line) and FORGOTTEN not in line
    ]
    report.add(not bad, f"warnings of Home Assistant: {bad}")
    return report


def newcomer(rig):
    """Waits for a board, and for a shake of it that switches the lamp."""
    found = "{{ integration_entities('mqtt') | map('device_id') | select('string') | first | default('none') }}"
    helpers = [
        {"id": "which", "trigger": {"platform": "mqtt", "topic": "which"}, "action": publish("device", found)},
        {"id": "read", "trigger": {"platform": "mqtt", "topic": "read"}, "action": {"service": "automation.reload"}},
    ]
    automations = rig.config / "automations.yaml"
    rig.write_configuration()
    automations.write_text(json.dumps(helpers))
    rig.start_broker()
    rig.start_hass()
    print(rig.port, flush=True)
    device = None

    def has_device():
        nonlocal device
        rig.publish("which", "")
        time.sleep(0.2)
        device = next((m.split(" ")[1] for m in rig.messages() if re.match("device (?!none)", m)), None)
        return device is not None

    wait(has_device, 300, "no board has come")
    use = {"path": "jostle/shake_toggle.yaml", "input": {"board": device, "target": {"entity_id": "switch.lamp"}}}
    asked = {"id": "asked", "trigger": {"platform": "mqtt", "topic": "ask"}, "action": publish("answer", "ready")}
    automations.write_text(json.dumps([*helpers, {"id": "shake", "use_blueprint": use}, asked]))
    rig.publish("read", "")

    def is_read():
        rig.publish("ask", "")
        time.sleep(0.1)
        return "answer ready" in rig.messages()

    wait(is_read, 60, "the automation is not set up")
    print("ready", int(time.time() * 1000), flush=True)
    wait(lambda: any(m.startswith("lamp/set ") for m in rig.messages()), 60, "the lamp is not switched")
    print("lamp", int(time.time() * 1000), flush=True)


def main():
    # So that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rig = Rig(*sys.argv[1:3], sys.argv[3] if len(sys.argv) > 3 else None)
    report = None
    try:
        if rig.jostle_program is None:
            newcomer(rig)
        else:
            report = run(rig)
    finally:
        # Not twice.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        rig.stop_all()
    if report is None:
        return
    print(f"{report.checks} checks, {report.failures} failed")
    if report.failures:
        print(f"the logs are in {rig.directory}")
        sys.exit(1)
    shutil.rmtree(rig.directory)


main()
