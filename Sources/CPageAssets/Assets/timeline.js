// What happened to a board: a picture over time, and the same as a table at the cursor.
import { gestureOf, reasonText, remarks } from "./gestures.js";
import { drawLine, isInSight, observeSight, palette, prepare } from "./plots.js";
import { clean, count, dayAndTime, element, finite, isTime, list, number, object, parse, setText, timeOfDay } from "./text.js";

const [second, minute, hour, day] = [1000, 60000, 3600000, 86400000];
const spans = [["10 min", 10 * minute], ["1 h", hour], ["6 h", 6 * hour], ["24 h", day], ["7 d", 7 * day], ["30 d", 30 * day]];
const [shortest, longest] = [10 * second, 366 * day];
const steps = [
  second, 2 * second, 5 * second, 10 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour,
  3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day,
];
/** Sizes in the picture, CSS pixels. */
const [gutter, edge, bar, curve, axis] = [78, 10, 20, 46, 22];
/** The most parts of an answer that are asked for, tracks of gestures, and rows of the table before and after the cursor. */
const [mostParts, mostGestures, mostRows] = [10, 10, 40];
/** Milliseconds between two questions while the newest is shown. */
const renewal = 30000;

const dateWords = (time) => new Date(time).toLocaleDateString("en", { day: "numeric", month: "short" });

/** What is known of a board from some time on, in words: what differs from what was known before, or all of it. */
function changes(now, before) {
  const differs = (name) => now[name] !== undefined && now[name] !== before?.[name];
  const isOn = (name, on, off) => differs(name) && (now[name] === true ? on : off);
  const names = (condition) => list(condition?.problems).slice(0, 10).map((one) => clean(one).replaceAll("_", " "));
  const [problems, old] = [names(now), names(before)];
  return [
    isOn("online", "online", "offline"), isOn("moving", "moving", "still"), isOn("vibrating", "vibrating", "not vibrating"),
    (now.stopped === true) !== (before?.stopped === true) && (now.stopped ? "sensing is stopped" : "sensing runs"),
    differs("side") && `${clean(now.side).slice(0, 8)} is up`,
    ...problems.filter((one) => !old.includes(one)).map((one) => `problem: ${one}`),
    ...old.filter((one) => !problems.includes(one)).map((one) => `no problem any more: ${one}`),
  ].filter(Boolean);
}

/** The rows of an answer, read: what to draw, and what to list. */
class Story {
  entries = [];
  events = new Map();
  levels = [];
  /** Times in which something was so: `from`, `to`, and a text. */
  spans = { unrecorded: [], offline: [], problems: [], moving: [], vibrating: [] };
  #open = {};
  #condition;

  constructor(rows, end, cancellations) {
    this.cancellations = cancellations;
    for (const row of rows.map(object)) if (isTime(row.t)) this.#take(row);
    for (const name of Object.keys(this.#open)) this.#close(name, end);
    this.entries.sort((one, other) => one.t - other.t);
    this.levels.sort((one, other) => one.t - other.t);
  }

  #take({ t, kind, data }) {
    if (kind === "gesture") this.#event(t, object(data));
    else if (kind === "board") this.#board(t, object(data));
    else if (kind === "levels") this.#level(t, list(data));
    else if (kind === "recording") {
      this.#set("unrecorded", data === false, t);
      // What comes after a gap was not seen to begin.
      if (data === false) this.levels.push({ t });
      this.entries.push({ t, what: data === false ? "not recorded from here on" : "recorded from here on", details: "", tags: [] });
    }
  }

  #event(t, event) {
    const gesture = clean(gestureOf(event)).slice(0, 40) || "?";
    const details = [reasonText(event, this.cancellations), remarks(event)].filter(Boolean).join(", ");
    const tags = [event.simulated === true && "simulated", event.delayed === true && "delayed", event.clock === "unset" && "clock unset"];
    this.entries.push({ t, what: `${gesture} ${clean(event.phase).slice(0, 30)}`, details, tags: tags.filter(Boolean) });
    const known = this.events.get(gesture) ?? [];
    const isEnd = event.phase === "ended" || event.phase === "cancelled";
    const begun = isEnd && known.at(-1)?.phase === "began" ? known.pop() : undefined;
    const from = begun?.from ?? t - (isEnd ? 1000 * Math.max(0, finite(event.duration) ?? 0) : 0);
    known.push({ from, to: t, phase: event.phase, isSimulated: event.simulated === true });
    this.events.set(gesture, known);
  }

