// One board: where everything stands on the page, and what the board says about itself.
import { AttitudeView } from "./attitude.js";
import { CommandsPanel, Question } from "./commands.js";
import { CompassView } from "./compass.js";
import { GestureLog } from "./gestures.js";
import { historyCard } from "./history.js";
import { palette, Plots } from "./plots.js";
import { RecordingControls, SampleFeed } from "./recording.js";
import { explanation, permits, reference, SettingsPanel, valueAt } from "./settings.js";
import { VibrationView } from "./spectrum.js";
import {
  ago, clean, count, dayAndTime, duration, element, finite, follow, isShortcut, isTime, link, list, number, object, quantity, setText,
} from "./text.js";

const words = (value) => clean(value).replaceAll("_", " ");
const measured = (decimals, unit) => (value) => number(value, decimals, unit);
const units = { ms: 0.001, s: 1, min: 60, h: 3600, d: 86400 };
/** The tabs: the word in the address, the heading, and the cards in sight, in the order in which they are made below. */
const tabs = [
  ["overview", "Overview", ["attitude", "gestures", "health"]],
  ["motion", "Motion", ["attitude", "live", "compass"]],
  ["gestures", "Gestures", ["gestures"]],
  ["vibration", "Vibration", ["vibration"]],
  ["settings", "Settings", ["settings", "force"]],
  ["health", "Health", ["health"]],
  ["history", "History", ["history"]],
  ["commands", "Commands", ["control"]],
];
/** The cards, and the events that they show. */
const sources = {
  attitude: ["stream", "attitude"], live: ["stream", "motion", "attitude"], compass: ["stream", "attitude"],
  gestures: ["gesture", "near-miss"], vibration: ["stream", "state", "machine"], health: ["health"], settings: ["reported"],
  force: ["reported"], states: ["state"],
};
/** What a board sends only while it is asked for every sample. */
const asked = ["stream", "near-miss"];
/** Milliseconds: for how long what arrives may have been kept by the broker, and a board that is not heard is none; without a
    sample of a stream, the board is silent; for how long samples are asked for that no tab in sight needs any more. */
const [settling, longestGap, lingering] = [3000, 5000, 10000];

/** `problems` of a health report in words, and the field that says more. */
const problems = {
  sensor: ["The sensor does not measure", "sensor_fault"],
  magnetometer: ["The magnetometer does not measure, so the heading drifts", ""],
  chip: ["The sensor is probably another chip, and its accelerations are wrong", "likely_chip"],
  sensor_scale: ["At rest the accelerometer does not measure gravity, so accelerations are wrong", "sensor_advice"],
  clock: ["The clock may be wrong, and with it the times of events", "clock"],
  outbox: ["Events were lost, or cannot be written, or wait for the disk", "outbox_fault"],
  storage: ["A file could not be written", "storage_faults"],
  duplicate_id: ["Another device uses the same id", ""],
  upgrade: ["An upgrade failed", "upgrade"],
  mqtt: ["The broker refuses events, or a message is too large", "mqtt_faults"],
};
/** The facts of a health report: name, field, format. */
const facts = [
  ["version", "version", clean], ["uptime", "uptime", duration], ["sensor", "sensor", clean],
  ["sensor state", "sensor_state", clean],
  ["sample rate", "rate", measured(1, "Hz")], ["period error", "period_ppm", measured(0, "ppm")], ["gaps", "gaps", count],
  ["lost samples", "lost_samples", count], ["overflows", "overflows", count], ["recoveries", "recoveries", count],
  ["clipped samples", "clipped_samples", count], ["outbox", "outbox", count], ["events dropped", "outbox_dropped", count],
  ["clock", "clock", clean], ["chip", "temperature", measured(1, "°C")],
  ["tilt deviation", "tilt_deviation", measured(1, "°")], ["heading deviation", "heading_deviation", measured(1, "°")],
  ["CPU", "cpu_percent", measured(1, "%")], ["memory", "memory_mb", measured(1, "MiB")],
  ["connections", "connects", count],
];
/** Counters of which any number deserves a look. */
const suspicious = new Set(["gaps", "lost_samples", "overflows", "recoveries", "clipped_samples", "outbox_dropped"]);

