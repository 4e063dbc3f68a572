// The commands of one board, and its answers. A calibration is led by the board: each of its answers says what to do next.
import { element, object, clean, finite, number, timeOfDay, isTime, post, setText } from "./text.js";
import { hindrance, learnedNames, permits, valueAt } from "./settings.js";
import { Learning } from "./learning.js";
import { boardPicture, sideWords } from "./pose.js";

const patience = 10000;
const longestLog = 50;
const movements = {
  Knocks: ["tap", "double-tap", "triple-tap", "side-taps", "soft-tap", "tap-walking", "bump"],
  Shakes: ["shake", "gentle-shake"],
  Flicks: ["flick-left", "flick-right", "flick-up", "flick-down", "flick-forward", "flick-backward"],
  Turns: ["turn-left", "turn-right", "twist", "slow-turn", "fast-turn", "turn-360", "flip", "flip-180", "tilt"],
  Falls: ["drop", "fall", "throw"],
  "Cancelled gestures": ["short-shake", "long-shake", "shake-and-drop", "long-turn", "turn-and-shake", "tilted-turn", "long-fall", "soft-catch"],
  "Everyday life": ["walk", "carry", "put-down", "machine", "fan", "rest", "demo"],
};
const errors = {
  unknown_command: "the board's version does not know this command", bad_arguments: "the arguments are wrong",
  not_allowed: "the board does not permit it", retained: "the command was retained", too_many: "too many commands at once; wait a moment",
  busy: "it is already under way", sensor_unavailable: "the sensor is missing or stopped", unavailable: "this board cannot do it",
  resources: "the system lacks memory, threads or disk space", failed: "it failed; nothing was changed",
};

/** An answer of a board in words. */
export function answerWords(command, payload) {
  if (payload.ok === false) {
    const reason = errors[payload.error] ?? (clean(payload.error) || "refused");
    const message = clean(payload.message);
    if (payload.error === "failed" && message) return message;
    const help = payload.error === "not_allowed" ? `. ${permission(command)}` : "";
    return `${reason}${message ? `: ${message}` : ""}${help}`;
  }
  if (payload.advice) return `${pose(payload)}${clean(payload.advice)}`;
  if (command === "calibrate" && payload.done === true) return outcome(payload);
  if (command === "identify") return payload.done === true ? "the light is as before" : `blinks its light ${clean(payload.light)}`;
  if (command === "start" || command === "stop") {
    return `sensing ${payload.stopped ? "is stopped" : "runs"}${payload.changed === false ? ", as before" : ""}`;
  }
  if (typeof payload.forgotten === "boolean") return `${clean(payload.name)} ${payload.forgotten ? "is forgotten" : "was not learned here"}`;
  if (command === "learn" && payload.message) return clean(payload.message);
  if (typeof payload.stopped === "boolean") return payload.stopped ? "stopped" : "nothing was under way";
  if (command === "simulate" && payload.movement) return `simulates ${clean(payload.movement)}, ${number(payload.seconds, 1, "s")}`;
  const rest = Object.entries(payload).filter(([name]) => !["t", "ok", "done"].includes(name)).slice(0, 12);
  return ["done", ...rest.map(([name, value]) => `${clean(name)} ${clean(value)}`)].join(", ");
}

function pose(payload) {
  return finite(payload.pose) && finite(payload.poses) ? `pose ${payload.pose} of ${payload.poses}: ` : "";
}

function outcome(payload) {
  const part = (unit, words, name) => finite(payload[`after_${unit}`]) === undefined ? "" :
    `${words} ${number(payload[`before_${unit}`], 2, name)} before, ${number(payload[`after_${unit}`], 2, name)} after`;
  const gravity = part("mg", "Gravity error", "mg") || part("deg_s", "Rotation at rest", "°/s");
  return `calibrated and stored. ${gravity || part("ut", "Hard iron off by", "µT")}`;
}

function permission(command) {
  return `To permit it, add ${command} to commands.allow in the board's configuration file and restart its agent.`;
}