  #board(t, condition) {
    const isFound = condition.found === true;
    const what = changes(condition, this.#condition);
    if (what.length > 0) {
      const tags = [condition.simulated === true && "virtual sensor", isFound && "found so"].filter(Boolean);
      this.entries.push({ t, what: what.join(", "), details: "", tags });
    }
    this.#condition = condition;
    const isHeard = condition.online !== false;
    this.#set("offline", condition.online === false, t);
    this.#set("moving", isHeard && condition.moving === true, t);
    this.#set("vibrating", isHeard && condition.vibrating === true, t);
    this.#set("problems", isHeard && list(condition.problems).length > 0, t);
    if (!isHeard || condition.stopped === true) this.levels.push({ t });
  }

  #level(t, values) {
    let time = t;
    for (let at = 0; at + 1 < values.length; at += 3) {
      if (at > 0) time += minute * (finite(values[at - 1]) ?? 0);
      this.levels.push({ t: time, vibration: values[at] === null ? undefined : finite(values[at]) / 1000, tilt: finite(values[at + 1]) });
    }
  }

  #set(name, is, t) {
    if (is) this.#open[name] ??= t;
    else this.#close(name, t);
  }

  #close(name, t) {
    if (this.#open[name] !== undefined) this.spans[name].push({ from: this.#open[name], to: t });
    delete this.#open[name];
  }

  /** How it was at a time, in words. */
  at(t) {
    const isIn = (name) => this.spans[name].some(({ from, to }) => from <= t && t < to);
    if (isIn("unrecorded")) return "nothing was recorded";
    if (isIn("offline")) return "offline";
    const level = this.levels.findLast((one) => one.t <= t);
    return [
      isIn("moving") && "moving", isIn("vibrating") && "vibrating", isIn("problems") && "with a problem",
      finite(level?.vibration) !== undefined && `vibration ${number(level.vibration, 2, "m/s²")}`,
      finite(level?.tilt) !== undefined && `tilt ${number(level.tilt, 0, "°")}`,
    ].filter(Boolean).join(", ") || "at rest, or not known";
  }
}

/** The content of the card. */
export class Timeline {
  #span = day;
  /** The end of what is shown; `undefined` while that is the present. */
  #end;
  #cursor;
  #story = new Story([], 0, {});
  /** What was asked for, for which span, and until when that was answered. */
  #loaded = { from: 0, to: 0, end: 0, span: 0 };
  #askedAt = 0;