/** The view of one board. */
export class BoardView {
  #state = {};
  #online;
  #offlineAt;
  #permitsTare = true;
  /** When the last of each kind of event was said, by the server's clock. */
  #saidAt = {};
  /** Since when samples are expected: that of the last one, or of the connection; and whether it was streamed. */
  #sampleAt = performance.now();
  #isStreamed = false;
  #attitudeInterval = 30;
  #openedAt = performance.now();
  #silence;
  #cards = {};

  constructor(root, context) {
    this.root = root;
    this.context = context;
    this.feed = new SampleFeed();
    this.name = element("h1", { text: clean(context.boardID) });
    this.id = element("span", { class: "muted" });
    this.states = element("ul", { class: "states", "aria-label": "State" });
    const grid = element("div", { class: "cards", id: "cards", role: "tabpanel" });
    this.grid = grid;
    root.append(element("div", { class: "head" }, this.name, this.id, this.states), this.#makeTabs(), grid);
    const dated = (name, root) => {
      const date = element("p", { class: "muted dated", hidden: true });
      root.querySelector("h2").after(date);
      this.#cards[name] = { root, date };
      return root;
    };
    const card = (name, title) => {
      const heading = element("h2", { id: `h-${name}`, text: title });
      const section = element("section", { class: `card at-${name}`, "aria-labelledby": heading.id }, heading);
      grid.append(section);
      return dated(name, section);
    };
    this.#cards.states = { root: this.states };
    const attitude = card("attitude", "Attitude");
    this.attitude = new AttitudeView(attitude, this.feed, context.counters);
    this.#addTare(attitude);
    const live = card("live", "Live");
    this.plots = new Plots(live, this.feed);
    this.recording = new RecordingControls(this.plots.tools, this.feed, context.boardID, this.plots);
    this.source = element("p", { class: "muted" });
    live.append(this.source);
    this.compass = new CompassView(card("compass", "Compass"));
    this.log = new GestureLog(card("gestures", "Gestures"), context);
    this.vibration = new VibrationView(card("vibration", "Vibration"), this.feed, context);
    this.health = new Health(card("health", "Health"), context);
    grid.append(historyCard(context));
    // The panels bring their headings.
    const panel = (name) => grid.appendChild(element("section", { class: `card at-${name}`, "aria-label": words(name) }));
    this.panels = [new CommandsPanel(panel("control"), context), new SettingsPanel(panel("settings"), context)];
    dated("settings", this.panels[1].root);
    this.force = new InForce(card("force", "In force"));
    this.onKey = (event) => isShortcut(event, "p") && this.plots.areInSight && this.plots.toggle();
    addEventListener("keydown", this.onKey);
    root.addEventListener("sight", () => this.#request());
    // What need not follow each frame: texts, the spectrum, and the colours, which may have changed.
    this.timer = setInterval(() => this.#update(), 500);
  }

  /** The links to the tabs: one of them is a stop of the Tab key, and the arrow keys go from each to the next. */
  #makeTabs() {
    const { context } = this;
    const links = tabs.map(([name, text]) => {
      const href = link(context.boardID, name === tabs[0][0] ? "" : name);
      const onclick = (event) => follow(event, context, href);
      return element("a", { role: "tab", id: `tab-${name}`, "aria-controls": "cards", href, onclick, text });
    });
    const onkeydown = (event) => {
      const [index, last] = [links.indexOf(event.target), links.length - 1];
      const next = { ArrowRight: (index + 1) % links.length, ArrowLeft: index > 0 ? index - 1 : last, Home: 0, End: last }[event.key];
      if (next === undefined && event.key !== " ") return;
      event.preventDefault();
      if (next === undefined) event.target.click();
      else links[next].focus();
    };
    this.tabs = element("div", { class: "tabs", role: "tablist", "aria-label": "Views of the board", onkeydown }, links);
    return this.tabs;
  }

  /** Shows a tab; the first one if there is none of this name. */
  open(name) {
    const [word, , cards] = tabs.find((tab) => tab[0] === name) ?? tabs[0];
    for (const card of this.grid.children) card.hidden = !cards.some((one) => card.classList.contains(`at-${one}`));
    for (const one of this.tabs.children) {
      const isShown = one.id === `tab-${word}`;
      one.setAttribute("aria-selected", isShown);
      one.tabIndex = isShown ? 0 : -1;
      if (isShown) this.tabs.scrollLeft = one.offsetLeft - (this.tabs.clientWidth - one.clientWidth) / 2;
    }
    this.grid.setAttribute("aria-labelledby", `tab-${word}`);
    if (word === "settings") reference().then((known) => [this.panels[1], this.force].forEach((part) => part.explain(known)));
    scrollTo(0, 0);
    this.#ask(cards.some((card) => sources[card]?.some((event) => asked.includes(event))));
    this.#update();
  }

  /** Listens to the board, and asks it for every sample while a card in sight, or a recording, needs them. */
  #ask(isNeeded) {
    const { connection, boardID } = this.context;
    const isKept = isNeeded || this.recording.isRecording;
    const listen = () => {
      this.isAsking = isKept;
      connection.open(`events?board=${encodeURIComponent(boardID)}${isKept ? "&stream=1" : ""}`);
    };
    clearTimeout(this.asking);
    // Whoever comes back in a moment finds no gap in the curves.
    if (this.isAsking && !isKept) this.asking = setTimeout(listen, lingering);
    else if (this.isAsking !== isKept) listen();
  }

  #addTare(root) {
    this.tare = element("button", { type: "button", hidden: true, onclick: () => this.taring.send({}) }, "Tare");
    const status = element("span", { class: "muted", role: "status" });
    this.taring = new Question(this.context.boardID, "tare", status);
    root.append(element("div", { class: "tools" }, this.tare, status));
  }