/** A command that another card sends: what became of it stands in `status`, beside its button. */
export class Question {
  constructor(boardID, name, status) {
    Object.assign(this, { boardID, name, status });
  }

  async send(parameters) {
    this.say("Sent, waiting for the board.");
    this.timer = setTimeout(() => this.say("No answer for 10 s. The command may not have reached the board."), patience);
    try {
      await post("api/command", { board: this.boardID, name: this.name, arguments: parameters });
    } catch (error) {
      this.say(`Not sent: ${error.message}`);
    }
  }

  /** Takes an event of the server; returns the board's answer to the command, unless that refuses it. */
  take(event, data) {
    const { command, payload } = object(data);
    if (event !== "result" || command !== this.name) return undefined;
    const answer = object(payload);
    this.say(answer.ok === true ? "" : `Not done: ${answerWords(command, answer)}`);
    return answer.ok === true ? answer : undefined;
  }

  say(text) {
    clearTimeout(this.timer);
    setText(this.status, text);
  }
}

/** Buttons for the commands of a board, a guided calibration and a list of answers. */
export class CommandsPanel {
  constructor(root, context) {
    this.root = root;
    this.context = context;
    this.hello = object(context.hello);
    this.buttons = [];
    this.waiting = new Map();
    this.notice = element("p", { class: "notice", role: "status" });
    this.log = element("ol", { class: "answers", role: "log", "aria-live": "polite", "aria-label": "Answers of the board" });
    this.none = element("p", { class: "note", text: "No answers yet." });
    this.calibration = new Calibration();
    this.learning = new Learning((text, parameters, label) => this.button(text, "learn", parameters, label));
    root.replaceChildren(element("div", { class: "panel" }, element("h2", { text: "Commands" }), this.notice,
      element("div", { class: "command-list" }, this.identify(), this.simulate(), this.sensing(), this.calibrate(), this.learn(), this.restart(), this.forget()),
      element("h3", { text: "Answers" }), this.none, this.log));
    this.show();
  }

  /** Takes an event of the server. */
  handle(name, data) {
    if (name === "hello") this.hello = object(data);
    else if (name === "availability") this.online = object(data).online;
    else if (name === "reported") this.report(object(data));
    else if (name === "state") this.isStopped = object(data).stopped === true;
    else if (name === "result") this.result(clean(object(data).command), object(object(data).payload));
    else return;
    this.show();
  }

  report(data) {
    this.allowed = valueAt(data, "settings.commands.allow") ?? this.allowed;
    this.name = clean(valueAt(data, "settings.device.name"));
    const learned = learnedNames(data);
    if (learned.join() === this.known) return;
    this.known = learned.join();
    this.learned.replaceChildren(...learned.map((value) => element("option", { value, text: value })));
    if (learned.length > 0) this.movement.append(this.learned);
    else this.learned.remove();
    this.learning.list(learned);
    this.buttons = this.buttons.filter(({ button }) => !button || this.root.contains(button));
  }

  /** Ends timers. */
  close() {
    for (const timer of this.waiting.values()) clearTimeout(timer);
    clearTimeout(this.doubt);
    this.calibration.close();
    this.root.replaceChildren();
  }

  // MARK: Commands

  button(text, name, parameters, label) {
    const button = element("button", { type: "button", text, "aria-label": label, onclick: () => this.send(name, parameters()) });
    this.buttons.push({ button, name });
    return button;
  }

  card(name, title, text, ...children) {
    const hints = name.split(" ").map((one) => {
      const hint = element("p", { class: "note hint", hidden: true, text: permission(one) });
      this.buttons.push({ hint, name: one });
      return hint;
    });
    return element("section", { class: `command ${name}` }, element("h3", { text: title }), text && element("p", { class: "note", text }),
      element("div", { class: "row" }, children), hints);
  }

  identify() {
    return this.card("identify", "Identify", "Blinks a light of the board for 20 s.",
      this.button("Blink", "identify", () => ({ seconds: 20 })), this.button("Stop", "identify", () => ({ stop: true }), "Stop blinking"));
  }