  constructor(root, context) {
    Object.assign(this, { root, context });
    const button = (text, label, onclick) => element("button", { type: "button", "aria-label": label, title: label, onclick }, text);
    this.choice = element("select", { "aria-label": "Shown time", onchange: () => this.#zoom(Number(this.choice.value) / this.#span, 1) },
      element("option", { value: "", hidden: true, text: "zoomed" }), spans.map(([text, value]) => element("option", { value, text })));
    this.date = element("input", {
      type: "text", size: 15, placeholder: "03:12", "aria-label": "Go to a time, such as 03:12 or 2026-11-28 03:12", onchange: () => this.#goTo(this.date.value),
    });
    root.append(element("div", { class: "tools" }, this.choice,
      button("−", "Show more time", () => this.#zoom(2)), button("+", "Show less time", () => this.#zoom(0.5)),
      button("◀", "Earlier", () => this.#move(-0.5)), button("▶", "Later", () => this.#move(0.5)),
      button("Now", "Back to the present", () => this.#follow()), this.date));
    this.problem = element("p", { class: "alert", hidden: true });
    this.canvas = element("canvas", { role: "img", "aria-label": "History" });
    this.slider = element("input", { type: "range", min: 0, max: 1000, "aria-label": "Time of the cursor", oninput: () => this.#slide() });
    this.status = element("p", { class: "at-cursor", role: "status" });
    this.body = element("tbody");
    const head = element("tr", {}, ["Time", "What", "Details"].map((text) => element("th", { scope: "col", text })));
    this.box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What happened around the cursor" },
      element("table", {}, element("thead", {}, head), this.body));
    this.note = element("p", { class: "muted" });
    root.append(this.problem, element("figure", {}, this.canvas, this.slider), this.status, this.box, this.note);
    observeSight(this.canvas);
    this.#listen();
    this.timer = setInterval(() => this.#tick(), 1000);
    this.#changed();
  }

  // MARK: What is shown

  get #to() {
    return this.#end ?? this.context.connection.serverNow();
  }

  get #from() {
    return this.#to - this.#span;
  }

  /** Zooms around the cursor, or around a share of the picture. */
  #zoom(factor, share) {
    const [from, span] = [this.#from, this.#span];
    const at = this.#cursor >= from && this.#cursor <= from + span ? (this.#cursor - from) / span : this.#end === undefined ? 1 : 0.5;
    const part = share ?? at;
    this.#span = Math.min(longest, Math.max(shortest, span * factor));
    this.#show(from + part * span + (1 - part) * this.#span);
  }

  #move(share) {
    this.#show(this.#to + share * this.#span);
  }

  /** Shows the time until `end`. What is later than the present is the present. */
  #show(end) {
    this.#end = end >= this.context.connection.serverNow() - 0.01 * this.#span ? undefined : end;
    this.#changed();
  }

  #follow() {
    [this.#end, this.#cursor] = [undefined, undefined];
    this.#askedAt = 0;
    this.#changed();
  }

  /** Goes to a time of a day, or to the last one with that time. */
  #goTo(text) {
    const [, date, clock] = /^\s*(?:(\d{4}-\d\d-\d\d)[ T]+)?(\d?\d:\d\d(?::\d\d)?)\s*$/.exec(text) ?? [];
    const now = this.context.connection.serverNow();
    const on = (time) => new Date(time).toLocaleDateString("sv");
    const at = (day) => new Date(`${day}T${clock?.padStart(clock.length > 5 ? 8 : 5, "0")}`).getTime();
    const time = date || at(on(now)) <= now ? at(date ?? on(now)) : at(on(now - day));
    if (!isTime(time)) return this.#say(text && "Go to a time such as 03:12 or 2026-11-28 03:12.");
    this.#say("");
    this.#cursor = time;
    this.#span = Math.min(this.#span, hour);
    this.#show(time + this.#span / 2);
  }

  #slide() {
    this.#setCursor(this.#from + (this.slider.value / 1000) * this.#span);
  }

  #setCursor(time) {
    // What is under the cursor must not move away from it.
    this.#end ??= this.#to;
    this.#cursor = time;
    this.#changed();
  }

  /** Draws soon, and asks for what is missing. */
  #changed() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.#draw();
    });
    clearTimeout(this.wait);
    const { from, to, end, span } = this.#loaded;
    // Less time has room for what was too much.
    const isCut = end < Math.min(to, this.#to) && (end < this.#from || this.#span < 0.7 * span);
    if (this.#from < from || this.#to > to + renewal || isCut) this.wait = setTimeout(() => this.#load(isCut ? 0 : 0.5), 250);
  }

  #tick() {
    if (!this.root.isConnected) return clearInterval(this.timer);
    if (document.hidden || !isInSight(this.canvas)) return;
    // Also for the size of the window and the colours, which may have changed.
    if (this.#end === undefined && performance.now() - this.#askedAt > renewal) this.#load();
    else this.#changed();
  }

  // MARK: The server

  /** Asks for what is shown, and a share of that before and after it. */
  async #load(margin = 0.5) {
    this.#askedAt = performance.now();
    this.question?.abort();
    const question = new AbortController();
    this.question = question;
    const patience = setTimeout(() => question.abort("slow"), 20000);
    const now = this.context.connection.serverNow();
    const [from, to] = [this.#from - margin * this.#span, Math.min(now + second, this.#to + margin * this.#span)].map(Math.round);
    // Also if there is no answer: it is asked for again when something else is to be shown, or is due.
    this.#loaded = { from, to: Math.max(to, now), end: to, span: this.#span };
    try {
      const { rows, end, problem } = await this.#ask(Math.max(0, from), to, question.signal);
      this.#story = new Story(rows, Math.min(end, now), object(this.context.hello.cancellations));
      this.#loaded.end = end;
      this.#say(problem);
      setText(this.note, end < to ? `Too much happened for one picture: nothing is drawn after ${dayAndTime(end, now)}. Show less time.` : "");
    } catch (error) {
      if (question.signal.reason === "slow") this.#say("The history does not answer: the disk of the page's server may be slow.");
      else if (!question.signal.aborted) this.#say(error.message);
    }
    clearTimeout(patience);
    if (question === this.question) this.#changed();
  }

  /** All parts of an answer. */
  async #ask(from, to, signal) {
    const rows = [];
    let [next, problem] = [from, ""];
    for (let part = 0; part < mostParts; part += 1) {
      const query = new URLSearchParams({ board: this.context.boardID, from: next, to });
      const response = await fetch(`api/history?${query}`, { credentials: "same-origin", cache: "no-store", signal });
      const answer = object(parse(await response.text()));
      if (!response.ok) throw new Error(clean(answer.message) || `The server answered with status ${response.status}.`);
      // Each part begins with how it was before.
      for (const row of list(answer.rows)) if (part === 0 || object(row).t >= next) rows.push(row);
      problem = answer.problem;
      if (answer.more !== true || !(answer.next > next)) return { rows: rows.sort((one, other) => one.t - other.t), end: to, problem };
      next = answer.next;
    }
    return { rows: rows.sort((one, other) => one.t - other.t), end: next, problem };
  }

  #say(problem) {
    setText(this.problem, problem ? clean(problem) : "");
    this.problem.hidden = !problem;
  }

  // MARK: Input

  #listen() {
    const { canvas } = this;
    const timeAt = (event) => this.#from + Math.max(0, Math.min(1, (event.offsetX - gutter) / this.#width)) * this.#span;
    let [start, hasMoved, isHeld] = [undefined, false, false];
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      [start, hasMoved, isHeld] = [{ x: event.offsetX, end: this.#to }, false, true];
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!start || (!hasMoved && Math.abs(event.offsetX - start.x) < 5)) return;
      hasMoved = true;
      this.#show(start.end - ((event.offsetX - start.x) / this.#width) * this.#span);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (start && !hasMoved) this.#setCursor(timeAt(event));
      start = undefined;
    });
    canvas.addEventListener("pointercancel", () => (start = undefined));
    canvas.addEventListener("pointerleave", () => (isHeld = false));
    // Who scrolls the page over the picture does not mean the picture.
    canvas.addEventListener("wheel", (event) => {
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!isSideways && !event.ctrlKey && !isHeld) return;
      event.preventDefault();
      if (isSideways) this.#move((event.deltaX || event.deltaY) / 1000);
      else this.#zoom(1.2 ** Math.sign(event.deltaY), (timeAt(event) - this.#from) / this.#span);
    }, { passive: false });
    this.slider.addEventListener("keydown", ({ key }) => {
      if (key === "+" || key === "=") this.#zoom(0.5);
      else if (key === "-") this.#zoom(2);
    });
  }

  // MARK: The picture

  get #width() {
    return Math.max(1, this.canvas.clientWidth - gutter - edge);
  }

  /** What stands one below the other: names, heights, and how to draw each. */
  #tracks(colors) {
    const { spans: known, events, levels } = this.#story;
    const bars = (name, color) => ({ title: name, height: bar, draw: (...place) => this.#drawSpans(known[name], color, ...place) });
    const line = (title, name, unit, least, color) =>
      ({ title, height: curve, draw: (...place) => this.#drawLevel(levels, name, unit, least, color, ...place) });
    const gestures = [...events].slice(0, mostGestures).sort(([one], [other]) => (one < other ? -1 : 1));
    return [
      ...gestures.map(([title, list]) => ({ title, height: bar, draw: (...place) => this.#drawEvents(list, colors, ...place) })),
      bars("moving", colors.axes[2]), bars("vibrating", colors.axes[1]), bars("problems", colors.warn), bars("offline", colors.bad),
      line("level", "vibration", "m/s²", 0.1, colors.axes[1]), line("tilt angle", "tilt", "°", 10, colors.axes[2]),
    ];
  }

  #draw() {
    if (this.canvas.clientWidth < 150) return;
    const colors = palette();
    const tracks = this.#tracks(colors);
    const height = tracks.reduce((sum, track) => sum + track.height, 0);
    this.canvas.style.height = `${height + axis}px`;
    const { pen } = prepare(this.canvas);
    const [from, to] = [this.#from, this.#to];
    const toX = (time) => gutter + ((Math.max(from, Math.min(to, time)) - from) / (to - from)) * this.#width;
    this.#drawTimes(pen, colors, toX, height);
    let y = 0;
    for (const track of tracks) {
      Object.assign(pen, { fillStyle: colors.text, font: colors.font, textAlign: "right", textBaseline: "middle" });
      const title = track.title.length > 11 ? `${track.title.slice(0, 10)}…` : track.title;
      pen.fillText(title, gutter - 8, y + Math.min(track.height, 28) / 2, gutter - 10);
      drawLine(pen, colors.grid, gutter, y + track.height - 0.5, gutter + this.#width, y + track.height - 0.5);
      pen.save();
      pen.beginPath();
      pen.rect(gutter, y, this.#width, track.height);
      pen.clip();
      const most = track.draw(pen, toX, y, track.height);
      pen.restore();
      if (most) pen.fillText(most, gutter - 8, y + 30, gutter - 10);
      y += track.height;
    }
    for (const { from: start, to: end } of this.#inView(this.#story.spans.unrecorded)) this.#hatch(pen, colors, toX(start), toX(end), height);
    this.#drawCursor(pen, colors, toX, height);
    this.#describe();
  }

  #inView(spans) {
    const [from, to] = [this.#from, this.#to];
    return spans.filter((one) => one.to >= from && one.from <= to);
  }

  #drawTimes(pen, colors, toX, height) {
    const [from, to] = [this.#from, this.#to];
    const step = steps.find((one) => (one / this.#span) * this.#width >= 62) ?? steps.at(-1);
    // Marks at full hours and days of the local time.
    const shift = new Date(from).getTimezoneOffset() * minute;
    Object.assign(pen, { fillStyle: colors.text, font: colors.font, textAlign: "center", textBaseline: "alphabetic", lineWidth: 1 });
    for (let time = Math.ceil((from - shift) / step) * step + shift; time <= to; time += step) {
      const x = Math.round(toX(time)) + 0.5;
      drawLine(pen, colors.grid, x, 0, x, height);
      const clock = timeOfDay(time);
      const text = step >= day || (step >= hour && clock === "00:00:00") ? dateWords(time) : step >= minute ? clock.slice(0, 5) : clock;
      if (x > gutter + 10 && x < gutter + this.#width - 14) pen.fillText(text, x, height + 15);
    }
  }

  #drawSpans(spans, color, pen, toX, y, height) {
    pen.fillStyle = color;
    for (const { from, to } of this.#inView(spans)) pen.fillRect(toX(from), y + 5, Math.max(1.5, toX(to) - toX(from)), height - 10);
  }

  /** A shape for each phase, because colour alone does not reach everybody; what was simulated is hollow. */
  #drawEvents(events, colors, pen, toX, y, height) {
    const middle = y + height / 2;
    for (const { from, to, phase, isSimulated } of this.#inView(events)) {
      const [left, right] = [toX(from), toX(to)];
      const isCancelled = phase === "cancelled";
      const color = isCancelled ? colors.bad : colors.axes[2];
      Object.assign(pen, { strokeStyle: color, fillStyle: color, lineWidth: 1.5 });
      pen.beginPath();
      if (phase === "began") {
        pen.moveTo(left - 3, middle - 5);
        pen.lineTo(left + 4, middle);
        pen.lineTo(left - 3, middle + 5);
        pen.closePath();
      } else if (isCancelled) {
        pen.moveTo(right - 4, middle - 4);
        pen.lineTo(right + 4, middle + 4);
        pen.moveTo(right + 4, middle - 4);
        pen.lineTo(right - 4, middle + 4);
      } else if (phase === "ended") pen.rect(Math.min(left, right - 3), y + 6, Math.max(3, right - left), height - 12);
      else pen.arc(right, middle, 3.5, 0, 2 * Math.PI);
      if (isCancelled || isSimulated) pen.stroke();
      else pen.fill();
    }
  }

  /** A curve in steps: each level holds until the next one. Returns what the top of the scale is. */
  #drawLevel(levels, name, unit, least, color, pen, toX, y, height) {
    const [from, to] = [this.#from, this.#to];
    const first = Math.max(0, levels.findLastIndex((one) => one.t <= from));
    const shown = levels.slice(first).filter((one) => one.t <= to);
    const most = shown.reduce((high, one) => Math.max(high, finite(one[name]) ?? 0), least);
    const toY = (value) => y + height - 4 - (value / most) * (height - 10);
    Object.assign(pen, { strokeStyle: color, lineWidth: 1.5, lineJoin: "bevel" });
    pen.beginPath();
    let last;
    for (const one of [...shown, { t: Math.min(to, this.#loaded.end) }]) {
      const x = toX(one.t);
      const wasKnown = last !== undefined;
      if (wasKnown) pen.lineTo(x, toY(last));
      last = finite(one[name]);
      if (last === undefined) continue;
      if (wasKnown) pen.lineTo(x, toY(last));
      else pen.moveTo(x, toY(last));
    }
    pen.stroke();
    return `≤ ${number(most, most < 1 ? 2 : most < 10 ? 1 : 0, unit)}`;
  }

  /** Nothing is known of a time. */
  #hatch(pen, colors, left, right, height) {
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, Math.max(1, right - left), height);
    pen.clip();
    pen.lineWidth = 1;
    for (let x = left - (left % 8) - height; x < right; x += 8) drawLine(pen, colors.border, x, height, x + height, 0);
    pen.restore();
  }

  #drawCursor(pen, colors, toX, height) {
    const [from, to] = [this.#from, this.#to];
    const cursor = this.#cursor ?? to;
    this.slider.value = Math.round((1000 * (Math.min(to, Math.max(from, cursor)) - from)) / this.#span);
    if (cursor < from || cursor > to) return;
    pen.lineWidth = 1.5;
    drawLine(pen, colors.text, toX(cursor), 0, toX(cursor), height);
  }

  // MARK: The table

  #describe() {
    const now = this.context.connection.serverNow();
    const [from, to] = [this.#from, this.#to];
    const cursor = this.#cursor ?? to;
    const { entries } = this.#story;
    const words = (time) => dayAndTime(time, now);
    const isPreset = spans.some(([, value]) => value === this.#span);
    this.choice.value = isPreset ? this.#span : "";
    const inView = entries.filter(({ t }) => t >= from && t <= to).length;
    this.canvas.setAttribute("aria-label", `History from ${words(from)} to ${words(to)}: ${count(inView)} entries, listed in the table`);
    this.slider.setAttribute("aria-valuetext", words(cursor));
    const until = this.#end === undefined ? "Until now" : `Until ${words(to)}`;
    setText(this.status, this.#cursor === undefined ? `${until}: ${count(inView)} entries.` : `${words(cursor)}: ${this.#story.at(cursor)}.`);
    const next = entries.findIndex(({ t }) => t > cursor);
    const at = (next < 0 ? entries.length : next) - 1;
    const start = Math.max(0, at - mostRows);
    const rows = entries.slice(start, at + 1 + mostRows);
    if (this.listed?.at === at && this.listed.story === this.#story) return;
    this.listed = { at, story: this.#story };
    const none = element("tr", {}, element("td", { colspan: 3, class: "muted", text: "Nothing is recorded of this time." }));
    this.body.replaceChildren(...rows.map((entry, index) => this.#row(entry, start + index === at, words)), ...(rows.length > 0 ? [] : [none]));
    const current = this.body.children[at - start];
    if (current) this.box.scrollTop = current.offsetTop - this.box.clientHeight / 2;
  }

  #row({ t, what, details, tags }, isCurrent, words) {
    const texts = [details, ...tags.flatMap((text) => [" ", element("span", { class: "tag", text })])];
    return element("tr", { class: isCurrent && "current", "aria-current": isCurrent && "true" },
      element("th", { scope: "row" }, element("time", { text: words(t) })), element("td", { text: what }), element("td", {}, texts));
  }
}
