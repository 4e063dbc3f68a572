// The settings of one board. A value is shown as in force only when the board reports it: what was sent is only sent.
import { element, list, object, clean, post, quantity } from "./text.js";

const patience = 10000;
/** The most gestures, and the most rules, that get controls, whatever a report has. */
const mostGestures = 20;
const mostRules = 150;
/** The units of the values below, in seconds and hertz. */
const units = { ms: 0.001, s: 1, min: 60, h: 3600, d: 86400, Hz: 1, kHz: 1000 };

/** The value at `a.b.c` of a tree, or `undefined`. */
export function valueAt(tree, path) {
  return path.split(".").reduce((node, name) => (Object.hasOwn(object(node), name) ? node[name] : undefined), tree);
}

/** Whether a list of sections and keys with `*`, such as `settings.allow`, contains a key. Unknown lists permit all. */
export function permits(allowed, key) {
  if (!Array.isArray(allowed)) return true;
  const names = key.split(".");
  return allowed.some((item) => {
    const patterns = clean(item).split(".");
    return patterns.length <= names.length && patterns.every((pattern, index) => fits(pattern, names[index]));
  });
}

/** Whether a name has the parts between the `*` of a pattern. Each part is taken where it comes first, so nothing is tried twice. */
function fits(pattern, name) {
  const [start, ...parts] = pattern.split("*");
  if (parts.length === 0) return name === start;
  const end = parts.pop();
  let at = name.startsWith(start) ? start.length : -1;
  for (const part of parts) {
    at = at < 0 ? -1 : name.indexOf(part, at);
    if (at >= 0) at += part.length;
  }
  return at >= 0 && at <= name.length - end.length && name.endsWith(end);
}

/** Why nothing can be changed from this page now, in a sentence; empty if it can. */
export function hindrance(hello, online) {
  if (object(hello).control !== true) {
    return "This page only watches. To change settings and send commands here, set page.control: true in the page's " +
      "configuration and restart it.";
  }
  return online === false ? "The board is offline: it can be changed again as soon as it is back." : "";
}

/** What the server knows of each key, once somebody has looked at settings: what it means, its default and what it allows. */
let known;
export function reference() {
  const read = async () => object(await (await fetch("keys.json")).json());
  known ??= read().catch(() => {
    known = undefined;
    return {};
  });
  return known;
}

/** What is known of a key; empty texts for what is not. A key that all gestures have, or all rules, stands there once. */
export function explanation(known, key) {
  const all = key.replace(/^gestures\.[^.]+/, "gestures.<gesture>").replace(/^actions\.[^.]+/, "actions[]");
  const [meaning, usual, allowed] = list(known[key] ?? known[all]);
  return { meaning: clean(meaning), usual: clean(usual), allowed: clean(allowed) };
}

const amount = (value) => quantity(value, units);

const kinds = {
  switch: { make: () => element("input", { type: "checkbox", role: "switch" }), read: truth, get: (input) => input.checked },
  slider: { make: () => element("input", { type: "range", min: 1, max: 10, step: 1 }), read: amount, get: (input) => Number(input.value) },
  number: { make: (field) => element("input", { type: "number", min: field.min ?? 0, max: field.max, step: "any", inputmode: "decimal" }),
    read: amount, get: (input) => (input.value === "" ? undefined : Number(input.value)) },
  choice: { make: (field) => element("select", {}, field.options.map(([value, text]) => element("option", { value, text }))),
    read: (value) => (typeof value === "string" ? value : undefined), get: (input) => input.value },
  // A list of words, "any" for all of them: here one text, `left,up`.
  several: { make: (field) => element("fieldset", {}, field.options.map((value) => element("label", {}, element("input", { type: "checkbox", value }), ` ${value}`))),
    read: (value) => (value === undefined ? undefined : list(Array.isArray(value) ? value : [value]).map(clean).join(",")),
    get: (input) => {
      const boxes = [...input.querySelectorAll("input")];
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      return chosen.length === 0 ? undefined : chosen.length === boxes.length ? "any" : chosen.join(",");
    },
    wire: (value) => (value.includes(",") ? value.split(",") : value), needs: "At least one is needed." },
};

function truth(value) {
  return value === true || value === "true" ? true : value === false || value === "false" ? false : undefined;
}

function originText(origin) {
  if (origin === undefined) return "default";
  const known = { argument: "command line", all: "fleet, all boards", device: "fleet, this board" };
  return known[origin] ?? clean(origin).replace(/^group:/, "fleet, group ");
}

