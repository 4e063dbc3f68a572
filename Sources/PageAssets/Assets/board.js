// One board: where everything stands on the page, and what the board says about itself.
import { AttitudeView } from "./attitude.js";
import { CommandsPanel } from "./commands.js";
import { GestureLog } from "./gestures.js";
import { Plots } from "./plots.js";
import { RecordingControls, SampleFeed } from "./recording.js";
import { SettingsPanel } from "./settings.js";
import { VibrationView } from "./spectrum.js";
import { ago, clean, count, duration, element, finite, isTime, list, number, object, post, quantity, setText } from "./text.js";

/** The words of `problems` in a health report, and the fields that say more. */
const problems = {
  sensor: ["The sensor does not measure", "sensor_fault"],
  clock: ["The clock may be wrong, so the times of events may be too", "clock"],
  outbox: ["Events were lost, or cannot be written, or wait for the disk", "outbox_fault"],
  storage: ["A file could not be written", "storage_faults"],
  duplicate_id: ["Another device uses the same id", ""],
  upgrade: ["An upgrade failed", "upgrade"],
  mqtt: ["The broker refuses events, or a message is too large", "mqtt_faults"],
};
/** What a health report says, and how: name, field, and decimals with unit; `!`: more than none is worth a warning. */
const facts = [
  ["version", "version"], ["uptime", "uptime", duration], ["sensor", "sensor"], ["sensor state", "sensor_state"],
  ["sample rate", "rate", (value) => number(value, 1, "Hz")], ["period error", "period_ppm", (value) => number(value, 0, "ppm")],
  ["gaps", "gaps", "!"], ["lost samples", "lost_samples", "!"], ["overflows", "overflows", "!"], ["recoveries", "recoveries", "!"],
  ["clipped samples", "clipped_samples", "!"], ["outbox", "outbox", count], ["events dropped", "outbox_dropped", "!"],
  ["clock", "clock"], ["chip", "temperature", (value) => number(value, 1, "°C")],
  ["CPU", "cpu_percent", (value) => number(value, 1, "%")], ["memory", "memory_mb", (value) => number(value, 1, "MB")],
  ["connections", "connects", count], ["real time", "real_time", (value) => (value === true ? "yes" : "no")],
];
const originNames = { file: "file", argument: "argument", local: "set here", device: "fleet: device", all: "fleet: all" };

/** The view of one board. */
export class BoardView {
  #health = null;
  #healthAt = NaN;
  #state = {};
  #online;
  #interval = 60;
  #updatedAt = 0;
  #helloAt = 0;