  /** Takes an event; throws if it cannot be read. */
  handle(name, data) {
    const at = performance.now();
    this.feed.handle(name, data, at);
    this.context.counters.samples = this.feed.received;
    for (const part of [...this.panels, this.vibration, this.health, this.compass, this.log.verdicts]) part.handle(name, data);
    const content = object(data);
    this.#note(name, content, at);
    if (name === "hello") [this.#openedAt, this.tare.hidden] = [at, content.control !== true];
    else if (name === "gesture") this.log.takeEvent(content);
    else if (name === "near-miss") this.log.takeMiss(content);
    else if (name === "state") this.#state = content;
    else if (name === "availability") [this.#online, this.#offlineAt] = [content.online, content.t];
    else if (name === "lease") this.lease = content;
    else if (name === "reported") this.#takeReported(content);
    else if (this.taring.take(name, data)) this.taring.say("This attitude is zero now.");
    if (name === "state" || name === "availability") this.#update();
    if (name === "reported" || name === "availability") this.tare.disabled = this.#online === false || !this.#permitsTare;
    if (this.attitude.isDue) this.#request();
  }

  close() {
    clearInterval(this.timer);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.asking);
    removeEventListener("keydown", this.onKey);
    for (const part of [...this.panels, this.log.verdicts]) part.close();
    this.root.remove();
  }

  /** Notes when something was said. What comes first may be old: it says its age, if the clock of the board is right. */
  #note(name, { t, stopped, state }, at) {
    const now = this.context.connection.serverNow();
    const isKept = at - this.#openedAt < settling && isTime(t) && t < now;
    // A state in which sensing is stopped has what was measured last before.
    this.#saidAt[name === "state" && stopped === true ? "stopped" : name] = isKept ? t : now;
    // Beside the stream, an attitude does not say that the next sample may be late.
    const isSample = name === "stream" || ((name === "attitude" || name === "motion") && !this.feed.isStreaming(at));
    if (isSample || name === "hello" || name === "availability") [this.#sampleAt, this.#isStreamed] = [at, name === "stream"];
    if (name === "lease" && state === "refused") this.#isStreamed = false;
  }

  /** Until when another sample is expected. */
  get #silentAfter() {
    return this.#sampleAt + (this.#isStreamed ? longestGap : 3000 * this.#attitudeInterval);
  }