const isFleet = (origin) => typeof origin === "string" && /^(all$|device$|group:)/.test(origin);

const unanswered = "The board has not answered for 10 s. It may not have received the change.";

/** The value of a field in a board's report; `undefined` if the board has no such setting. */
function valueIn(report, field) {
  return kinds[field.kind].read(field.read ? field.read(report) : valueAt(report.settings, field.key));
}

/** A value as it is sent. */
export function wireValue(field, value) {
  return kinds[field.kind].wire?.(value) ?? value;
}

/** A value for people; empty if there is none. */
function valueWords(field, value) {
  if (value === undefined) return "";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (field.kind === "several") return clean(value).replaceAll(",", ", ");
  return `${clean(value)}${field.unit ? `\u00a0${field.unit}` : ""}`;
}

/** A setting of one board: what is in force, what was sent, and what became of it. `changed` is called whenever that changes. */
export class BoardSetting {
  constructor(boardID, field, changed) {
    Object.assign(this, { boardID, field, changed, report: {}, problem: "", refusal: "" });
  }

  /** Sends a value, or that there is to be none; resolves when the board has answered, or has not in time. */
  async post(sent) {
    this.ended?.();
    this.sent = this.last = sent;
    this.problem = "";
    [this.refusalBefore, this.isHeard] = [this.refusal, false];
    clearTimeout(this.timer);
    // A refusal that stands, and has been said again since, is the answer.
    this.timer = setTimeout(() => this.end(sent, this.isHeard && this.refusal ? "" : unanswered), patience);
    const end = new Promise((resolve) => (this.ended = resolve));
    this.changed();
    try {
      await post("api/set", { board: this.boardID, key: this.field.key, ...(sent.clears ? sent : { value: wireValue(this.field, sent.value) }) });
    } catch (error) {
      this.end(sent, `Not sent: ${error.message}`);
    }
    return end;
  }

  /** The end of waiting. */
  end(sent, problem) {
    if (this.sent !== sent) return;
    clearTimeout(this.timer);
    this.sent = undefined;
    this.problem = problem;
    this.changed();
    this.ended();
  }

  /** Takes the board's report. */
  take(report) {
    const { key } = this.field;
    this.report = report;
    this.isHeard = true;
    this.inForce = valueIn(report, this.field);
    this.from = object(report.origins)[key];
    const refusal = list(report.refused).map(object).findLast((one) => one.key === key);
    this.refusal = refusal ? refusalText(refusal) : "";
    this.isKept = report.not_kept === undefined || this.from !== "local";
    // A later value that could not be sent keeps its note.
    if (this.sent && this.isAnswered(refusal)) this.end(this.sent, this.problem);
    else if (this.problem === unanswered && this.isAnswered(refusal)) this.problem = "";
    this.changed();
  }

  isAnswered(refusal) {
    if (this.last.clears) return this.from !== "local";
    if (this.inForce === this.last.value) return true;
    if (!refusal) return false;
    const isOfValue = kinds[this.field.kind].read(refusal.value) === this.last.value || clean(refusal.value) === String(this.last.value);
    return isOfValue || this.refusal !== this.refusalBefore;
  }

  /** The layer of the fleet that holds the value; empty if none does. */
  get layer() {
    return isFleet(this.from) ? this.from : "";
  }

  /** Where the value comes from. */
  get origin() {
    return originText(this.from);
  }

  /** Why it cannot be changed over MQTT; empty if it can. */
  get lock() {
    if (this.layer) return `Set by the ${this.origin}: change it with “jostle fleet”.`;
    if (permits(valueAt(this.report, "settings.settings.allow"), this.field.key)) return "";
    return `The board does not permit this over MQTT: add ${this.field.key} to settings.allow in its configuration file.`;
  }

  /** What is to be said about it besides the value; empty if nothing is. */
  get note() {
    if (this.sent) return `Sent, waiting for the board. In force: ${this.words}.`;
    const notKept = this.isKept === false ? `In force, but not on the board's disk yet: ${clean(this.report.not_kept)}.` : "";
    return this.problem || this.refusal || this.lock || notKept;
  }

  /** The value in force, for people. */
  get words() {
    return valueWords(this.field, this.inForce);
  }
}