  constructor(root, context) {
    this.context = context;
    this.feed = new SampleFeed();
    this.name = element("h1", { text: clean(context.boardID) });
    this.id = element("span", { class: "muted" });
    this.states = element("ul", { class: "states", "aria-label": "State" });
    root.append(element("div", { class: "head" }, this.name, this.id, this.states));
    const grid = element("div", { class: "grid" });
    root.append(grid);
    const card = (name, title) => {
      const body = element("div", { class: "body" });
      grid.append(element("section", { class: `card ${name}`, "aria-labelledby": `h-${name}` }, element("h2", { id: `h-${name}`, text: title }), body));
      return body;
    };
    this.#addLive(card);
    this.log = new GestureLog(card("gestures", "Gestures"), context.connection);
    this.vibration = new VibrationView(card("vibration", "Vibration"), this.feed, context.connection);
    this.health = card("health", "Health");
    this.#addPanels(card);
    this.force = new InForce(card("force", "In force"));
    this.onKey = (event) => this.#takeKey(event);
    addEventListener("keydown", this.onKey);
    this.frame = requestAnimationFrame(() => this.#draw());
    this.#showHealth(NaN);
  }

  #addLive(card) {
    const attitude = card("attitude", "Attitude");
    this.attitude = new AttitudeView(attitude, this.feed, this.context.counters);
    this.tare = element("button", { type: "button", hidden: true, onclick: () => this.#tare() }, "Tare");
    this.tareStatus = element("span", { class: "muted", role: "status" });
    attitude.append(element("div", { class: "tools" }, this.tare, this.tareStatus));
    const live = card("live", "Live");
    this.plots = new Plots(live, this.feed);
    this.recording = new RecordingControls(this.plots.tools, this.feed, this.context.boardID, () => this.plots.shown);
    this.source = element("p", { class: "muted" });
    live.append(this.source);
  }

  #addPanels(card) {
    this.panels = [new CommandsPanel(card("control", "Control"), this.context), new SettingsPanel(card("settings", "Settings"), this.context)];
  }

  /** Takes an event; throws if it cannot be read. */
  handle(name, data) {
    const at = performance.now();
    for (const panel of this.panels) panel.handle(name, data);
    this.feed.handle(name, data, at);
    this.vibration.handle(name, data);
    this.context.counters.samples = this.feed.received;
    const take = {
      hello: () => this.#takeHello(), gesture: () => this.log.takeEvent(data), "near-miss": () => this.log.takeMiss(data),
      state: () => this.#takeState(object(data)), health: () => this.#takeHealth(object(data)),
      availability: () => this.#takeAvailability(object(data)), reported: () => this.#takeReported(object(data)),
      lease: () => (this.lease = object(data)), result: () => this.#takeResult(object(data)),
    };
    if (Object.hasOwn(take, name)) take[name]();
  }

  close() {
    cancelAnimationFrame(this.frame);
    removeEventListener("keydown", this.onKey);
    this.plots.close();
    for (const panel of this.panels) panel.close();
  }

  #takeHello() {
    this.#helloAt = performance.now();
    this.tare.hidden = this.context.hello.control !== true;
  }