  simulate() {
    const groups = Object.entries(movements).map(([label, names]) =>
      element("optgroup", { label }, names.map((value) => element("option", { value, text: value.replaceAll("-", " ") }))));
    this.learned = element("optgroup", { label: "Learned" });
    const movement = element("select", { "aria-label": "Movement" }, groups);
    this.movement = movement;
    movement.value = "shake";
    this.buttons.push({ button: movement, name: "simulate" });
    return this.card("simulate", "Simulate a movement", "Events carry “simulated”, and the board's actions run as for real ones.", movement,
      this.button("Simulate", "simulate", () => ({ movement: movement.value })),
      this.button("Stop", "simulate", () => ({ stop: true }), "Stop the simulation"));
  }

  sensing() {
    this.start = this.button("Start", "start", () => ({}), "Start sensing");
    this.stop = this.button("Stop", "stop", () => ({}), "Stop sensing");
    return this.card("start stop", "Sensing", "While it is stopped, the chip sleeps and there are no events.", this.start, this.stop);
  }

  calibrate() {
    const cancel = this.button("Cancel", "calibrate", () => ({ stop: true }), "Cancel the calibration");
    const card = this.card("calibrate", "Calibrate", "Somebody has to be at the board. Nothing changes before the last step.",
      this.button("Gyroscope", "calibrate", () => ({ what: "gyroscope" }), "Calibrate the gyroscope"),
      this.button("Accelerometer", "calibrate", () => ({ what: "accelerometer" }), "Calibrate the accelerometer"),
      this.button("Magnetometer", "calibrate", () => ({ what: "magnetometer" }), "Calibrate the magnetometer"), cancel);
    card.append(this.calibration.root);
    return card;
  }

  learn() {
    const card = this.card("learn", "Learn a gesture",
      "Somebody at the board shows it a few times: a circle, a knock of your own. Gestures and rules go on meanwhile.", this.learning.controls);
    card.append(this.learning.known, this.learning.lesson);
    this.buttons.push({ button: this.learning.name, name: "learn" });
    return card;
  }

  restart() {
    const button = this.button("Restart the agent", "restart", () => ({}));
    const sure = element("button", { type: "button", class: "danger", hidden: true, text: "Really restart?" });
    // Asked again in place: the board is away for a moment.
    const ask = (isAsking) => {
      // A question that nobody answers ends by itself. Who is elsewhere by then stays there.
      const isHere = isAsking || document.activeElement === sure;
      button.hidden = isAsking;
      sure.hidden = !isAsking;
      clearTimeout(this.doubt);
      if (isAsking) this.doubt = setTimeout(() => ask(false), 5000);
      if (isHere) (isAsking ? sure : button).focus();
    };
    button.addEventListener("click", (event) => {
      event.stopImmediatePropagation();
      ask(true);
    }, { capture: true });
    sure.addEventListener("click", () => {
      ask(false);
      this.send("restart", {});
    });
    return this.card("restart", "Restart", "Events that are not sent yet are kept.", button, sure);
  }

  /** Removes a board that is gone. The question names it, and what goes with it. */
  forget() {
    const id = clean(this.context.boardID);
    const goes = ["all that the broker keeps of it, with the fleet's layer for this board", "its entities in Home Assistant",
      "its history on this page, and its card"];
    this.forgetting = element("button", { type: "button", text: "Forget this board…", onclick: () => ask(true) });
    const keep = element("button", { type: "button", text: "Keep it", onclick: () => ask(false) });
    const sure = element("button", { type: "button", class: "danger", text: `Forget ${id}`, onclick: () => this.sendForget(sure) });
    const who = element("p");
    this.question = element("div", { role: "group", "aria-label": `Forget ${id}?`, hidden: true }, who,
      element("ul", {}, goes.map((text) => element("li", { text }))),
      element("p", { class: "note", text: "That cannot be undone. If its agent connects again, the board appears again." }),
      element("div", { class: "row" }, keep, sure));
    const ask = (isAsking) => {
      who.textContent = `Forget ${this.name && this.name !== id ? `${this.name} (${id})` : id}? This removes:`;
      this.question.hidden = !isAsking;
      this.forgetting.hidden = isAsking;
      (isAsking ? keep : this.forgetting).focus();
    };
    this.forgetNote = element("p", { class: "note hint", role: "status" });
    // The board has no say in it: it is no command.
    this.forgetCard = element("section", { class: "command forget" }, element("h3", { text: "Forget this board" }),
      element("p", { class: "note", text: "For a board that is gone for good." }), element("div", { class: "row" }, this.forgetting), this.question, this.forgetNote);
    return this.forgetCard;
  }