/** A control: its label, its input, and what is said about both. */
export class Control {
  constructor(field) {
    this.field = field;
    this.kind = kinds[field.kind];
    const id = `set-${field.key.replaceAll(".", "-")}`;
    this.input = this.kind.make(field);
    this.input.id = id;
    this.input.setAttribute("aria-describedby", `${id}-about ${id}-note`);
    if (field.title) this.input.setAttribute("aria-label", field.title);
    this.value = field.kind === "slider" ? element("output", { for: id }) : field.unit && element("span", { text: field.unit });
    this.label = field.kind === "several" ? element("span", { text: field.label }) : element("label", { for: id, text: field.label });
    this.meaning = element("span");
    this.about = element("p", { class: "note about", id: `${id}-about` }, this.meaning);
    this.note = element("p", { class: "note", id: `${id}-note`, "aria-live": "polite" });
    this.input.addEventListener("input", () => this.showValue());
  }

  /** The value that the input has, or what is wrong with it. */
  read() {
    const value = this.kind.get(this.input);
    if (value !== undefined && this.input.checkValidity()) return { value };
    return { problem: this.input.validationMessage || this.kind.needs || "A number is needed." };
  }

  put(value) {
    if (value === undefined) return;
    if (this.field.kind === "switch") this.input.checked = value;
    else if (this.field.kind === "several") {
      const chosen = value.split(",");
      for (const box of this.input.querySelectorAll("input")) box.checked = value === "any" || chosen.includes(box.value);
    }
    else if (this.input.value !== String(value)) this.input.value = String(value);
    this.showValue();
  }

  showValue() {
    if (this.field.kind === "slider") this.value.textContent = this.input.value;
  }

  /** Says what the setting means, its default and what it allows. */
  explain(known) {
    const { meaning, usual, allowed } = explanation(known, this.field.key);
    const words = { true: "on", false: "off" };
    const limits = this.field.kind === "number" || this.field.kind === "slider" ? `, allowed: ${allowed}` : "";
    this.meaning.textContent = meaning && `${meaning} Default: ${words[usual] ?? usual}${limits}.`;
  }
}

/** The control of a setting of the board, which sends what is chosen and shows what became of it. */
class Setting extends Control {
  constructor(panel, field) {
    super(field);
    this.panel = panel;
    this.state = new BoardSetting(panel.context.boardID, field, () => this.show());
    this.origin = element("span", { class: "badge" });
    const name = `Back to default: ${field.title ?? field.label}`;
    this.reset = element("button", { type: "button", class: "quiet", hidden: true, text: "Back to default", "aria-label": name,
      title: "Removes the value that was set here or over MQTT. That of the board's configuration file counts again, or else the default.",
      onclick: () => this.state.post({ clears: true }) });
    this.about.append(" ", this.reset);
    this.root = element("div", { class: `setting ${field.kind}`, hidden: true },
      this.label, element("span", { class: "input" }, this.input, this.value), this.origin, this.about, this.note);
    this.input.addEventListener("input", () => this.touched());
    this.input.addEventListener("change", () => this.changed());
    this.input.addEventListener("blur", () => this.left());
    this.input.addEventListener("keydown", (event) => event.key === "Escape" && this.revert());
    // A slider that is let go where it was sends no `change`.
    this.input.addEventListener("pointerup", () => field.kind === "slider" && setTimeout(() => this.left(), 0));
    // A touch that becomes a scroll ends without `change`.
    this.input.addEventListener("pointercancel", () => this.revert());
  }

  /** Somebody moves the control: reports must not move it meanwhile. */
  touched() {
    this.isTouched = true;
    clearTimeout(this.sending);
  }

  /** Sent after a moment, because each press of an arrow key at a slider is a change. */
  changed() {
    this.isTouched = true;
    clearTimeout(this.sending);
    this.sending = setTimeout(() => this.send(), this.field.kind === "slider" ? 350 : 0);
  }

  left() {
    if (this.sending === undefined && this.isTouched) this.revert();
  }

  revert() {
    clearTimeout(this.sending);
    this.sending = undefined;
    this.isTouched = false;
    this.show();
  }

  send() {
    this.sending = undefined;
    this.isTouched = false;
    const { value, problem } = this.read();
    if (problem) this.state.problem = problem;
    else if (value !== this.state.inForce || this.state.sent) return this.state.post({ value });
    return this.show();
  }

  /** Takes the board's report. */
  take(report) {
    this.state.take(report);
    this.root.hidden = this.state.inForce === undefined;
  }

  /** Ends timers. */
  close() {
    clearTimeout(this.state.timer);
    clearTimeout(this.sending);
  }