  /** When the newest of some events was said; `undefined` if that is not known. */
  #newest(names) {
    const times = names.map((name) => this.#saidAt[name]).filter(isTime);
    return times.length > 0 ? Math.max(...times) : undefined;
  }

  /**
   * Why the board says nothing now: a word, a sentence, and the time after which everything is older than its silence;
   * `undefined` while it speaks.
   */
  silence() {
    const { connection, boardID } = this.context;
    const [now, at] = [connection.serverNow(), performance.now()];
    const outer = connection.silence();
    if (outer) return { ...outer, from: now };
    if (!connection.contact) return undefined;
    const since = (time) => (isTime(time) ? ` since ${dayAndTime(time, now)}` : "");
    const heard = this.#newest(Object.values(sources).flat());
    if (this.#online === false) {
      return { word: "offline", text: `The board is offline${since(this.#offlineAt ?? heard)}.`, from: now };
    }
    if (this.#online === undefined && heard === undefined && at - this.#openedAt > settling) {
      const text = `This broker knows no board “${clean(boardID)}”. It appears here as soon as its agent is connected.`;
      return { word: "unknown board", text, from: now };
    }
    const { stopped } = this.#saidAt;
    // The last samples may come after the state.
    if (this.#state.stopped === true) return { word: "stopped", text: `Sensing is stopped${since(stopped)}.`, from: stopped + 1000 };
    const silentFor = at - this.#silentAfter;
    if (silentFor < 0) return undefined;
    const text = `No samples arrive${since(this.#newest(sources.live))}. The board may have lost its sensor, its power or its network.`;
    // What came since the last sample, but before another one was overdue, tells of the board as it was.
    return { word: "silent", text, from: now - silentFor };
  }

  #takeReported(reported) {
    const settings = object(reported.settings);
    const id = clean(this.context.boardID);
    const name = clean(object(settings.device).name) || id;
    setText(this.name, name);
    setText(this.id, name === id ? "" : id);
    document.title = `${name} – Jostle`;
    this.#permitsTare = permits(valueAt(settings, "commands.allow"), "tare");
    const { rate, heartbeat } = object(valueAt(settings, "publish.attitude"));
    const interval = quantity(heartbeat, units) ?? 30;
    this.#attitudeInterval = interval > 0 && quantity(rate, { Hz: 1 }) !== 0 ? Math.max(10, interval) : Infinity;
    this.recording.takeSettings(settings);
    this.force.show(reported);
  }

