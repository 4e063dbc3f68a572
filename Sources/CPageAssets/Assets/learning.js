// Teaches the board a gesture. The board leads: each of its answers says what to do, or what it thinks of a movement.
import { clean, element, finite, list, setText } from "./text.js";

/** Columns of a picture of a movement, from the quietest to the loudest. */
const columns = "▁▂▃▄▅▆▇█";
/** The movements after the examples. */
const trials = 3;
const names = "[a-z][a-z0-9_]{0,31}";
/** Steps that say what to do; the others say what has happened. */
const prompts = ["wear", "rest", "rehearse", "show", "test", "moving", "wait"];

/** The form, the gestures that are known, and the steps of a lesson. */
export class Learning {
  /** `button` makes a button that sends the command with arguments. */
  constructor(button) {
    this.button = button;
    const learn = button("Learn", () => ({ name: this.name.value.trim() }), "Learn a gesture");
    this.name = element("input", { type: "text", pattern: names, maxlength: 32, placeholder: "circle", autocomplete: "off", spellcheck: "false",
      "aria-label": "Name of the gesture", title: "a-z, 0-9 and _, beginning with a letter",
      onkeydown: (event) => event.key === "Enter" && learn.click() });
    this.controls = element("div", { class: "row" }, this.name, learn, button("Cancel", () => ({ stop: true }), "Cancel learning"));
    this.known = element("ul", { class: "learned" });
    this.title = element("p", { class: "lesson-title" });
    this.now = element("p", { class: "lesson-now", role: "status" });
    this.progress = element("progress", { max: 1, value: 0, "aria-label": "Progress of the lesson" });
    this.steps = element("ol", { class: "lesson-steps", "aria-label": "What the board says of each movement" });
    this.lesson = element("div", { class: "lesson", hidden: true }, this.title, this.now, this.progress, this.steps);
  }

  /** Lists the gestures that the board has learned. */
  list(known) {
    this.known.replaceChildren(...known.map((name) => element("li", {}, element("b", { text: name }),
      this.button("Add examples", () => ({ name, more: true }), `Add examples to ${name}`),
      this.button("Forget", () => ({ name, forget: true }), `Forget ${name}`))));
  }

  /** Takes an answer of the board. */
  take(payload) {
    const step = clean(payload.step);
    const text = clean(payload.message);
    if (payload.ok === false) {
      // A second request was refused: the first one goes on.
      if (payload.error !== "busy" && this.isOpen) this.#end("Nothing was learned", text, "failed");
    } else if (step === "begin") this.#begin(clean(payload.name), text);
    else if (payload.done === true) this.#end(`${clean(payload.name)} is learned`, text, "good");
    else if (prompts.includes(step)) this.#prompt(step, text, payload);
    else if (step !== "") this.#happened(step, text, payload);
  }

  #begin(name, text) {
    this.isOpen = true;
    this.lesson.hidden = false;
    this.lesson.className = "lesson";
    this.steps.replaceChildren();
    [this.examples, this.wanted, this.tried] = [0, 3, 0];
    setText(this.title, name);
    setText(this.now, text);
    this.#count();
  }

  #prompt(step, text, payload) {
    if (!this.isOpen) this.#begin(clean(payload.name), "");
    if (step === "show" && finite(payload.of)) this.wanted = payload.of;
    const minutes = finite(payload.left) === undefined ? "" : ` ${Math.ceil(payload.left / 60)} min`;
    this.lesson.className = `lesson ${["rehearse", "show", "test"].includes(step) ? "now" : ""}`;
    setText(this.now, step === "moving" ? "Hold it still again when it is done" : `${text}${minutes}`);
    this.#count();
  }

  #happened(step, text, payload) {
    if (!this.isOpen) this.#begin(clean(payload.name), "");
    if (step === "accepted") this.examples = finite(payload.number) ?? this.examples + 1;
    if (step === "started_again") this.examples = 1;
    if (step === "tested") this.tried = finite(payload.number) ?? this.tried + 1;
    const isGood = ["accepted", "learned", "worn", "rehearsed"].includes(step) || finite(payload.confidence) !== undefined;
    const picture = element("span", { class: "movement", "aria-hidden": "true", text: Learning.#picture(list(payload.energies)) });
    this.steps.prepend(element("li", { class: isGood ? "good" : "failed" }, picture, ` ${text}`));
    this.#count();
  }

  #end(title, text, kind) {
    this.isOpen = false;
    this.lesson.className = `lesson ${kind}`;
    setText(this.title, title);
    setText(this.now, text);
    this.progress.hidden = true;
  }

  #count() {
    this.progress.hidden = false;
    this.progress.value = Math.min(1, (this.examples + this.tried) / (this.wanted + trials));
  }

  /** How much moved: a column for 0.08 s. */
  static #picture(energies) {
    const values = energies.slice(0, 100).map((value) => finite(value) ?? 0).filter((_, index) => index % 2 === 0);
    const most = Math.max(1e-3, ...values);
    return values.map((value) => columns[Math.max(0, Math.min(7, Math.floor((8 * value) / most)))]).join("");
  }
}