  show() {
    const { state } = this;
    const isDisabled = state.lock !== "" || this.panel.hindrance !== "";
    if (this.input.disabled !== isDisabled) this.input.disabled = isDisabled;
    this.reset.hidden = state.from !== "local" || isDisabled;
    if (!this.isTouched && this.sending === undefined) this.put(state.sent && !state.sent.clears ? state.sent.value : state.inForce);
    this.showValue();
    this.origin.textContent = state.layer ? "fleet" : state.origin;
    this.origin.classList.toggle("usual", state.from === undefined);
    this.origin.title = state.from === "file" ? "Set in the board's configuration file. A change here takes precedence." : "";
    this.root.classList.toggle("waiting", state.sent !== undefined);
    this.root.classList.toggle("failed", !state.sent && Boolean(state.problem || state.refusal));
    if (this.note.textContent !== state.note) this.note.textContent = state.note;
  }
}

function refusalText(refusal) {
  const allowed = refusal.allowed === undefined ? "" : ` Allowed: ${clean(refusal.allowed)}.`;
  return `Refused: ${clean(refusal.value)} ${clean(refusal.reason)}.${allowed}`;
}

const general = [
  { key: "attitude.reference", kind: "choice", label: "Zero of the attitude",
    options: [["none", "none"], ["start", "first rest"], ["stored", "last tare, stored"]] },
  { key: "attitude.low_pass", kind: "number", label: "Low-pass of the attitude", unit: "Hz", max: 500 },
  { key: "publish.attitude.rate", kind: "number", label: "Attitude messages", unit: "Hz", max: 200 },
  { key: "publish.motion.rate", kind: "number", label: "Motion messages", unit: "Hz", max: 200 },
  { key: "publish.near_misses", kind: "switch", label: "Publish near misses" },
  { key: "sensor.rate", kind: "number", label: "Samples per second", unit: "Hz", min: 4, max: 2000 },
];

/** The settings of a gesture; those that it does not have hide themselves. */
function gestureFields(name) {
  const key = `gestures.${name}`;
  return [
    { key: `${key}.enabled`, kind: "switch", label: name },
    { key: `${key}.sensitivity`, kind: "slider", label: "Sensitivity", title: `Sensitivity of ${name}` },
    { key: `${key}.cooldown`, kind: "number", label: "Pause after it", title: `Pause after ${name}, seconds`, unit: "s", max: 60 },
    { key: `${key}.directions`, kind: "several", label: "Directions", title: `Directions of ${name}`,
      options: ["left", "right", "up", "down", "forward", "backward"] },
    { key: `${key}.mode`, kind: "choice", label: "Mode", title: `Mode of ${name}`,
      options: [["knob", "like a knob"], ["free", "every rotation"]] },
  ];
}

/** The rules of `actions` that have a name. A rule says that it is switched off, and nothing if it is on. */
function namedRules(report) {
  return list(valueAt(object(report), "settings.actions")).map(object)
    .filter((rule) => typeof rule.name === "string" && /^[A-Za-z0-9][\w-]{0,63}$/.test(rule.name));
}

/** What a rule does, in a few words. */
function ruleWords(rule) {
  const program = Array.isArray(rule.run) ? rule.run[0] : rule.run;
  const parts = [object(rule.publish).topic, program, rule.post === undefined ? undefined : "webhook"].map(clean);
  return [clean(rule.on), ...parts.filter((part) => part !== "")].join(" → ");
}

function ruleField(name) {
  const find = (report) => namedRules(report).find((rule) => rule.name === name);
  return { key: `actions.${name}.enabled`, kind: "switch", label: name, title: `Action ${name}`,
    read: (report) => (find(report) ? find(report).enabled !== false : undefined) };
}

/** The names of the gestures that a board has learned, in its report; it has ten at most. */
export function learnedNames(report) {
  return Object.keys(object(valueAt(report, "settings.gestures.learned"))).slice(0, 10).map(clean);
}

/** The names of the gestures in a report. */
function gestureNames(report) {
  return Object.keys(object(valueAt(report, "settings.gestures"))).filter((name) => /^[a-z][\w-]{0,31}$/.test(name));
}

/** The settings that at least one of some reports has, by their headings. */
export function catalogue(reports) {
  const of = (names, most) => [...new Set(reports.flatMap(names))].slice(0, most);
  const has = (field) => reports.some((report) => valueIn(report, field) !== undefined);
  const groups = of(gestureNames, mostGestures).map((name) => [name, gestureFields(name)]);
  groups.push(["Actions", of((report) => namedRules(report).map((rule) => rule.name), mostRules).map(ruleField)]);
  groups.push(["Measuring and publishing", general]);
  return groups.map(([heading, fields]) => [heading, fields.filter(has)]).filter(([, fields]) => fields.length > 0);
}

