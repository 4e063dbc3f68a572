// The log of gestures as they happen, and of movements that were almost one.
import { clean, element, finite, isTime, number, object, setText, timeOfDay } from "./text.js";

const mostRows = 200;
/** Older gestures are listed, but not announced, ms. */
const announced = 10000;

const reasons = {
  too_weak: "it faded before it was certain", too_long: "it lasted longer than allowed",
  interrupted: "another gesture took precedence, or samples are missing", sensor_lost: "the sensor failed",
  disabled: "the gesture was disabled", stopped: "sensing or the agent stopped", restarted: "the agent was restarted",
};
/** A shape for each phase, because colour alone does not reach everybody. */
const shapes = { began: "▶", changed: "▶", ended: "■", cancelled: "✕", recognized: "●", missed: "○" };

/** The fields of an event for people: `axis x, 14.2 m/s², 5 reversals, after 0.9 s`. */
export function remarks(event) {
  const parts = [];
  const add = (name, decimals, unit, before = "") => {
    if (finite(event[name]) !== undefined) parts.push(before + number(event[name], decimals, unit));
  };
  const text = (name) => (typeof event[name] === "string" ? clean(event[name]).slice(0, 40) : "");
  add("count", 0, event.count === 1 ? "time" : "times");
  if (text("direction")) parts.push(text("direction"));
  if (text("from") && text("to")) parts.push(`${text("from")} → ${text("to")}`);
  if (text("side")) parts.push(`on ${text("side")}`);
  if (text("axis")) parts.push(`axis ${text("axis")}`);
  add("angle", 1, "°");
  add("strength", 1, "m/s²");
  add("level", 2, "m/s² RMS");
  add("frequency", 1, "Hz");
  add("reversals", 0, "reversals");
  add("height", 2, "m", "height ");
  add("duration", 2, "s", "after ");
  return parts.join(", ");
}

/** Lists the newest 200 gestures and near misses, the newest first, each gesture with all its phases in one row. */
export class GestureLog {
  #seen = new Set();
  /** The row of each gesture that began and has not ended. */
  #open = new Map();
  #rows = [];

  constructor(root, connection) {
    this.connection = connection;
    this.list = element("ol", { class: "log", tabindex: "0", role: "list", "aria-label": "Gestures, the newest first" });
    this.empty = element("p", { class: "muted", text: "No gesture yet. Shake the board, or simulate a movement." });
    this.voice = element("p", { class: "unseen", "aria-live": "polite" });
    const hide = element("input", { type: "checkbox", checked: true, onchange: () => this.list.classList.toggle("hide-missed", !hide.checked) });
    root.append(element("div", { class: "tools" }, element("label", {}, hide, " Near misses")), this.empty, this.list, this.voice);
  }

  /** Takes an event of a gesture; an event that came before is left out. */
  takeEvent(data) {
    const event = object(data);
    const { gesture, phase, id } = event;
    if (typeof gesture !== "string" || typeof phase !== "string") throw new TypeError("no gesture");
    if (id !== undefined && this.#isKnown(String(id))) return;
    const time = isTime(event.t) && event.clock !== "unset" ? event.t : undefined;
    const begun = this.#open.get(gesture);
    const goesOn = begun && phase !== "began" && phase !== "recognized" && !(time < begun.time);
    const row = goesOn ? begun : this.#insert(time, clean(gesture));
    this.#fill(row, event, time);
    if (phase === "ended" || phase === "cancelled") this.#open.delete(gesture);
    if (phase === "began" && this.#open.size < 50) this.#open.set(gesture, row);
    if (phase !== "changed") this.#announce(event, time);
  }

  /** Takes a movement that was almost a gesture. */
  takeMiss(data) {
    const miss = object(data);
    const text = clean(miss.text) || `no ${clean(miss.gesture)}: ${clean(miss.reason).replace(/_/g, " ")}`;
    const row = this.#insert(isTime(miss.t) ? miss.t : undefined, text);
    this.#mark(row, "missed");
  }

  #isKnown(id) {
    if (this.#seen.has(id)) return true;
    this.#seen.add(id);
    // A set iterates in the order of insertion: the first is the oldest.
    if (this.#seen.size > 1000) this.#seen.delete(this.#seen.values().next().value);
    return false;
  }

  /** Puts a row where its time belongs: delayed events arrive after newer ones. */
  #insert(time, title) {
    const row = {
      time: time ?? this.connection.serverNow(), shape: element("span", { class: "shape", "aria-hidden": "true" }),
      phase: element("span", { class: "phase" }), details: element("span", { class: "details" }),
    };
    const clock = element("time", { text: time === undefined ? "no clock" : timeOfDay(time) });
    row.item = element("li", {}, row.shape, element("b", { text: title }), row.phase, row.details, clock);
    const at = this.#rows.findIndex((other) => other.time <= row.time);
    this.#rows.splice(at < 0 ? this.#rows.length : at, 0, row);
    this.list.insertBefore(row.item, at < 0 ? null : this.list.children[at]);
    if (this.#rows.length > mostRows) this.#rows.pop().item.remove();
    this.empty.hidden = true;
    return row;
  }

  #mark(row, kind) {
    row.item.className = kind;
    setText(row.shape, shapes[kind] ?? "◆");
  }

  #fill(row, event, time) {
    this.#mark(row, Object.hasOwn(shapes, event.phase) ? event.phase : "other");
    setText(row.phase, clean(event.phase).slice(0, 30));
    const parts = [remarks(event)];
    if (event.reason !== undefined) parts.push(Object.hasOwn(reasons, event.reason) ? reasons[event.reason] : clean(event.reason));
    setText(row.details, parts.filter(Boolean).join(": "));
    const tags = [event.simulated === true && "simulated", event.delayed === true && "delayed", time === undefined && "clock unset"];
    row.details.append(...tags.filter(Boolean).flatMap((tag) => [" ", element("span", { class: "tag", text: tag })]));
  }

  #announce(event, time) {
    if (time === undefined || Math.abs(this.connection.serverNow() - time) > announced) return;
    setText(this.voice, `${clean(event.gesture).slice(0, 40)} ${clean(event.phase).slice(0, 40)}`);
  }
}