  async sendForget(button) {
    button.disabled = true;
    this.forgetNote.textContent = "Asking the broker …";
    const { boardID } = this.context;
    const answer = await post("api/forget", { board: boardID }).catch((error) => ({ ok: false, message: error.message }));
    button.disabled = false;
    if (answer.ok !== true) {
      this.forgetNote.textContent = clean(answer.message) || "The server's answer cannot be read.";
      return;
    }
    const groups = answer.groups === true ? ` Its groups in the fleet's registry stay: “jostle fleet forget ${clean(boardID)}” removes them.` : "";
    this.context.said = `${clean(boardID)} is forgotten: ${number(answer.removed)} ${answer.removed === 1 ? "message" : "messages"} removed from the broker.${groups}`;
    // Whoever has gone elsewhere meanwhile stays there.
    if (this.root.isConnected) this.context.open("?view=boards");
  }

  async send(name, parameters) {
    clearTimeout(this.waiting.get(name));
    this.waiting.set(name, setTimeout(() => this.answerMissing(name), patience));
    this.show();
    try {
      await post("api/command", { board: this.context.boardID, name, arguments: parameters });
    } catch (error) {
      this.settle(name);
      this.add(name, `not sent: ${error.message}`, "failed");
    }
    this.show();
  }

  answerMissing(name) {
    this.settle(name);
    this.add(name, "no answer for 10 s. The command may not have reached the board.", "failed");
    this.show();
  }

  settle(name) {
    clearTimeout(this.waiting.get(name));
    this.waiting.delete(name);
  }

  result(command, payload) {
    if (command === "" || Object.keys(payload).length === 0) return;
    this.settle(command);
    // Nobody pressed a button for it: the page asks for every sample again and again. A refusal stands below the curves.
    // The lines of a log and the runs of a machine stand in places of their own, and the gestures say what became of a label.
    if (["stream", "log", "recordings", "machine"].includes(command)) return;
    if (command === "calibrate") this.calibration.take(payload);
    if (command === "learn") this.learning.take(payload);
    // The lesson itself has its steps.
    if (payload.step && payload.done === false) return this.show();
    this.add(command, answerWords(command, payload), payload.ok === false ? "failed" : "good", payload.t);
  }

  add(command, text, kind, time) {
    const at = timeOfDay(isTime(time) ? time : Date.now());
    this.log.prepend(element("li", { class: kind }, element("time", { text: at }), " ",
      element("strong", { text: `${command}: ${kind === "failed" ? "not done" : "ok"}` }), ` – ${text}`));
    while (this.log.childElementCount > longestLog) this.log.lastElementChild.remove();
  }

  show() {
    const reason = hindrance(this.hello, this.online);
    if (this.notice.textContent !== reason) this.notice.textContent = reason;
    this.notice.hidden = reason === "";
    this.none.hidden = this.log.childElementCount > 0;
    for (const { button, hint, name } of this.buttons) {
      const isPermitted = permits(this.allowed, name);
      if (hint) hint.hidden = isPermitted || reason !== "";
      else {
        button.disabled = reason !== "" || !isPermitted || this.waiting.has(name);
        button.classList.toggle("waiting", this.waiting.has(name));
      }
    }
    const mayControl = this.hello.control === true;
    this.forgetCard.hidden = !mayControl;
    this.forgetting.disabled = this.online === true;
    if (this.online === true) {
      this.question.hidden = true;
      this.forgetting.hidden = false;
    }
    const stays = this.online === true ? "While it is online it cannot be forgotten: it would publish everything again." : "";
    if (this.forgetStays !== stays) this.forgetNote.textContent = this.forgetStays = stays;
    this.start.hidden = this.isStopped === false;
    this.stop.hidden = this.isStopped === true;
  }
}

