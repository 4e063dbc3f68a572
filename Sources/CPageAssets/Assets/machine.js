// The machine that carries the board: its phase, its last minute in figures, in what it deviates from its earlier runs, its runs.
import { Question } from "./commands.js";
import { drawGrid, isInSight, niceStep, observeSight, prepare } from "./plots.js";
import { hindrance, permits, valueAt } from "./settings.js";
import { clean, dayAndTime, duration, element, finite, isTime, list, number, object, setText } from "./text.js";

/** The lower end of the first octave, Hz; no sensor has more octaves. */
const [lowest, mostOctaves] = [2.8, 12];
const mostRuns = 50;
const figureTitle = "Octaves in the last minute, dB of 1 m²/s⁴ over Hz";
const statements = [["off", "It is off now"], ["running", "It runs now"]];
const noted = {
  off: "Noted: this is what it is like when it is off.", running: "Noted: this is what it is like when it runs.",
  fine: "Noted: it is as it should be.",
};
const range = (from) => `${number(from, 1)} to ${number(2 * from, 1, "Hz")}`;

/** RMS over a band, as name and text: the name in the message ends with the highest frequency, as in `v_10_260`. */
function bandValue(state, prefix, name, decimals, unit) {
  const field = Object.keys(state).find((one) => one.startsWith(prefix) && /^\d{1,4}$/.test(one.slice(prefix.length)));
  if (field === undefined) return undefined;
  const below = list(state.below).includes(field) ? "below " : "";
  return [`${name}, 10–${field.slice(prefix.length)} Hz`, below + number(state[field], decimals, unit)];
}

/** Levels in dB, `undefined` where there is none. */
const levels = (values) => list(values).slice(0, mostOctaves).map((level) => Math.abs(finite(level)) <= 300 ? level : undefined);

/** In words, in what the machine is not as it was. */
function deviationWords({ octave, decibels, since }, now) {
  const when = isTime(since) ? ` since ${dayAndTime(since, now)}` : "";
  if (finite(octave) === undefined || finite(decibels) === undefined) return `Not as it was${when}.`;
  const change = `${number(Math.abs(decibels), 1, "dB")} ${decibels < 0 ? "weaker" : "stronger"}`;
  return `Not as it was${when}: from ${range(octave)} it is ${change} than in its earlier runs. That need not be a fault.`;
}

/** The part of the card about vibration that is about the machine; hidden until the board has published something about it. */
export class MachineView {
  /** The last message; `undefined` if there was none. */
  #state;
  #hello = {};
  #online;
  #allowed;
  /** What the board has learnt of the octaves, once it was asked. */
  #learnt = { floors: [], low: [], high: [] };
  /** The runs that it told then, the newest first. */
  #runs = [];

