// Saying what a movement was: the board keeps its last seconds as a recording with a label, which `jostle tune` uses.
import { clean, element, finite, object, post, quantity, setText } from "./text.js";
import { hindrance, learnedNames, permits, valueAt } from "./settings.js";

const gestures = ["shake", "tap", "flick", "turn", "flip", "tilt", "fall", "impact", "motion", "vibration"];
const units = { ms: 0.001, s: 1, min: 60 };
/** Seconds: before a gesture that was none; before the press, of a gesture that was not recognised; for an answer. */
const [before, missed, patience] = [10, 20, 15];

/** The button for a gesture that was not recognised, and those of gestures that were none. */
export class Verdicts {
  #hello = {};
  #online;
  #allowed;
  /** Seconds that the board has in memory; 0 if that is not known. */
  #seconds = 0;
  #isWaiting = false;
  /** Whether the board has a virtual sensor: then it has samples of events that are marked as simulated. */
  #isVirtual = false;

  constructor(context) {
    this.context = context;
    this.choice = element("select", { "aria-label": "Gesture" });
    this.#offer([]);
    this.button = element("button", { type: "button", text: "I did it, and nothing happened", onclick: () => this.#miss() });
    this.status = element("span", { class: "muted", role: "status" });
    this.form = element("span", { class: "tools", hidden: true }, this.choice, this.button);
    this.root = element("div", { class: "tools" }, this.form, this.status);
  }

  /** Takes an event of the server. */
  handle(name, data) {
    const content = object(data);
    if (name === "hello") this.#hello = content;
    else if (name === "state") this.#isVirtual = content.simulated === true;
    else if (name === "availability") this.#online = content.online;
    else if (name === "reported") {
      this.#allowed = valueAt(content, "settings.commands.allow");
      this.#seconds = quantity(valueAt(content, "settings.recorder.seconds"), units) ?? 0;
      this.#offer(learnedNames(content));
    } else if (name === "result") this.#answer(clean(content.command), object(content.payload));
    else return;
    this.form.hidden = !this.#may("keep");
  }

  /** Offers the built-in gestures and these learned ones. */
  #offer(learned) {
    const names = [...gestures, ...learned];
    if (names.length === this.choice.length && names.every((name, index) => this.choice.options[index].value === name)) return;
    const chosen = this.choice.value;
    this.choice.replaceChildren(...names.map((value) => element("option", { value, text: value })));
    if (names.includes(chosen)) this.choice.value = chosen;
  }

  /** A button that says that an event was no such gesture; `update` shows it while that can be said. */
  make(event, time) {
    const gesture = clean(event.gesture);
    const recording = typeof event.recording === "string" ? event.recording : undefined;
    if (!/^[a-z][a-z0-9_]*$/.test(gesture) || (recording === undefined && time === undefined)) return undefined;
    const button = element("button", { type: "button", class: "verdict", hidden: true, text: `No ${gesture}`,
      "aria-label": `That was no ${gesture}` });
    button.onclick = () => {
      button.remove();
      const label = `not ${gesture}`;
      if (recording !== undefined && this.#may("recordings")) this.#send("recordings", { label: recording, as: label });
      else this.#send("keep", { before: Math.min(this.#seconds, Math.ceil(this.#age(time)) + before), after: 0, label });
    };
    return { button, recording, time, isSimulated: event.simulated === true };
  }

  /** Shows a button while the board can still keep that movement, or has a recording of it. */
  update({ button, recording, time, isSimulated }) {
    const isKept = recording !== undefined && this.#may("recordings");
    const isInMemory = time !== undefined && this.#age(time) + 1 < this.#seconds && (!isSimulated || this.#isVirtual);
    const isShown = isKept || (isInMemory && this.#may("keep"));
    if (button.hidden === isShown) button.hidden = !isShown;
  }

  #age(time) {
    return Math.max(0, (this.context.connection.serverNow() - time) / 1000);
  }

  #may(command) {
    const hasMemory = command !== "keep" || this.#seconds > 0;
    return hindrance(this.#hello, this.#online) === "" && Array.isArray(this.#allowed) && permits(this.#allowed, command) && hasMemory;
  }

  #miss() {
    this.#send("keep", { before: Math.min(this.#seconds, missed), after: 0, label: this.choice.value });
  }

  async #send(name, parameters) {
    this.#isWaiting = true;
    setText(this.status, "Sent, waiting for the board.");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#finish("No answer of the board."), 1000 * patience);
    try {
      await post("api/command", { board: this.context.boardID, name, arguments: parameters });
    } catch (error) {
      this.#finish(`Not sent: ${error.message}`);
    }
  }

  #answer(command, payload) {
    if (!this.#isWaiting || (command !== "keep" && command !== "recordings") || payload.done === false) return;
    const name = clean(payload.recording);
    if (payload.ok !== true) this.#finish(`Not kept: ${clean(payload.message)}`);
    else if (command === "keep") this.#finish(`Kept as ${name}, ${Math.round(finite(payload.seconds) ?? 0)} s. jostle tune uses it.`);
    else this.#finish(`${name} is labelled. jostle tune uses it.`);
  }

  #finish(text) {
    clearTimeout(this.timer);
    this.#isWaiting = false;
    setText(this.status, text);
  }

  close() {
    clearTimeout(this.timer);
  }
}