/** The settings of a board, as it reports them, and controls to change them. */
export class SettingsPanel {
  constructor(root, context) {
    this.root = root;
    this.context = context;
    this.hello = object(context.hello);
    this.report = {};
    this.known = {};
    this.notice = element("p", { class: "notice", role: "status" });
    this.others = element("ul", { class: "refused" });
    this.settings = [];
    const make = (fields) => fields.map((field) => {
      const setting = new Setting(this, field);
      setting.explain(this.known);
      this.settings.push(setting);
      return setting.root;
    });
    this.makeSettings = make;
    this.rules = element("div", { class: "general rules" });
    this.rulesTitle = element("h3", { text: "Actions", hidden: true });
    this.cards = element("div", { class: "gesture-cards" });
    this.content = element("div", { class: "settings-content", hidden: true },
      element("h3", { text: "Gestures" }), this.cards,
      this.rulesTitle, this.rules,
      element("h3", { text: "Measuring and publishing" }), element("div", { class: "general" }, make(general)), this.others);
    root.replaceChildren(element("div", { class: "panel" }, element("h2", { text: "Settings" }), this.notice, this.content));
    this.show();
  }

  /** Takes an event of the server. */
  handle(name, data) {
    if (name === "hello") this.hello = object(data);
    else if (name === "availability") this.online = object(data).online;
    else if (name === "reported") this.take(object(data));
    else return;
    this.show();
  }

  /** Takes what is known of the keys. */
  explain(known) {
    this.known = known;
    for (const setting of this.settings) setting.explain(known);
  }

  /** Ends timers. */
  close() {
    for (const setting of this.settings) setting.close();
    this.root.replaceChildren();
  }

  take(report) {
    // A report without settings says nothing about them: the last ones stay.
    if (report.settings === undefined) return;
    this.report = report;
    this.takeGestures(gestureNames(report));
    this.takeRules(namedRules(report));
    this.settings.forEach((setting) => setting.take(report));
    const shown = new Set(this.settings.filter(({ root }) => !root.hidden).map(({ field }) => field.key));
    const others = list(report.refused).map(object).filter((one) => typeof one.key === "string" && !shown.has(one.key)).slice(-20);
    this.others.replaceChildren(...others.map((one) => element("li", { text: `${clean(one.key) || "A message"}: ${refusalText(one)}` })));
    for (const card of this.cards.children) {
      card.hidden = !card.querySelector(".setting:not([hidden])");
      // What is said of a gesture that is off is folded away.
      card.classList.toggle("off", card.querySelector(".switch input")?.checked === false);
    }
    this.content.hidden = false;
  }

  /** Makes a card for each gesture; those of gestures that are gone hide themselves. */
  takeGestures(names) {
    const known = new Set(this.settings.map((setting) => setting.field.key));
    for (const name of names) {
      const fields = gestureFields(name);
      if (known.has(fields[0].key)) continue;
      if (this.cards.children.length === mostGestures) return;
      this.cards.append(element("div", { class: "gesture", role: "group", "aria-label": name }, this.makeSettings(fields)));
    }
  }

  /** Makes a switch for each rule that has a name; those of rules that are gone hide themselves. */
  takeRules(rules) {
    const known = new Set(this.settings.map((setting) => setting.field.key));
    const names = new Set(rules.map((rule) => rule.name));
    const added = [...names].filter((name) => !known.has(`actions.${name}.enabled`)).slice(0, mostRules - this.rules.children.length);
    this.rules.append(...this.makeSettings(added.map(ruleField)));
    for (const rule of rules) {
      const setting = this.settings.find((one) => one.field.key === `actions.${rule.name}.enabled`);
      if (setting) setting.root.title = ruleWords(rule);
    }
    this.rulesTitle.hidden = rules.length === 0;
  }

  show() {
    this.hindrance = hindrance(this.hello, this.online);
    const text = this.hindrance || (this.content.hidden ? "Waiting for the board's report of its settings …" : this.notKept());
    if (this.notice.textContent !== text) this.notice.textContent = text;
    this.notice.hidden = text === "";
    this.settings.forEach((setting) => setting.show());
  }

  notKept() {
    return this.report.not_kept === undefined ? "" : `The latest change is in force, but not on the board's disk yet: ${clean(this.report.not_kept)}.`;
  }
}