  #takeAvailability({ online }) {
    this.#online = typeof online === "boolean" ? online : undefined;
    this.#showState();
  }

  #takeState(state) {
    this.#state = state;
    this.#showState();
  }

  #takeHealth(health) {
    this.#health = health;
    // A report that was retained tells its age itself, if the clock of the board is right.
    const now = this.context.connection.serverNow();
    const isOld = performance.now() - this.#helloAt < 3000 && isTime(health.t) && health.t < now;
    this.#healthAt = isOld ? health.t : now;
    this.#showHealth(now);
  }

  #takeReported(reported) {
    const settings = object(reported.settings);
    const { boardID } = this.context;
    const name = clean(object(settings.device).name) || clean(boardID);
    setText(this.name, name);
    setText(this.id, name === clean(boardID) ? "" : clean(boardID));
    document.title = `${name} – Jostle`;
    this.#interval = quantity(object(object(settings.publish).health).interval, { s: 1, min: 60, h: 3600, ms: 0.001 }) ?? 60;
    this.recording.takeSettings(settings);
    this.force.show(reported);
  }

  #takeResult({ command, payload }) {
    if (command !== "tare") return;
    const { ok, message } = object(payload);
    setText(this.tareStatus, ok === true ? "This attitude is zero now." : clean(message) || "Tare failed.");
  }

  async #tare() {
    setText(this.tareStatus, "Asking the board.");
    try {
      await post("/api/command", { board: this.context.boardID, name: "tare", arguments: {} });
    } catch (error) {
      setText(this.tareStatus, error.message);
    }
  }

  #takeKey(event) {
    const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (event.key !== "p" || event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping) return;
    this.plots.toggle();
  }

  #draw() {
    this.frame = requestAnimationFrame(() => this.#draw());
    const at = performance.now();
    this.context.counters.frames += 1;
    this.attitude.draw(at);
    this.plots.draw(at, this.#online !== false && this.context.connection.contact && this.#state.stopped !== true);
    if (at - this.#updatedAt < 500) return;
    this.#updatedAt = at;
    this.#update(at);
  }

  /** What changes with time alone, twice a second. */
  #update(at) {
    const { connection } = this.context;
    const now = connection.serverNow();
    const { attitude } = this.feed;
    const isOld = attitude && now - attitude.t > 60000;
    this.attitude.update(at, attitude ? (isOld ? `from ${ago(attitude.t, now)}` : "") : "No attitude yet.");
    this.plots.update();
    this.vibration.update(at);
    this.recording.update(at);
    setText(this.source, this.#sourceText(at));
    if (this.#health) this.#showAge(now);
  }

  #sourceText(at) {
    const { feed } = this;
    if (feed.isStreaming(at)) {
      const lost = feed.lost > 0 ? `, ${count(feed.lost)} lost on the way` : "";
      return `Every sample: ${number(feed.rate, 0, "Hz")}, ${count(feed.received)} samples${lost}.`;
    }
    const { state, message } = object(this.lease);
    const why = state === "refused" ? `The board does not stream its samples${message ? `: ${clean(message)}` : ""}. ` : "";
    return `${why}Shown is what it publishes anyway, when something changes.`;
  }

  #showState() {
    const { moving, side, tilt, vibrating, vibration, simulated, stopped } = this.#state;
    const chips = [];
    const add = (text, kind = "") => chips.push(element("li", { class: `pill ${kind}`, text }));
    if (this.#online !== undefined) add(this.#online ? "online" : "offline", this.#online ? "ok" : "bad");
    if (stopped === true) add("sensing is stopped", "warn");
    if (typeof moving === "boolean") add(moving ? "moving" : "still", moving ? "busy" : "");
    if (side !== undefined) add(`${clean(side).slice(0, 8)} is up`);
    if (finite(tilt) !== undefined) add(`tilt ${number(tilt, 1, "°")}`);
    if (vibrating === true) add(`vibrating, ${number(vibration, 2, "m/s²")}`, "busy");
    if (simulated === true) add("virtual sensor", "warn");
    this.states.replaceChildren(...chips);
  }

  #showHealth(now) {
    const health = this.#health;
    this.healthAge = element("p", { class: "muted" });
    if (!health) return this.health.replaceChildren(element("p", { class: "muted", text: "No health report yet." }));
    const words = list(health.problems).slice(0, 20).map((name) => {
      const [text, field] = Object.hasOwn(problems, name) ? problems[name] : [clean(name), ""];
      const more = health[field] === undefined || health[field] === null ? "" : `: ${list(health[field]).map(clean).join("; ") || clean(health[field])}`;
      return element("li", { class: "alert", text: text + more });
    });
    const errors = Object.entries(object(health.bus_errors)).slice(0, 10).filter(([, value]) => value !== 0);
    const rows = facts.filter(([, field]) => health[field] !== undefined).map(([name, field, format]) => [
      name, format === "!" ? count(health[field]) : format ? format(health[field]) : clean(health[field]), format === "!" && health[field] > 0]);
    if (health.bus_errors) rows.push(["bus errors", errors.map(([kind, value]) => `${clean(kind).replace(/_/g, " ")} ${count(value)}`).join(", ") || "0", errors.length > 0]);
    for (const [part, source] of Object.entries(object(health.calibration)).slice(0, 5)) rows.push([`calibrated: ${clean(part).replace(/_/g, " ")}`, clean(source), false]);
    if (list(health.unavailable_gestures).length > 0) rows.push(["cannot detect", health.unavailable_gestures.map(clean).join(", "), true]);
    this.health.replaceChildren(
      words.length > 0 ? element("ul", { class: "alerts" }, ...words) : element("p", { class: "fine", text: "No problem reported." }),
      element("dl", { class: "facts" }, ...rows.map(([name, value, isBad]) => element("div", { class: isBad ? "warned" : "" }, element("dt", { text: name }), element("dd", { text: value })))),
      this.healthAge);
    this.#showAge(now);
  }

  #showAge(now) {
    const age = (now - this.#healthAt) / 1000;
    const isLate = this.#interval > 0 && age > Math.max(180, 3 * this.#interval);
    setText(this.healthAge, isLate ? `No health report for ${duration(age)}.` : `Reported ${age < 60 ? "less than a minute ago" : ago(this.#healthAt, now)}.`);
    this.healthAge.className = isLate ? "alert" : "muted";
  }
}

