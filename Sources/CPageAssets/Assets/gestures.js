// The log of gestures as they happen, and of movements that were almost one.
import { clean, dayAndTime, element, finite, isTime, number, object, setText } from "./text.js";
import { Verdicts } from "./verdicts.js";

const mostRows = 200;
/** Milliseconds after which a gesture is listed, but not announced. */
const announced = 10000;
/** A shape for each phase, because colour alone does not reach everybody. */
const shapes = { began: "▶", changed: "▶", ended: "■", cancelled: "✕", recognized: "●", missed: "○" };

/** The fields of an event for people: `axis x, 14.2 m/s², 5 reversals, after 0.90 s`. */
export function remarks(event) {
  const text = (name, before = "") => typeof event[name] === "string" && before + clean(event[name]).slice(0, 40);
  const value = (name, decimals, unit, before = "") =>
    finite(event[name]) !== undefined && before + number(event[name], decimals, unit);
  return [
    value("count", 0, event.count === 1 ? "time" : "times"), text("direction"), text("from", "from "), text("to", "to "),
    text("side", "on "), text("axis", "axis "), value("angle", 1, "°"), value("rate", 0, "°/s"), value("strength", 1, "m/s²"),
    value("level", 2, "m/s² RMS"), value("frequency", 1, "Hz"), value("reversals", 0, "reversals"),
    value("height", 2, "m", "height "), value("duration", 2, "s", "after "), value("longest_pause", 0, "s", "longest pause "),
    value("peak", 2, "m/s²", "peak "), event.spun === true && "spun",
    finite(event.decibels) !== undefined && finite(event.octave) !== undefined && `${number(Math.abs(event.decibels), 1, "dB")} ` +
      `${event.decibels < 0 ? "less" : "more"} from ${number(event.octave, 1)} to ${number(2 * event.octave, 1, "Hz")}`,
  ].filter(Boolean).join(", ");
}

/** Why a gesture was cancelled, in the server's words: `it stopped before it was certain`. */
export function reasonText({ gesture, reason }, texts) {
  if (reason === undefined) return "";
  const name = [`${gesture}.${reason}`, `${reason}`].find((name) => Object.hasOwn(texts, name));
  return clean(name === undefined ? reason : texts[name]);
}

/** The newest 200 gestures and near misses, the newest first; each gesture has all its phases in one row. */
export class GestureLog {
  #seen = new Set();
  /** The rows of gestures that began and have not ended. */
  #open = new Map();
  #rows = [];

  constructor(root, context) {
    this.context = context;
    this.connection = context.connection;
    this.list = element("ol", { class: "log", tabindex: "0", "aria-label": "Gestures, the newest first" });
    this.empty = element("p", { class: "muted", text: "No gesture yet. Shake the board, or simulate a movement." });
    this.voice = element("p", { class: "unseen", "aria-live": "polite" });
    const hide = () => this.list.classList.toggle("hide-missed");
    const box = element("input", { type: "checkbox", checked: true, onchange: hide });
    this.verdicts = new Verdicts(context);
    root.append(
      element("div", { class: "tools" }, element("label", {}, box, " Near misses")), this.verdicts.root, this.empty, this.list,
      this.voice);
  }

  /** Takes a phase of a gesture, unless it came before. */
  takeEvent(event) {
    const { gesture, phase, id } = event;
    if (typeof gesture !== "string" || typeof phase !== "string") throw new TypeError("no gesture");
    if (this.#isKnown(id)) return;
    const time = isTime(event.t) && event.clock !== "unset" ? event.t : undefined;
    const begun = this.#open.get(gesture);
    const goesOn = begun && ["changed", "ended", "cancelled"].includes(phase) && !(time < begun.time);
    const row = goesOn ? begun : this.#insert(time, clean(gesture));
    if (!goesOn && gesture !== "machine") row.verdict = this.verdicts.make(event, time);
    if (!goesOn && row.verdict) row.item.append(row.verdict.button);
    this.#fill(row, event, time);
    if (phase === "ended" || phase === "cancelled") this.#open.delete(gesture);
    // What is open may have begun before anybody looked.
    if ((phase === "began" || phase === "changed") && this.#open.size < 50) this.#open.set(gesture, row);
    const isNew = Math.abs(this.connection.serverNow() - time) < announced;
    if (isNew && phase !== "changed") setText(this.voice, `${clean(gesture).slice(0, 40)} ${clean(phase).slice(0, 40)}`);
  }

  /** Takes a movement that was almost a gesture. */
  takeMiss(miss) {
    const text = clean(miss.text) || `no ${clean(miss.gesture)}: ${clean(miss.reason).replaceAll("_", " ")}`;
    this.#mark(this.#insert(isTime(miss.t) ? miss.t : undefined, text), "missed");
  }

  /** Shows the buttons of gestures of which it can be said that they were none. */
  update() {
    for (const { verdict } of this.#rows) if (verdict) this.verdicts.update(verdict);
  }

  #isKnown(id) {
    if (id === undefined) return false;
    if (this.#seen.has(String(id))) return true;
    this.#seen.add(String(id));
    // A set iterates in the order of insertion: the first is the oldest.
    if (this.#seen.size > 1000) this.#seen.delete(this.#seen.values().next().value);
    return false;
  }

  /** Puts a row where its time belongs, because delayed events come after newer ones. */
  #insert(time, title) {
    const part = (name) => element("span", { class: name });
    const now = this.connection.serverNow();
    const row = { time: time ?? now, shape: part("shape"), phase: part("phase"), details: part("details") };
    row.shape.ariaHidden = "true";
    const clock = element("time", { text: time === undefined ? "no clock" : dayAndTime(time, now) });
    row.item = element("li", {}, row.shape, element("b", { text: title }), row.phase, row.details, clock);
    const found = this.#rows.findIndex((other) => other.time <= row.time);
    const at = found < 0 ? this.#rows.length : found;
    this.list.insertBefore(row.item, this.#rows[at]?.item ?? null);
    this.#rows.splice(at, 0, row);
    if (this.#rows.length > mostRows) this.#rows.pop().item.remove();
    this.empty.hidden = true;
    return row;
  }

  #mark(row, kind) {
    row.item.className = kind;
    setText(row.shape, shapes[kind]);
  }

  #fill(row, event, time) {
    this.#mark(row, Object.hasOwn(shapes, event.phase) ? event.phase : "recognized");
    setText(row.phase, clean(event.phase).slice(0, 30));
    setText(row.details, [reasonText(event, object(this.context.hello.cancellations)), remarks(event)].filter(Boolean).join(", "));
    const tags = [event.simulated === true && "simulated", event.delayed === true && "delayed", time === undefined && "clock unset"];
    row.details.append(...tags.filter(Boolean).flatMap((text) => [" ", element("span", { class: "tag", text })]));
  }
}