  /** Draws with the next frame: while nothing moves, nothing asks for one. */
  #request() {
    this.frame ??= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.frame = undefined;
    const at = performance.now();
    this.context.counters.frames += 1;
    this.attitude.draw(at);
    this.plots.draw(this.colors, at, !this.#silence);
    this.compass.sphere.draw(this.colors, at);
    if (this.plots.areInSight && !this.plots.isPaused && !this.#silence) this.#request();
  }

  #update() {
    const at = performance.now();
    const now = this.context.connection.serverNow();
    this.colors = palette();
    this.#silence = this.silence();
    for (const name of Object.keys(this.#cards)) this.#date(name, now);
    this.#showState(now);
    this.attitude.update();
    this.plots.update();
    this.vibration.update(this.colors, at, this.#isOld("vibration") ? this.#newest(sources.vibration) ?? 0 : undefined);
    this.recording.update(at);
    this.log.update();
    this.health.update(this.#saidAt.health);
    setText(this.source, this.#sourceText(at));
    if (this.attitude.isDue || this.compass.sphere.isDue || this.plots.areInSight) this.#request();
  }

  /** Whether a card shows what is older than the board's silence. */
  #isOld(name) {
    // A board whose sensing is stopped has its settings all the same.
    if (this.#silence === undefined || (this.#silence.word === "stopped" && sources[name][0] === "reported")) return false;
    return !(this.#newest(sources[name]) > this.#silence.from);
  }

  /** The rule for every card: what is older than the board's silence is grey and dated. */
  #date(name, now) {
    const { root, date } = this.#cards[name];
    const isOld = this.#isOld(name);
    root.classList.toggle("old", isOld);
    const time = this.#newest(sources[name]);
    if (date) date.hidden = !isOld || time === undefined;
    if (date && time !== undefined) setText(date, `As of ${dayAndTime(time, now)}, ${ago(time, now)}.`);
  }

  #sourceText(at) {
    const { received, lost, rate } = this.feed;
    const missing = lost > 0 ? `, ${count(lost)} lost on the way` : "";
    if (this.feed.isStreaming(at)) return `Every sample, ${number(rate, 0, "Hz")}: ${count(received)} received${missing}.`;
    const { state, message } = object(this.lease);
    const why = state === "refused" ? `The board does not stream its samples${message ? `: ${clean(message)}` : ""}. ` : "";
    return `${why}Shown is what it publishes when something changes.`;
  }

  #showState(now) {
    const { moving, side, tilt, vibrating, vibration, simulated, stopped } = this.#state;
    const [online, level] = [this.#online, number(vibration, 2, "m/s²")];
    const isOld = this.#isOld("states") && stopped !== true;
    const saidAt = this.#saidAt.state;
    const measured = stopped !== true && [
      isOld && isTime(saidAt) && ["", `as of ${dayAndTime(saidAt, now)}:`],
      moving === true && ["busy", "moving"], moving === false && ["", "still"],
      typeof side === "string" && ["", `${clean(side).slice(0, 8)} is up`],
      finite(tilt) !== undefined && ["", `tilt ${number(tilt, 1, "°")}`],
      vibrating === true && ["busy", `vibrating, ${level}`],
    ];
    const pills = [
      online === true && !isOld && ["ok", "online"], online === false && ["bad", "offline"],
      stopped === true && ["warn", "sensing is stopped"], ...(measured || []), simulated === true && ["warn", "virtual sensor"],
    ].filter(Boolean);
    const key = JSON.stringify([isOld, pills]);
    if (key === this.pills) return;
    this.pills = key;
    const isNow = (kind) => !isOld || kind === "bad" || kind === "warn";
    this.states.replaceChildren(...pills.map(([kind, text]) => element("li", { class: `pill ${isNow(kind) ? kind : ""}`, text })));
  }
}

/** The last health report: problems in words first, then figures, and how old it is. */
class Health {
  /** Seconds between two reports; 0 if there are none. */
  #interval = 60;

  constructor(root, context) {
    this.connection = context.connection;
    this.content = element("div");
    this.age = element("p", { class: "muted", text: "No health report yet." });
    this.log = new LastLines(context);
    root.append(this.content, this.age, this.log.root);
  }

  handle(name, data) {
    this.log.handle(name, data);
    if (name === "health") this.#take(object(data));
    if (name !== "reported") return;
    const { interval } = object(object(object(object(data).settings).publish).health);
    this.#interval = quantity(interval, units) ?? 60;
  }

  #take(health) {
    const texts = list(health.problems).slice(0, 20).map((name) => this.#problem(name, health));
    this.content.replaceChildren(
      texts.length > 0 ? element("ul", { class: "alerts" }, texts.map((text) => element("li", { class: "alert", text })))
        : element("p", { class: "fine", text: "No problem reported." }),
      element("dl", { class: "facts" }, this.#facts(health).map(([name, text, isBad]) =>
        element("div", { class: isBad && "warned" }, element("dt", { text: name }), element("dd", { text })))));
  }

  #problem(name, health) {
    const [text, field] = Object.hasOwn(problems, name) ? problems[name] : [words(name), ""];
    const more = object(health[field]).reason ?? health[field];
    if (more === undefined || more === null) return text;
    return `${text}: ${Array.isArray(more) ? more.slice(0, 10).map(clean).join("; ") : clean(more)}`;
  }

  #facts(health) {
    const rows = facts.filter(([, field]) => health[field] !== undefined && health[field] !== null)
      .map(([name, field, format]) => [name, format(health[field]), suspicious.has(field) && health[field] > 0]);
    const errors = Object.entries(object(health.bus_errors)).slice(0, 10).filter(([, value]) => value !== 0);
    const kinds = errors.map(([kind, value]) => `${words(kind)} ${count(value)}`).join(", ") || "0";
    if (health.bus_errors) rows.push(["bus errors", kinds, errors.length > 0]);
    for (const [part, source] of Object.entries(object(health.calibration)).slice(0, 5)) {
      rows.push([`calibrated: ${words(part)}`, clean(source)]);
    }
    const missing = list(health.unavailable_gestures).slice(0, 10).map(clean).join(", ");
    return missing ? [...rows, ["cannot detect", missing, true]] : rows;
  }

  /** Says how old the report is, and whether the next one is overdue. */
  update(reportedAt) {
    if (reportedAt === undefined) return;
    const now = this.connection.serverNow();
    const age = (now - reportedAt) / 1000;
    const isLate = this.#interval > 0 && age > Math.max(180, 3 * this.#interval);
    const when = age < 60 ? "within the last minute" : ago(reportedAt, now);
    setText(this.age, isLate ? `No health report for ${duration(age)}.` : `Reported ${when}.`);
    if (isLate === (this.age.className === "alert")) return;
    this.age.className = isLate ? "alert" : "muted";
    this.content[isLate ? "before" : "after"](this.age);
  }
}

/** The last lines of the board's log, which the command `log` asks for. */
class LastLines {
  constructor({ boardID, connection }) {
    this.connection = connection;
    this.button = element("button", { type: "button", onclick: () => this.question.send({}) }, "Show the last log lines");
    this.status = element("span", { class: "muted", role: "status" });
    this.question = new Question(boardID, "log", this.status);
    this.lines = element("ol", { class: "lines", tabindex: "0", "aria-label": "The last lines of the log, the newest last", hidden: true });
    this.root = element("div", { hidden: true }, element("div", { class: "tools" }, this.button, this.status), this.lines);
  }