/** The settings in force with their origins, the layers of the fleet, and what was refused. */
class InForce {
  #rows = [];

  constructor(root) {
    this.notices = element("ul", { class: "alerts" });
    this.search = element("input", { type: "search", placeholder: "gestures.shake", "aria-label": "Search the settings in force", oninput: () => this.#filter() });
    this.changed = element("input", { type: "checkbox", onchange: () => this.#filter() });
    this.found = element("span", { class: "muted", role: "status" });
    this.rows = element("tbody");
    const head = ["Key", "Value", "From"].map((text) => element("th", { scope: "col", text }));
    root.append(
      this.notices,
      element("div", { class: "tools" }, this.search, element("label", {}, this.changed, " Not the default"), this.found),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Settings in force" },
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), this.rows)));
  }

  show(reported) {
    const origins = object(reported.origins);
    this.#rows = [];
    this.#collect(object(reported.settings), "", origins, 0);
    this.rows.replaceChildren(...this.#rows.map(({ row }) => row));
    this.notices.replaceChildren(...this.#texts(reported).map((text) => element("li", { class: "alert", text })));
    this.#filter();
  }

  #collect(tree, path, origins, depth) {
    for (const [name, value] of Object.entries(tree)) {
      if (this.#rows.length >= 1000) return;
      const key = path + name;
      const isTree = value !== null && typeof value === "object" && !Array.isArray(value) && depth < 8;
      if (isTree) this.#collect(value, `${key}.`, origins, depth + 1);
      else this.#add(clean(key), value, Object.hasOwn(origins, key) ? clean(origins[key]) : "");
    }
  }

  #add(key, value, origin) {
    const text = value === null ? "none" : Array.isArray(value) && value.length === 0 ? "empty" : clean(value);
    const name = Object.hasOwn(originNames, origin) ? originNames[origin] : origin.replace(/^group:/, "fleet: group ");
    const badge = origin ? element("span", { class: "tag", text: name }) : "default";
    const row = element("tr", { class: origin ? "changed" : "" }, element("th", { scope: "row", text: key }), element("td", { text }), element("td", {}, badge));
    this.#rows.push({ row, origin, text: `${key} ${text} ${name}`.toLowerCase() });
  }

  /** What was refused, does not survive a restart, or waits for one. */
  #texts({ refused, layers, not_kept: notKept, restart_required: restart }) {
    const texts = list(refused).slice(0, 20).map(object).map(({ key, value, reason, allowed, layer }) =>
      `Refused: ${clean(key)} = ${clean(value)} ${clean(reason)}${allowed ? `, allowed: ${clean(allowed)}` : ""}${layer ? ` (${clean(layer)})` : ""}`);
    for (const [name, layer] of Object.entries(object(layers)).slice(0, 40)) {
      const { status, reason, errors } = object(layer);
      if (["none", "applied", undefined].includes(status)) continue;
      const error = object(list(errors)[0]);
      texts.push(`Layer ${clean(name)}: ${clean(status).replace(/_/g, " ")} ${clean(reason ?? [error.path, error.reason].filter(Boolean).map(clean).join(" "))}`);
    }
    if (notKept) texts.push(`Not stored yet: ${clean(notKept)}`);
    if (list(restart).length > 0) texts.push(`Takes effect at the next start: ${restart.slice(0, 20).map(clean).join(", ")}`);
    return texts;
  }

  #filter() {
    const words = this.search.value.toLowerCase().split(/\s+/);
    let found = 0;
    for (const { row, text, origin } of this.#rows) {
      row.hidden = !words.every((word) => text.includes(word)) || (this.changed.checked && origin === "");
      if (!row.hidden) found += 1;
    }
    setText(this.found, this.#rows.length > 0 ? `${found} of ${this.#rows.length}` : "not reported yet");
  }
}
