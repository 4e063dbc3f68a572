// One setting for several boards: the control that each board's page has, and for each board what became of it. Every board is
// asked as from its own page; only so many at a time.
import { BoardSetting, catalogue, Control, hindrance, reference, wireValue } from "./settings.js";
import { clean, count, element, follow, link, list, object, post, setText } from "./text.js";

/** The most boards that are waited for at the same time, and milliseconds for what the broker holds of them. */
const [atOnce, patience] = [20, 3000];
const boards = (number) => `${count(number)} ${number === 1 ? "board" : "boards"}`;
const isName = (text) => /^[A-Za-z0-9][\w-]{0,63}$/.test(text);

/** Works on all of a list, so many at a time. */
async function inTurn(all, work) {
  const waiting = [...all];
  const one = async () => {
    while (waiting.length > 0) await work(waiting.shift());
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** How high a layer of the fleet is at a board; a higher one wins. */
function height(layer, report) {
  if (layer === "all") return 0;
  return layer === "device" ? Infinity : 1 + list(report.groups).indexOf(layer.slice("group:".length));
}

/** A chosen board. */
class Member {
  /** Its last report, and whether that came after it was last asked for. */
  report = undefined;
  isFresh = false;
  /** The chosen setting; whether its turn is still to come, and whether it is among those for which the value was sent. */
  setting = undefined;
  isQueued = false;
  isAsked = false;

  constructor(id, name) {
    this.id = id;
    this.name = element("a", { href: link(id), text: name });
    this.text = element("span");
    this.root = element("li", {}, this.name, " ", this.text);
  }
}

/** The panel for several boards. */
export class BulkPanel {
  /**
   * `rows` are those of all boards, by their ids; `whole` says whether these are all boards that there are; `closed` is called
   * when somebody wants to go back.
   */
  constructor(root, context, ids, rows, whole, closed) {
    Object.assign(this, { root, context, rows, whole, closed, hello: object(context.hello), problem: "" });
    this.members = new Map(ids.map((id) => [id, new Member(id, rows.get(id).name)]));
    this.build();
    reference().then((known) => {
      this.known = known;
      this.control?.explain(known);
    });
    this.read();
  }

  get all() {
    return [...this.members.values()];
  }

  build() {
    this.title = element("h2", { id: "bulk-title", tabindex: "-1", text: `Set for ${boards(this.members.size)}` });
    this.notice = element("p", { class: "notice", role: "status" });
    this.choice = element("select", { id: "bulk-key", onchange: () => this.choose(this.choice.value) });
    this.place = element("div", { class: "general" });
    this.send = element("button", { type: "button", class: "primary", onclick: () => this.set() });
    this.reset = element("button", { type: "button", onclick: () => this.post(this.resettable(), { clears: true }),
      title: "Removes the value that was set at a page or over MQTT. That of the board's configuration file counts again, or else the default." });
    const back = element("button", { type: "button", class: "quiet", text: "Back to the list", onclick: () => this.close() });
    this.fleet = element("div", { class: "command", hidden: true });
    this.totals = element("p", { class: "totals", role: "status" });
    this.lines = element("ul", { class: "members" }, this.all.map(({ root }) => root));
    this.lines.addEventListener("click", (event) => {
      const name = event.target.closest("a");
      if (name) follow(event, this.context, name.getAttribute("href"));
    });
    this.content = element("div", {},
      element("p", { class: "row" }, element("label", { for: "bulk-key", text: "Setting" }), this.choice), this.place);
    this.root.replaceChildren(element("section", { class: "card panel bulk", "aria-labelledby": "bulk-title" },
      this.title, this.notice, this.content, element("div", { class: "row" }, this.send, this.reset, back), this.fleet, this.totals, this.lines));
  }

  /** Ends timers. */
  close() {
    this.turn = undefined;
    clearTimeout(this.saying);
    for (const { setting } of this.all) clearTimeout(setting?.timer);
    this.follow([]).catch(() => undefined);
    this.root.replaceChildren();
    this.closed();
  }

  // MARK: What boards report

  /** Takes an event of the server. */
  handle(name, data) {
    if (name === "report") this.take(object(data));
    // Another connection: the server does not know yet what this page wants. Or something of it was left out.
    else if (name === "hello" || name === "dropped") {
      this.hello = object(this.context.hello);
      this.read();
    } else if (name !== "boards" && name !== "removed") return;
    this.draw();
  }

  take({ board, report }) {
    const member = this.members.get(board);
    if (!member) return;
    member.isFresh = true;
    // A report without settings says nothing about them: the last one stays.
    if (object(report).settings !== undefined) {
      member.report = report;
      member.setting?.take(report);
      this.hasNews = true;
    }
    this.arrived?.();
  }

  follow(ids) {
    return post("api/follow", { viewer: this.hello.viewer, boards: ids });
  }

  /** Reads what all boards report, and hears from then on what changes. */
  async read() {
    const turn = (this.turn = {});
    this.isReading = true;
    this.problem = "";
    for (const member of this.all) member.isFresh = false;
    for (let start = 0; start < this.members.size; start += atOnce) {
      const part = this.all.slice(start, start + atOnce);
      const isComplete = new Promise((resolve) => {
        this.arrived = () => part.every(({ isFresh }) => isFresh) && resolve();
        setTimeout(resolve, patience);
      });
      const failure = await this.follow(part.map(({ id }) => id)).catch((error) => error);
      if (turn !== this.turn) return;
      if (failure instanceof Error) this.problem = `What the boards report cannot be read: ${failure.message}`;
      if (this.problem) break;
      await isComplete;
      if (turn !== this.turn) return;
    }
    this.isReading = false;
    this.draw();
  }

  // MARK: The setting

  /** Offers what the boards have to be set. */
  offer() {
    const groups = catalogue(this.all.map(({ report }) => report).filter(Boolean));
    const key = JSON.stringify(groups.map(([heading, fields]) => [heading, fields.map((field) => field.key)]));
    if (key === this.offered) return;
    this.offered = key;
    this.fields = new Map(groups.flatMap(([, fields]) => fields).map((field) => [field.key, field]));
    const { value } = this.choice;
    this.choice.replaceChildren(element("option", { value: "", text: "Choose a setting" }), ...groups.map(([label, fields]) =>
      element("optgroup", { label }, fields.map((field) => element("option", { value: field.key,
        text: field.label === label ? `${label}: on or off` : field.title ?? field.label })))));
    this.choice.value = this.fields.has(value) ? value : "";
    if (this.choice.value !== value) this.choose("");
  }

  choose(key) {
    this.field = this.fields.get(key);
    this.place.replaceChildren();
    this.control = this.field && new Control(this.field);
    for (const member of this.all) {
      clearTimeout(member.setting?.timer);
      member.setting = this.field && new BoardSetting(member.id, this.field, () => this.draw());
      member.isAsked = false;
      if (member.report) member.setting?.take(member.report);
    }
    if (this.control) {
      const { label, input, value, about, note } = this.control;
      this.place.append(element("div", { class: `setting ${this.field.kind}` }, label, element("span", { class: "input" }, input, value), about, note));
      input.addEventListener("input", () => {
        setText(note, "");
        this.draw();
      });
      this.control.explain(this.known ?? {});
      this.control.put(this.all.find((member) => !this.hindrance(member))?.setting.inForce ?? this.all.find(({ setting }) => setting.inForce !== undefined)?.setting.inForce);
    }
    this.draw();
  }

  /** Why a board is left out; empty if it is not. */
  hindrance({ id, report, setting }) {
    const row = this.rows.get(id);
    if (!row) return "it is not in the list any more";
    if (row.online === false) return "it is offline, and can be changed again as soon as it is back";
    if (!report) return this.isReading ? "its settings are being read" : "it has not reported its settings";
    if (!setting) return "";
    if (setting.inForce === undefined) return "it has no such setting";
    if (setting.layer) return `held by the fleet's layer ${clean(setting.layer)}, which sets ${setting.words}`;
    return setting.lock.replace(/^The board/, "it");
  }

  settable() {
    return this.all.filter((member) => this.field && !this.hindrance(member));
  }

  resettable() {
    return this.settable().filter(({ setting }) => setting.from === "local");
  }

  set() {
    const { value, problem } = this.control.read();
    setText(this.control.note, problem ?? "");
    if (problem) return undefined;
    const [others, same] = [[], []];
    for (const member of this.settable()) (member.setting.inForce === value ? same : others).push(member);
    // They have it already.
    for (const member of same) {
      member.isAsked = true;
      Object.assign(member.setting, { last: { value }, problem: "" });
    }
    return this.post(others, { value });
  }

  /** Sends a value to some boards, or takes it back, and waits for their answers. */
  async post(members, sent) {
    this.isBusy = true;
    for (const member of members) Object.assign(member, { isQueued: true, isAsked: true });
    this.draw();
    await inTurn(members, async (member) => {
      member.isQueued = false;
      // It may have gone offline meanwhile.
      if (this.hindrance(member)) member.isAsked = false;
      else await member.setting.post({ ...sent });
    });
    this.isBusy = false;
    this.draw();
  }

  // MARK: What is shown

  /** A word for what became of a board, and a sentence. */
  outcome(member) {
    const { setting } = member;
    if (member.isQueued) return ["waiting", "To be sent."];
    if (setting?.sent) return ["waiting", setting.note];
    const { last, problem, refusal } = member.isAsked ? setting : {};
    const inForce = setting && `In force: ${setting.words} (${setting.origin}).`;
    if (problem) return [problem.startsWith("Not sent") ? "not sent" : "not answered", `${problem} ${inForce}`];
    if (last && (last.clears ? setting.from !== "local" : setting.inForce === last.value)) {
      return ["in force", setting.note && setting.note !== refusal ? `${inForce} ${setting.note}` : inForce];
    }
    if (last && refusal) return ["refused", `${refusal} ${inForce}`];
    const hindrance = this.hindrance(member);
    // What was in force may be so no more: a layer of the fleet came.
    const word = last ? "not in force" : "left out";
    if (hindrance) return [word, `${word[0].toUpperCase()}${word.slice(1)}: ${hindrance}${hindrance.endsWith(".") ? "" : "."}`];
    return ["", inForce ?? "Its settings are known."];
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      if (this.turn) this.drawNow();
    });
  }

  drawNow() {
    // Many reports arrive together.
    if (this.hasNews) this.offer();
    this.hasNews = false;
    const reason = hindrance(this.hello) || this.problem || (this.isReading ? "The boards' settings are being read …" : "");
    setText(this.notice, reason);
    this.notice.hidden = reason === "";
    const isLocked = hindrance(this.hello) !== "" || this.isBusy === true;
    this.choice.disabled = isLocked;
    const counts = {};
    for (const member of this.all) {
      const [word, text] = this.outcome(member);
      counts[word] = (counts[word] ?? 0) + 1;
      setText(member.name, this.rows.get(member.id)?.name ?? clean(member.id));
      setText(member.text, text);
      member.root.className = `is-${word.replaceAll(" ", "-")}`;
    }
    const [settable, resettable] = [this.settable().length, this.resettable().length];
    setText(this.send, this.field ? `Set for ${boards(settable)}` : "Set");
    setText(this.reset, `Back to default for ${boards(resettable)}`);
    this.send.disabled = isLocked || settable === 0;
    this.reset.disabled = isLocked || resettable === 0;
    this.reset.hidden = !this.field || resettable === 0 && !this.isBusy;
    if (this.control) this.control.input.disabled = isLocked;
    this.drawFleet();
    this.say(counts);
  }

  /** A live region is read aloud, so it changes only once in a while. */
  say(counts) {
    const words = ["in force", "waiting", "refused", "not answered", "not sent", "not in force", "left out"];
    const parts = words.filter((word) => counts[word] > 0).map((word) => `${count(counts[word])} ${word}`);
    this.summary = this.field ? parts.join(", ") : "";
    this.saying ??= setTimeout(() => {
      this.saying = undefined;
      setText(this.totals, this.summary);
    }, 400);
  }

  // MARK: The fleet

  /** The layers that are for exactly these boards, lowest first, with the option of the command. */
  layers() {
    const ids = [...this.members.keys()];
    const others = [...this.rows.values()].filter(({ id }) => !this.members.has(id));
    const names = list(this.all.find(({ report }) => report)?.report.groups).filter((name) => isName(name)
      && ids.every((id) => this.rows.get(id)?.groups.includes(name)) && !others.some(({ groups }) => groups.includes(name)));
    const layers = names.map((name) => [`group:${name}`, `--group ${name}`]);
    if (this.whole() && others.length === 0) layers.unshift(["all", "--all"]);
    if (ids.length === 1 && isName(ids[0])) layers.push(["device", `--device ${ids[0]}`]);
    return layers;
  }

  /** The command with which the fleet sets the same: its layers are above what is set here, and may be signed. */
  drawFleet() {
    const reported = this.all.filter(({ report }) => report);
    const isFleet = reported.some(({ report }) => Object.values(object(report.layers)).some((layer) => !["none", undefined].includes(object(layer).status)));
    const held = this.all.filter(({ setting }) => setting?.layer);
    const { value } = this.control?.read() ?? {};
    const layers = isFleet && value !== undefined ? this.layers() : [];
    const isAbove = ([name]) => ({ setting, report }) => height(setting.layer, report) > height(name, report);
    const chosen = layers.find((layer) => !held.some(isAbove(layer))) ?? layers.at(-1);
    const above = chosen ? held.filter(isAbove(chosen)) : [];
    const sent = chosen && wireValue(this.field, value);
    const assignment = chosen && `${this.field.key}=${Array.isArray(sent) ? `[${sent.join(",")}]` : sent}`;
    const command = chosen ? `jostle fleet set ${chosen[1]} ${/^[\w.=-]+$/.test(assignment) ? assignment : `'${assignment}'`}` : "";
    const names = above.slice(0, 5).map(({ id, setting }) => `${clean(id)} (${clean(setting.layer)})`).join(", ");
    const text = command ? `The fleet's layer ${chosen[0]} is for exactly ${this.members.size === 1 ? "this board" : "these boards"}, and is above what is set here. ` +
      `To set it there, on a machine with the fleet's key if its layers are signed (--sign-key):` : "";
    const rest = above.length > 0 ? `A higher layer holds it all the same on ${names}${above.length > 5 ? ` and ${count(above.length - 5)} more` : ""}.`
      : held.length > 0 && !command ? "What the fleet holds is changed with “jostle fleet”." : "";
    const key = JSON.stringify([text, command, rest]);
    if (key === this.fleetKey) return;
    this.fleetKey = key;
    this.fleet.hidden = !text && !rest;
    const code = element("code", { text: command });
    const copied = element("span", { class: "note", role: "status" });
    const copy = async () => {
      const isCopied = await navigator.clipboard?.writeText(command).then(() => true, () => false);
      if (!isCopied) getSelection().selectAllChildren(code);
      setText(copied, isCopied ? "Copied." : "Selected: copy it with the keyboard.");
    };
    this.fleet.replaceChildren(...[
      text && element("p", { class: "hint", text }),
      text && element("div", { class: "row" }, code, element("button", { type: "button", text: "Copy", "aria-label": "Copy the command", onclick: copy }), copied),
      rest && element("p", { class: "hint", text: rest })].filter(Boolean));
  }
}