  constructor({ boardID, connection }) {
    this.connection = connection;
    this.deviation = element("p", { class: "alert", role: "status", hidden: true });
    this.learning = element("p", { class: "muted", hidden: true });
    this.facts = element("dl", { class: "facts" });
    this.title = element("figcaption", { text: figureTitle });
    this.canvas = element("canvas", { role: "img" });
    this.figure = element("figure", { hidden: true }, this.title, this.canvas);
    observeSight(this.canvas);
    this.lines = element("p", { class: "muted" });
    const say = (text, now) => element("button", { type: "button", hidden: true, onclick: () => this.question.send(now ? { now } : {}), text });
    this.fine = say("It is fine", "fine");
    this.statements = statements.map(([now, text]) => say(text, now));
    this.ask = say("Show what was learnt");
    this.status = element("span", { class: "muted", role: "status" });
    this.question = new Question(boardID, "machine", this.status);
    this.runsTitle = element("figcaption", { text: "The last runs: peak, m/s², over time" });
    this.runsCanvas = element("canvas", { role: "img" });
    this.runsFigure = element("figure", { hidden: true }, this.runsTitle, this.runsCanvas);
    observeSight(this.runsCanvas);
    this.body = element("tbody");
    const head = ["Ended", "Ran", "Longest pause", "Peak, m/s²", "Spun"].map((text) => element("th", { scope: "col", text }));
    this.runs = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The last runs, the newest first", hidden: true },
      element("table", {}, element("thead", {}, element("tr", {}, head)), this.body));
    this.root = element("div", { class: "machine", hidden: true }, this.deviation, this.learning, this.facts, this.figure, this.lines,
      element("div", { class: "tools" }, this.fine, this.statements, this.ask, this.status), this.runsFigure, this.runs);
  }

  /** Whether the board has published something about a machine. */
  get isKnown() {
    return this.#state !== undefined;
  }

  handle(name, data) {
    const content = object(data);
    if (name === "hello") this.#hello = content;
    else if (name === "availability") this.#online = content.online;
    else if (name === "reported") this.#allowed = valueAt(content, "settings.commands.allow");
    else if (name === "machine") this.#take(content);
    const answer = this.question.take(name, data);
    if (answer) this.#answer(answer);
    const mayAsk = object(this.#hello).control === true;
    const mayTeach = mayAsk && Array.isArray(this.#allowed) && permits(this.#allowed, "machine");
    this.fine.hidden = !mayAsk || this.#state?.changed !== true;
    this.ask.hidden = !mayAsk;
    for (const button of this.statements) button.hidden = !mayTeach;
    const isDisabled = hindrance(this.#hello, this.#online) !== "";
    for (const button of [this.fine, ...this.statements, this.ask]) button.disabled = isDisabled;
  }

  #take(state) {
    this.#state = state;
    this.root.hidden = false;
    const now = this.connection.serverNow();
    setText(this.deviation, state.changed === true ? deviationWords(object(state.deviation), now) : "");
    this.deviation.hidden = state.changed !== true;
    const known = finite(state.runs) > 0 ? `, of which it knows ${number(state.runs)} ${state.runs === 1 ? "run" : "runs"}` : "";
    setText(this.learning, `The board is still learning this machine${known}. Until then it may take other vibration for it.`);
    this.learning.hidden = state.confidence !== "learning";
    const facts = [
      bandValue(state, "v_10_", "velocity", 2, "mm/s"), bandValue(state, "a_10_", "acceleration", 3, "m/s²"),
      ["peak", finite(state.peak) && number(state.peak, 2, "m/s²")], ["crest factor", finite(state.crest) && number(state.crest, 1)],
      ["kurtosis", finite(state.kurtosis) && number(state.kurtosis, 1)], ["speed", finite(state.speed) && number(state.speed, 0, "rpm")],
      ["zone", typeof state.zone === "string" && clean(state.zone).slice(0, 8)],
    ].filter((fact) => fact?.[1]);
    this.facts.replaceChildren(...facts.map(([name, text]) => element("div", {}, element("dt", { text: name }), element("dd", { text }))));
    this.octaves = list(state.octaves).slice(0, mostOctaves).map((level, index) => ({ from: lowest * 2 ** index, level: finite(level) }))
      .filter(({ level }) => Math.abs(level) <= 300);
    this.figure.hidden = this.octaves.length === 0;
    const words = this.octaves.map(({ from, level }) => `${range(from)}: ${number(level, 1, "dB")}`).join(", ");
    this.canvas.setAttribute("aria-label", `${this.title.textContent}. ${words}`);
    const lines = list(state.lines).slice(0, 3).filter((line) => finite(line?.[0]) && finite(line[1]))
      .map(([frequency, level]) => `${number(frequency, 1, "Hz")} with ${number(level, 2, "m/s²")}`);
    setText(this.lines, lines.length > 0 ? `Strongest lines: ${lines.join(", ")} RMS.` : "");
  }

  #answer({ now, runs, floors, low, high }) {
    this.#learnt = { floors: levels(floors), low: levels(low), high: levels(high) };
    setText(this.title, `${figureTitle}${list(floors).length > 0 ? "; line: off" : ""}${list(low).length > 0 ? ", frame: earlier runs" : ""}`);
    this.question.say(Object.hasOwn(noted, now) ? noted[now] : "");
    const rows = list(runs).slice(-mostRuns).map(object).reverse();
    // What was asked for stays in sight, and is the newest.
    if (now !== undefined && this.runs.hidden) return;
    const clock = this.connection.serverNow();
    this.body.replaceChildren(...rows.map((run) => element("tr", {}, element("th", { scope: "row", text: isTime(run.t) ? dayAndTime(run.t, clock) : "–" }),
      [duration(run.duration), duration(run.longest_pause), number(run.peak, 2), run.spun === true ? "yes" : "no"]
        .map((text) => element("td", { text })))));
    this.runs.hidden = rows.length === 0;
    this.#runs = rows.filter((run) => isTime(run.t) && run.t <= clock && finite(run.duration) >= 0 && finite(run.peak) >= 0)
      .map(({ t, duration: seconds, peak }) => ({ from: t - 1000 * seconds, to: t, peak }));
    this.runsFigure.hidden = this.#runs.length === 0;
    const [newest, oldest] = [this.#runs[0], this.#runs.at(-1)];
    if (oldest) {
      const days = `from ${dayAndTime(oldest.from, clock)} to ${dayAndTime(newest.to, clock)}`;
      this.runsCanvas.setAttribute("aria-label", `${this.runsTitle.textContent}. ${number(this.#runs.length)} ${days}`);
    }
    if (rows.length === 0) this.question.say("No run has ended yet.");
  }

  /** The phase in words. `until`: when the board was last heard, if it is silent. */
  phase(until) {
    const { phase, duration: ran, quiet_for: quiet, t } = object(this.#state);
    const time = until ?? this.connection.serverNow();
    const more = (seconds) => duration(finite(seconds) === undefined ? undefined : seconds + (isTime(t) ? Math.max(0, time - t) / 1000 : 0));
    if (phase === "running") return `running for ${more(ran)}`;
    return phase === "paused" ? `paused, quiet for ${more(quiet)}` : phase === "off" ? "off" : "–";
  }

  /** How many runs ended today, in words. A machine that has been off since yesterday says how many there were then. */
  runsToday() {
    const { runs_today: runs, t } = object(this.#state);
    if (finite(runs) === undefined || !isTime(t)) return "";
    const day = (time) => new Date(time).toDateString();
    const today = day(t) === day(this.connection.serverNow()) ? runs : 0;
    return `, ${number(today)} ${today === 1 ? "run" : "runs"} ended`;
  }

  draw(colors) {
    this.#drawOctaves(colors);
    this.#drawRuns(colors);
  }

  /** A bar for each run, as long as it took and as high as its peak. */
  #drawRuns(colors) {
    if (this.runsFigure.hidden || !isInSight(this.runsCanvas)) return;
    const { pen, area } = prepare(this.runsCanvas);
    if (area.right - area.left < 100) return;
    const [start, end] = [Math.min(...this.#runs.map(({ from }) => from)), this.connection.serverNow()];
    const most = Math.max(0.1, ...this.#runs.map(({ peak }) => peak));
    const toY = drawGrid(pen, colors, area, 0, most, niceStep(most, 4));
    const toX = (time) => area.left + ((time - start) / Math.max(1, end - start)) * (area.right - area.left);
    pen.fillStyle = colors.axes[2];
    for (const { from, to, peak } of this.#runs) pen.fillRect(toX(from), toY(peak), Math.max(2, toX(to) - toX(from)), area.bottom - toY(peak));
    pen.fillStyle = colors.text;
    pen.textAlign = "left";
    pen.fillText(dayAndTime(start, end), area.left, area.bottom + 12);
    pen.textAlign = "right";
    pen.fillText("now", area.right, area.bottom + 12);
  }

  #drawOctaves(colors) {
    if (this.figure.hidden || !isInSight(this.canvas)) return;
    const { pen, area } = prepare(this.canvas);
    if (area.right - area.left < 100) return;
    const { floors, low: lows, high: highs } = this.#learnt;
    const shown = [...this.octaves.map(({ level }) => level), ...floors, ...lows, ...highs].filter((level) => level !== undefined);
    const low = 10 * Math.floor(Math.min(...shown) / 10) - 10;
    const high = Math.max(low + 20, 10 * Math.ceil(Math.max(...shown) / 10));
    const toY = drawGrid(pen, colors, area, low, high, niceStep(high - low, 4));
    const width = (area.right - area.left) / this.octaves.length;
    pen.textAlign = "center";
    this.octaves.forEach(({ from, level }, index) => {
      const x = area.left + index * width;
      const isChanged = this.#state.changed === true && Math.abs(object(this.#state.deviation).octave / from - 1) < 0.1;
      pen.fillStyle = isChanged ? colors.warn : colors.axes[2];
      pen.fillRect(x + 0.15 * width, toY(level), 0.7 * width, area.bottom - toY(level));
      pen.fillStyle = pen.strokeStyle = colors.text;
      if (floors[index] !== undefined) pen.fillRect(x, toY(floors[index]) - 1, width, 2);
      if (lows[index] !== undefined && highs[index] !== undefined) {
        pen.strokeRect(x + 0.08 * width, toY(highs[index]), 0.84 * width, Math.max(1, toY(lows[index]) - toY(highs[index])));
      }
      pen.fillText(number(from, from < 100 ? 1 : 0), x, area.bottom + 12);
    });
  }
}