/** The steps of a calibration: what to do next as a picture and in words, and how far it is. */
class Calibration {
  constructor() {
    this.title = element("p", { class: "calibration-title" });
    this.picture = element("div", { class: "picture" });
    this.progress = element("progress", { max: 1, value: 0, "aria-label": "Progress of the calibration" });
    this.advice = element("p", { class: "advice" });
    this.root = element("div", { class: "calibration", hidden: true }, this.picture,
      element("div", {}, this.title, this.progress, this.advice));
  }

  close() {
    clearInterval(this.timer);
  }

  take(payload) {
    const what = clean(payload.what);
    // A stop, or a refusal of another request, while none is shown.
    if (!what && this.root.hidden) return;
    if (payload.ok === false) {
      // A second request was refused: the first one goes on.
      if (payload.error !== "busy") this.finish("Ended", `${clean(payload.message) || "It failed; nothing was changed."}`, "failed");
    } else if (payload.done === true) this.finish(`The ${what} is calibrated`, outcome(payload), "good");
    else if (payload.stopped === true) this.finish("Cancelled", "Nothing was changed.", "");
    else if (finite(payload.pose)) this.pose(payload);
    else if (finite(payload.coverage) !== undefined) this.turn(payload);
    else if (finite(payload.seconds)) this.begin(what, payload);
    else this.say(this.title.textContent, clean(payload.advice), "warned");
  }

  begin(what, payload) {
    this.root.hidden = false;
    this.draw("");
    this.progress.hidden = false;
    this.progress.value = 0;
    clearInterval(this.timer);
    this.say(what === "gyroscope" ? "Keep it still" : "Lay the board down and let go", clean(payload.advice), "");
    if (what === "gyroscope") this.countDown(13);
  }

  /** Counts down the rest that the gyroscope needs. The board starts again if it is moved, which only it knows. */
  countDown(seconds) {
    const end = Date.now() + seconds * 1000;
    this.timer = setInterval(() => {
      const left = Math.max(0, (end - Date.now()) / 1000);
      this.progress.value = 1 - left / seconds;
      this.title.textContent = left > 0 ? `Keep it still: ${Math.ceil(left)} s` : "Keep it still: it was moved, so it takes longer";
    }, 500);
  }

  pose(payload) {
    this.root.hidden = false;
    this.progress.hidden = false;
    const [done, all] = [payload.pose, finite(payload.poses) ?? 8];
    this.progress.value = all > 0 ? Math.min(1, done / all) : 0;
    const side = /with ((?:[+-][xyz])+) up/.exec(clean(payload.advice))?.[1] ?? "";
    this.draw(side);
    this.say(`${done} of ${all} poses ${done === 1 ? "is" : "are"} good`, side ? `Now turn it: ${sideWords(side)}. Then let go until the next answer.` : clean(payload.advice), "good");
  }

  /** How far the turning is, and which side to turn up next. */
  turn({ coverage, advice }) {
    this.root.hidden = false;
    this.progress.hidden = false;
    this.progress.value = Math.min(1, Math.max(0, coverage));
    const text = clean(advice);
    const side = /with ([+-][xyz]) up/.exec(text)?.[1] ?? "";
    if (side) this.draw(side);
    this.say(`Turn it slowly: ${number(100 * coverage, 0, "%")} of all directions`, side ? `${text}: ${sideWords(side)}.` : text, "good");
  }

  finish(title, text, kind) {
    clearInterval(this.timer);
    this.root.hidden = false;
    this.progress.hidden = true;
    this.picture.replaceChildren();
    this.say(title, text, kind);
  }

  say(title, text, kind) {
    this.title.textContent = title;
    this.advice.textContent = text;
    this.root.className = `calibration ${kind}`;
  }

  draw(side) {
    this.picture.replaceChildren(boardPicture(side));
  }
}