  handle(name, data) {
    const content = object(data);
    if (name === "hello") this.mayControl = content.control === true;
    else if (name === "reported") this.isPermitted = permits(valueAt(object(content.settings), "commands.allow") ?? [], "log");
    else if (name === "availability") this.button.disabled = content.online === false;
    const answer = this.question.take(name, data);
    if (answer) this.#show(answer);
    this.root.hidden = !this.mayControl || !this.isPermitted;
  }

  #show({ lines }) {
    const now = this.connection.serverNow();
    const items = list(lines).slice(-200).map(object).map(({ t, level, text }) => element("li", { class: clean(level) },
      element("time", { text: dayAndTime(t, now) }), " ", level !== "info" && element("b", { text: `${clean(level)}: ` }), clean(text)));
    setText(this.status, `${count(items.length)} lines`);
    this.lines.replaceChildren(...items);
    this.lines.hidden = items.length === 0;
    this.lines.scrollTop = this.lines.scrollHeight;
  }
}

/** The settings in force with their origins, and what is not in force and why. */
class InForce {
  #rows = [];

  #known = {};
  #reported = {};

  constructor(root) {
    this.notices = element("ul", { class: "alerts" });
    const filter = () => this.#filter();
    this.search = element("input", { type: "search", "aria-label": "Search the settings", placeholder: "Search", oninput: filter });
    this.changed = element("input", { type: "checkbox", onchange: filter });
    this.found = element("span", { class: "muted", role: "status", text: "not reported yet" });
    this.body = element("tbody");
    const head = element("tr", {}, ["Key", "Value", "From"].map((text) => element("th", { scope: "col", text })));
    root.append(
      this.notices,
      element("div", { class: "tools" }, this.search, element("label", {}, this.changed, " Only what is not the default"), this.found),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Settings in force" },
        element("table", {}, element("thead", {}, head), this.body)));
  }

  /** Takes what is known of the keys. */
  explain(known) {
    this.#known = known;
    this.show(this.#reported);
  }

  show(reported) {
    this.#reported = reported;
    this.#rows = [];
    this.#collect(object(reported.settings), "", object(reported.origins), 0);
    this.body.replaceChildren(...this.#rows.map(({ row }) => row));
    this.notices.replaceChildren(...this.#texts(reported).map((text) => element("li", { class: "alert", text })));
    this.#filter();
  }

  #collect(tree, path, origins, depth) {
    for (const [name, value] of Object.entries(tree)) {
      const key = path + name;
      if (this.#rows.length >= 1000) return;
      const isTree = value !== null && typeof value === "object" && !Array.isArray(value);
      if (isTree && depth < 8) this.#collect(value, `${key}.`, origins, depth + 1);
      else this.#add(clean(key), value, Object.hasOwn(origins, key) ? clean(origins[key]) : "");
    }
  }

  #add(key, value, origin) {
    const text = value === null ? "none" : Array.isArray(value) && value.length === 0 ? "empty" : clean(value);
    const from = origin.replace(/^(all|device|group:.*)$/, "fleet, $1").replace(/^local$/, "set over MQTT");
    const badge = origin ? element("span", { class: "tag", text: from }) : "default";
    const { meaning, usual, allowed } = explanation(this.#known, key);
    const name = element("th", { scope: "row" }, element("code", { text: key }), meaning && element("p", { class: "note", text: meaning }));
    const limits = [origin && usual && `default ${usual}`, allowed].filter(Boolean).join("; ");
    const cells = [name, element("td", {}, element("code", { text }), limits && element("p", { class: "note", text: limits })), element("td", {}, badge)];
    const row = element("tr", { class: origin && "changed" }, cells);
    this.#rows.push({ row, origin, text: `${key} ${text} ${from} ${meaning}`.toLowerCase() });
  }

  /** What was refused, is not stored, or waits for a restart. */
  #texts({ refused, layers, not_kept: notKept, restart_required: restart }) {
    const refusal = ({ key, value, reason, allowed, layer }) => {
      const more = `${allowed ? `, allowed: ${clean(allowed)}` : ""}${layer ? ` (${clean(layer)})` : ""}`;
      return `Refused: ${clean(key)} = ${clean(value)} ${clean(reason)}${more}`;
    };
    const texts = list(refused).slice(-20).map(object).map(refusal);
    for (const [name, layer] of Object.entries(object(layers)).slice(0, 40)) {
      const { status, reason, errors } = object(layer);
      if (typeof status !== "string" || status === "none" || status === "applied") continue;
      const error = object(list(errors)[0]);
      const why = [reason, error.path, error.reason].filter(Boolean).map(clean).join(" ");
      texts.push(`Fleet, layer ${clean(name)}: ${words(status)} ${why}`);
    }
    if (notKept) texts.push(`Not stored yet: ${clean(notKept)}`);
    if (list(restart).length > 0) texts.push(`Takes effect at the next start: ${restart.slice(0, 20).map(clean).join(", ")}`);
    return texts;
  }

  #filter() {
    const parts = this.search.value.toLowerCase().split(/\s+/);
    let found = 0;
    for (const { row, text, origin } of this.#rows) {
      row.hidden = !parts.every((part) => text.includes(part)) || (this.changed.checked && origin === "");
      if (!row.hidden) found += 1;
    }
    setText(this.found, `${found} of ${this.#rows.length}`);
  }
}
