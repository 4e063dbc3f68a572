// The table of all boards, and the rollouts of a fleet. A thousand rows stay quick because each row is kept, only cells whose
// text changed are touched, and rows out of sight are not laid out (content-visibility, which real table rows do not support).
// They are so by the dozen: to find out for each of a thousand rows whether it is in sight takes longer than a frame.
import { element, list, object, clean, number, count as grouped, ago, timeOfDay, finite, follow, isShortcut, isTime, link, setText } from "./text.js";

const problemWords = {
  sensor: "the sensor does not measure", chip: "the sensor is another chip than configured", sensor_scale: "the accelerometer does not measure gravity", clock: "its time may be wrong", outbox: "the outbox lost events or is blocked",
  storage: "a file could not be written", duplicate_id: "another device uses its id", upgrade: "an upgrade failed",
  mqtt: "the broker refuses messages",
};
const configWords = {
  applied: "applied", pending: "pending", missing: "missing at the broker", stale: "older than accepted",
  conflict: "conflict", rejected: "rejected", rolled_back: "rolled back", none: "none",
};
const configOrder = ["rejected", "rolled_back", "conflict", "stale", "missing", "pending", "applied", "none"];
const badConfigs = new Set(["rejected", "rolled_back", "conflict"]);
/** Divisible by the number of cards that narrow windows have side by side. */
const dozen = 12;
/** The most boards that are set at once; the server has the same limit. */
const mostSelected = 500;
const counted = (value, one, many) => `${grouped(value)} ${value === 1 ? one : many}`;
const words = (value) => list(value).filter((item) => typeof item === "string").map(clean);
const texts = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Columns: heading, text of a cell, value to sort by (absent values last). */
const columns = [
  { key: "status", title: "Status", text: statusText, sort: rank },
  { key: "name", title: "Board", sort: (row) => row.name },
  { key: "groups", title: "Groups", text: (row) => row.groups.join(", "), sort: (row) => row.groups.join(", ") },
  { key: "config", title: "Configuration", text: configText, sort: (row) => configRank(row.config) },
  { key: "doing", title: "Now", text: doingText, sort: doingText },
  { key: "last", title: "Last event", text: lastText, sort: (row) => (row.last.time === undefined ? undefined : -row.last.time) },
  { key: "rate", title: "Rate", text: (row) => (row.rate === undefined ? "" : number(row.rate, 1, "Hz")), sort: (row) => row.rate },
  { key: "version", title: "Version", text: (row) => row.version, sort: (row) => row.version },
  { key: "outbox", title: "Outbox", text: outboxText, sort: (row) => (row.outbox === undefined ? undefined : -row.outbox) },
];

/** Reads a row of the server; whatever is missing or of a wrong type is left out. */
function readRow(data) {
  const last = object(data.last);
  const problems = words(data.problems);
  const config = clean(data.config) || "none";
  const row = {
    id: data.id, name: clean(data.name) || clean(data.id), online: typeof data.online === "boolean" ? data.online : undefined,
    problems, groups: words(data.groups), config, detail: clean(data.config_detail),
    last: {
      gesture: clean(last.gesture), phase: clean(last.phase), remarks: clean(last.remarks),
      time: isTime(last.t) ? last.t : undefined,
    },
    rate: finite(data.rate), version: clean(data.version), outbox: finite(data.outbox), side: clean(data.side),
    moving: data.moving, vibrating: data.vibrating === true, stopped: data.stopped === true,
    simulated: data.simulated === true, seen: isTime(data.seen) ? data.seen : undefined,
  };
  row.attention = typeof data.attention === "boolean" ? data.attention : problems.length > 0 || badConfigs.has(config);
  row.search = [row.name, clean(row.id), ...row.groups, row.version, ...problems, config, row.detail].join("\n").toLowerCase();
  return row;
}

function rank(row) {
  return row.attention ? 0 : row.online === false ? 1 : 2;
}

function configRank(status) {
  const place = configOrder.indexOf(status);
  return place < 0 ? configOrder.length : place;
}

function status(row) {
  if (row.attention) return "attention";
  if (row.online === undefined) return "unknown";
  if (!row.online) return "offline";
  return row.stopped ? "stopped" : "online";
}

function statusText(row, now) {
  const reasons = row.problems.map((problem) => problemWords[problem] ?? problem).join(", ");
  if (row.attention) return [row.online === false ? "offline, needs attention" : "needs attention", reasons].filter(Boolean).join(": ");
  if (row.online === undefined) return "unknown";
  if (row.online) return row.stopped ? "online, sensing stopped" : "online";
  return row.seen === undefined ? "offline" : `offline, seen ${ago(row.seen, now)}`;
}

function configText(row) {
  const word = configWords[row.config] ?? row.config;
  return row.detail ? `${word}: ${row.detail}` : row.config === "none" ? "" : word;
}

function doingText(row) {
  if (row.stopped) return "stopped";
  // What an offline board did last is not what it does now.
  if (row.online === false) return "";
  const parts = [];
  if (typeof row.moving === "boolean") parts.push(row.moving ? "moving" : "still");
  if (row.vibrating) parts.push("vibrating");
  if (row.side) parts.push(`${row.side.replace("-", "−")} up`);
  if (row.simulated) parts.push("virtual sensor");
  return parts.join(", ");
}

function lastText(row, now) {
  const event = row.last;
  if (!event.gesture) return "";
  const when = event.time === undefined ? "" : ` · ${ago(event.time, now)}`;
  return `${event.gesture} ${event.phase}${when}${event.remarks ? ` · ${event.remarks}` : ""}`;
}

function outboxText(row) {
  return row.outbox === undefined ? "" : row.outbox === 0 ? "empty" : `${grouped(row.outbox)} waiting`;
}

/** All boards: search, filters, table, rollouts. */
export class BoardsView {
  constructor(root, context) {
    this.root = root;
    this.context = context;
    this.rows = new Map();
    this.sort = { key: null, down: false };
    this.filter = { text: "", state: "", group: "" };
    this.shown = [];
    this.listed = false;
    this.round = 0;
    this.turn = 0;
    this.shift = 0;
    this.broker = {};
    /** The ids of the boards that somebody has chosen. */
    this.selected = new Set();
    this.build();
    this.onKey = (event) => this.focusSearch(event);
    this.setNow(object(context.hello).now);
  }

  /** Comes into sight, as it was when it went. */
  open() {
    this.root.hidden = false;
    document.addEventListener("keydown", this.onKey);
    // "5 min ago" grows old without any message.
    this.timer = setInterval(() => this.refreshTimes(), 500);
    this.context.connection.open("events?view=boards");
    setText(this.said, this.context.said ?? "");
    this.said.hidden = !this.context.said;
    this.context.said = undefined;
    this.draw();
    scrollTo(0, this.scrolled ?? 0);
  }

  /** Takes an event of the server. */
  handle(name, data) {
    this.take(name, data);
    this.bulk?.handle(name, data);
  }

  take(name, data) {
    if (name === "boards") this.takeRows(list(data));
    else if (name === "removed") list(data).forEach((id) => this.remove(id));
    else if (name === "listed") this.takeListed(object(data));
    else if (name === "fleet") this.fleet.take(object(data), this.now());
    else if (name === "broker") this.broker = object(data);
    else if (name === "hello" || name === "ping") return this.takeTime(name, object(data).now);
    else return undefined;
    return this.draw();
  }

  /** Goes out of sight: no timers, no listeners. */
  close() {
    this.scrolled = scrollY;
    clearInterval(this.timer);
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    document.removeEventListener("keydown", this.onKey);
    this.root.hidden = true;
  }

  build() {
    this.totals = element("p", { class: "totals", role: "status", text: "Waiting for the boards …" });
    this.search = element("input", {
      type: "search", placeholder: "Search ( / )", "aria-label": "Search by name, id, group, version or problem", autocomplete: "off",
      spellcheck: "false", oninput: () => this.setFilter("text", this.search.value.trim().toLowerCase()),
      onkeydown: (event) => this.searchKey(event),
    });
    const states = [["", "All boards"], ["attention", "Need attention"], ["offline", "Offline"]];
    this.state = choice("Filter by state", states, (value) => this.setFilter("state", value));
    this.groups = choice("Filter by group", [["", "All groups"]], (value) => this.setFilter("group", value));
    this.groups.hidden = true;
    this.fleet = new FleetSection(this.context);
    this.headers = columns.map((column) => this.header(column));
    this.body = element("div", {
      class: "boards-body", onkeydown: (event) => this.moveFocus(event), onclick: (event) => this.clicked(event),
      onchange: ({ target }) => this.select([target.value], target.checked),
    });
    this.empty = element("p", { class: "empty", hidden: true });
    this.table = element("div", { class: "boards", role: "table", "aria-label": "Boards" },
      element("div", { class: "boards-head", role: "rowgroup" }, element("div", { class: "board", role: "row" },
        element("div", { role: "columnheader", class: "cell-select" }, element("span", { class: "unseen", text: "Selected" })), this.headers)), this.body);
    this.said = element("p", { class: "notice", role: "status", hidden: true });
    this.panel = element("div");
    this.list = element("div", {},
      element("div", { class: "boards-bar" }, this.totals, element("div", { class: "filters", role: "search" }, this.search, this.state, this.groups)),
      this.fleet.root, this.selection(), this.table, this.empty);
    this.root.replaceChildren(element("h1", { class: "unseen", text: "All boards" }), this.said, this.panel, this.list);
  }

  /** What can be done with several boards. */
  selection() {
    this.every = element("input", { type: "checkbox", onchange: () => this.select(this.shown.map((row) => row.dataset.id), this.every.checked) });
    this.everyText = element("span");
    this.chosen = element("span", { class: "muted", role: "status" });
    this.setSeveral = element("button", { type: "button", onclick: () => this.openBulk() });
    this.clear = element("button", { type: "button", class: "quiet", text: "Select none", onclick: () => this.select([...this.selected], false) });
    this.tools = element("div", { class: "tools selection", role: "group", "aria-label": "Selected boards", hidden: true },
      element("label", {}, this.every, " ", this.everyText), this.setSeveral, this.clear, this.chosen);
    return this.tools;
  }

  header(column) {
    const button = element("button", { type: "button", text: column.title, onclick: () => this.sortBy(column.key) });
    return element("div", { role: "columnheader", "aria-sort": "none", class: `cell-${column.key}` }, button);
  }

  // MARK: Data

  takeRows(rows) {
    for (const data of rows) {
      const id = object(data).id;
      if (typeof id !== "string" || id === "") continue;
      const row = readRow(data);
      const known = this.rows.get(id);
      row.view = known?.view ?? rowView(id);
      row.round = this.round;
      this.rows.set(id, row);
      fill(row, this.now());
    }
  }

  remove(id) {
    this.selected.delete(id);
    this.rows.get(id)?.view.root.remove();
    this.rows.delete(id);
  }

  takeListed(data) {
    this.listed = true;
    // After a reconnection the list came anew: what was not in it does not exist any more.
    for (const [id, row] of this.rows) if (row.round !== this.round) this.remove(id);
    this.ignored = finite(data.ignored) ?? 0;
  }

  takeTime(name, now) {
    if (name === "hello") this.round += 1;
    this.setNow(now);
  }

  setNow(now) {
    if (isTime(now)) this.shift = now - Date.now();
  }

  now() {
    return Date.now() + this.shift;
  }

  /** A tenth of the rows at a time, so that scrolling goes on. */
  refreshTimes() {
    this.turn = (this.turn + 1) % 10;
    let index = 0;
    for (const row of this.rows.values()) if (index++ % 10 === this.turn) fill(row, this.now());
  }

  // MARK: Several boards

  select(ids, isSelected) {
    for (const id of ids) {
      if (isSelected) this.selected.add(id);
      else this.selected.delete(id);
      this.rows.get(id).view.pick.checked = isSelected;
    }
    this.drawSelection();
  }

  drawSelection() {
    const isAllowed = object(this.context.hello).control === true;
    this.tools.hidden = !isAllowed || this.rows.size === 0;
    this.table.classList.toggle("selectable", isAllowed);
    const { size } = this.selected;
    const shown = this.shown.filter((row) => this.selected.has(row.dataset.id)).length;
    this.every.checked = shown > 0 && shown === this.shown.length;
    this.every.indeterminate = shown > 0 && shown < this.shown.length;
    this.every.disabled = this.shown.length === 0;
    setText(this.everyText, `Select all ${grouped(this.shown.length)} shown`);
    setText(this.setSeveral, size === 0 ? "Set for several boards…" : `Set for ${counted(size, "board", "boards")}…`);
    this.setSeveral.disabled = size === 0 || size > mostSelected;
    this.clear.hidden = size === 0;
    const hidden = size > shown ? `, ${grouped(size - shown)} of them not shown` : "";
    const limit = size > mostSelected ? `. At most ${grouped(mostSelected)} can be set at once: for more, there is “jostle fleet set”` : "";
    setText(this.chosen, size === 0 ? "" : `${counted(size, "board", "boards")} selected${hidden}${limit}`);
  }

  /** Shows, in place of the list, what can be set for the boards that were chosen. */
  async openBulk() {
    const { BulkPanel } = await import("./bulk.js");
    if (this.bulk || this.selected.size === 0) return;
    setText(this.said, "");
    this.said.hidden = this.list.hidden = true;
    this.bulk = new BulkPanel(this.panel, this.context, [...this.selected], this.rows, () => this.listed && !this.ignored, () => {
      this.bulk = undefined;
      this.list.hidden = false;
      this.drawNow();
      this.setSeveral.focus();
    });
    this.bulk.title.focus();
  }

  // MARK: Order and filters

  setFilter(name, value) {
    this.filter[name] = value;
    this.draw();
  }

  sortBy(key) {
    // A third press returns to the order by urgency.
    if (this.sort.key !== key) this.sort = { key, down: false };
    else this.sort = this.sort.down ? { key: null, down: false } : { key, down: true };
    this.draw();
  }

  ordered() {
    const column = columns.find((one) => one.key === this.sort.key);
    const usual = (a, b) => rank(a) - rank(b) || texts.compare(a.name, b.name) || (a.id < b.id ? -1 : 1);
    const rows = [...this.rows.values()];
    if (!column) return rows.sort(usual);
    for (const row of rows) row.order = column.sort(row);
    const sign = this.sort.down ? -1 : 1;
    return rows.sort((a, b) => compare(a.order, b.order, sign) || usual(a, b));
  }

  matches(row) {
    const { text, state, group } = this.filter;
    if (state === "attention" && !row.attention) return false;
    if (state === "offline" && row.online !== false) return false;
    if (group && !row.groups.includes(group)) return false;
    return text === "" || text.split(/\s+/).every((word) => row.search.includes(word));
  }

  /** Draws with the next frame, so that slices of an update that arrive together cost one pass. */
  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = undefined;
      this.drawNow();
    });
  }

  drawNow() {
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const rows = this.ordered();
    this.shown = [];
    for (const row of rows) {
      if (this.matches(row)) this.shown.push(row.view.root);
      else row.view.root.remove();
    }
    const parts = Math.ceil(this.shown.length / dozen);
    for (let part = 0; part < parts; part += 1) {
      const group = this.body.children[part] ?? this.body.appendChild(element("div", { role: "rowgroup" }));
      arrange(group, this.shown.slice(part * dozen, (part + 1) * dozen));
    }
    for (const group of [...this.body.children].slice(parts)) group.remove();
    // An element that is moved in the document loses the focus.
    if (focused && !focused.isConnected) this.focusNear(focused, rows);
    else if (focused && document.activeElement !== focused) focused.focus({ preventScroll: true });
    this.headers.forEach((header, index) => this.drawHeader(header, columns[index].key));
    this.drawGroups(rows);
    this.drawTotals(rows, this.shown.length);
    this.drawSelection();
  }

  drawHeader(header, key) {
    const sorted = this.sort.key !== key ? "none" : this.sort.down ? "descending" : "ascending";
    if (header.getAttribute("aria-sort") !== sorted) header.setAttribute("aria-sort", sorted);
  }

  drawGroups(rows) {
    const names = [...new Set(rows.flatMap((row) => row.groups))].sort(texts.compare);
    const key = names.join("\n");
    if (key === this.groupKey) return;
    this.groupKey = key;
    this.groups.hidden = names.length === 0;
    const options = ["", ...names].map((name) => element("option", { value: name, text: name || "All groups" }));
    this.groups.replaceChildren(...options);
    if (!names.includes(this.filter.group)) this.filter.group = "";
    this.groups.value = this.filter.group;
  }

  drawTotals(rows, shown) {
    const offline = rows.filter((row) => row.online === false).length;
    const bad = rows.filter((row) => row.attention).length;
    const parts = [counted(rows.length, "board", "boards"), `${grouped(offline)} offline`, `${grouped(bad)} with problems`];
    if (shown < rows.length) parts.push(`${grouped(shown)} shown`);
    if (this.ignored > 0) parts.push(`${grouped(this.ignored)} more were left out: there are too many for this page`);
    const text = rows.length > 0 ? parts.join(", ") : this.listed ? "No boards" : "Waiting for the boards …";
    // A live region reads each change aloud, so it is only touched if the text is another one.
    if (this.totals.textContent !== text) this.totals.textContent = text;
    this.table.hidden = shown === 0;
    this.empty.hidden = shown > 0 || (rows.length === 0 && !this.listed);
    this.empty.textContent = this.emptyText(rows.length);
  }

  emptyText(known) {
    if (known > 0) return "No board matches the search and the filters.";
    if (this.broker.connected === false) return `There is no connection to the broker: ${clean(this.broker.reason) || "it does not answer"}.`;
    const address = clean(this.broker.broker);
    const prefix = clean(object(this.context.hello).prefix) || "jostle";
    return `No board has been heard of yet at this broker${address ? ` (${address})` : ""}, under the topics ${prefix}/…. ` +
      "A board appears here as soon as its agent is connected: on the board, “jostle doctor” finds what is in its way.";
  }

  // MARK: Keyboard and mouse

  focusSearch(event) {
    if (!isShortcut(event, "/")) return;
    event.preventDefault();
    this.search.focus();
  }

  searchKey(event) {
    if (event.key === "ArrowDown") {
      // The table may not show yet what was just typed.
      this.drawNow();
      this.step(event, 0);
    }
    if (event.key !== "Escape" || this.search.value === "") return;
    this.search.value = "";
    this.setFilter("text", "");
  }

  moveFocus(event) {
    const index = this.shown.indexOf(event.target.closest(".board"));
    if (event.key === "ArrowDown") this.step(event, index + 1);
    else if (event.key === "ArrowUp") this.step(event, index - 1);
    else if (event.key === "Home") this.step(event, 0);
    else if (event.key === "End") this.step(event, this.shown.length - 1);
  }

  /** The focused row does not match any more: its neighbour takes the focus, or else the search. */
  focusNear(focused, rows) {
    const after = rows.slice(rows.findIndex((row) => row.view.root.contains(focused))).map((row) => row.view);
    (after.find(({ name }) => name.isConnected)?.name ?? this.search).focus({ preventScroll: true });
  }

  step(event, index) {
    if (!this.shown[index]) return;
    event.preventDefault();
    // From checkbox to checkbox, and from name to name.
    this.shown[index].querySelector(event.target.closest(".cell-select") ? "input" : "a").focus();
  }

  clicked(event) {
    const row = event.target.closest("a");
    if (row) follow(event, this.context, row.getAttribute("href"));
  }
}

function compare(a, b, sign) {
  const isEmpty = (value) => value === undefined || value === "";
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
  return sign * (typeof a === "string" ? texts.compare(a, b) : a - b);
}

/** Brings children into an order with few moves: one row that goes far down must not move all others. */
function arrange(parent, wanted) {
  let next = parent.firstChild;
  for (const child of wanted) {
    if (next !== child && next?.nextSibling === child) {
      const misplaced = next;
      next = child;
      misplaced.remove();
    }
    if (next === child) next = child.nextSibling;
    else parent.insertBefore(child, next);
  }
}

function choice(label, options, change) {
  const select = element("select", { "aria-label": label, onchange: () => change(select.value) },
    options.map(([value, text]) => element("option", { value, text })));
  return select;
}

function rowView(id) {
  const name = element("a", { href: link(id), "data-id": id });
  const cells = columns.map((column) => {
    const cell = element("div", { role: "cell", class: `cell-${column.key}`, "data-title": column.title });
    if (column.key === "name") cell.append(name, element("span", { class: "id", text: clean(id) }));
    return cell;
  });
  const pick = element("input", { type: "checkbox", value: id });
  const root = element("div", { class: "board", role: "row", "data-id": id },
    element("div", { role: "cell", class: "cell-select" }, element("label", {}, pick)), cells);
  return { root, name, pick, cells, texts: [], state: "" };
}

function fill(row, now) {
  const view = row.view;
  columns.forEach((column, index) => {
    const text = column.text ? column.text(row, now) : row.name;
    if (view.texts[index] === text) return;
    view.texts[index] = text;
    if (column.key === "name") {
      view.name.textContent = text;
      view.pick.setAttribute("aria-label", `Select ${text}`);
    }
    else view.cells[index].textContent = text;
    // What a cell has no room for.
    if (text.length > 30) view.cells[index].title = text;
    else view.cells[index].removeAttribute("title");
  });
  const state = `${status(row)} ${badConfigs.has(row.config) ? "bad-config" : ""} ${row.name === row.id ? "unnamed" : ""}`;
  if (view.state === state) return;
  view.state = state;
  view.root.className = `board ${state}`;
}

/** The fleet's layers with their rollouts. Hidden without a fleet. */
class FleetSection {
  constructor(context) {
    this.context = context;
    this.body = element("div", { class: "layers" });
    this.root = element("section", { class: "fleet", hidden: true, "aria-label": "Configuration of the fleet" },
      element("h2", { text: "Configuration of the fleet" }), this.body);
    this.open = new Set();
  }

  take(data, now) {
    const layers = list(data.layers);
    const key = JSON.stringify(data);
    if (key === this.key) return;
    this.key = key;
    this.root.hidden = layers.length === 0;
    const read = layers.map((layer) => readLayer(object(layer))).sort((a, b) => b.open - a.open);
    const shown = read.slice(0, 12).map((layer) => this.layer(layer, now));
    const more = read.length - shown.length + (finite(data.more) ?? 0);
    if (more > 0) shown.push(element("p", { class: "note", text: `and ${counted(more, "layer", "layers")} more` }));
    this.body.replaceChildren(...shown);
  }

  layer(layer, now) {
    const bar = element("div", { class: "rollout", role: "img", "aria-label": layer.summary }, layer.counts.map(([status, count]) => {
      const part = element("span", { class: `part ${configWords[status] ? status : "none"}` });
      part.style.flexGrow = count;
      return part;
    }));
    const rest = layer.total - layer.counts.reduce((sum, [, count]) => sum + count, 0);
    if (rest > 0) {
      const part = element("span", { class: "part" });
      part.style.flexGrow = rest;
      bar.append(part);
    }
    return element("article", { class: "layer" },
      element("h3", {}, layer.title, element("span", { class: "revision", text: layer.revision })),
      element("p", { class: "note", text: layer.about(now) }), bar, element("p", { text: layer.summary }),
      layer.failing.length > 0 && this.failing(layer));
  }

  failing(layer) {
    const items = layer.failing.slice(0, 50).map((one) => element("li", {},
      element("a", { href: link(one.id), text: clean(one.id), onclick: (event) => follow(event, this.context, link(one.id)) }),
      ` ${configWords[one.status] ?? clean(one.status)}${one.error ? `: ${clean(one.error)}` : ""}`));
    const more = layer.failed - items.length;
    if (more > 0) items.push(element("li", { text: `and ${grouped(more)} more` }));
    const details = element("details", {
      open: this.open.has(layer.key),
      ontoggle: () => (details.open ? this.open.add(layer.key) : this.open.delete(layer.key)),
    }, element("summary", { text: `${counted(layer.failed, "board does", "boards do")} not follow` }), element("ul", {}, items));
    return details;
  }
}

function readLayer(data) {
  const key = clean(data.layer);
  const counts = Object.entries(object(data.counts)).filter(([, count]) => finite(count) > 0)
    .sort(([a], [b]) => configRank(b) - configRank(a));
  const sum = counts.reduce((all, [, count]) => all + count, 0);
  const total = Math.max(finite(data.boards) ?? 0, sum);
  const applied = counts.find(([status]) => status === "applied")?.[1] ?? 0;
  const others = counts.filter(([status]) => status !== "applied")
    .map(([status, count]) => `${grouped(count)} ${configWords[status] ?? clean(status)}`);
  if (total > sum) others.push(`${grouped(total - sum)} not heard`);
  const steps = object(data.steps);
  const step = finite(steps.now) && finite(steps.of) ? `step ${steps.now} of ${steps.of}` : "";
  const share = finite(data.percent) === undefined ? "" : `rollout at ${number(data.percent, 1, "%")} of the boards`;
  const failing = list(data.failing).map(object).filter((one) => typeof one.id === "string" && one.id !== "");
  const group = key.startsWith("group:") ? `Group ${key.slice(6)}` : undefined;
  const title = key === "all" ? "All boards" : group ?? (key.startsWith("device:") ? `Board ${key.slice(7)}` : key);
  const by = clean(data.by);
  return {
    key, title, counts, total, failing, failed: failing.length + (finite(data.failing_more) ?? 0),
    open: applied < total || failing.length > 0,
    revision: finite(data.revision) === undefined ? "" : `revision ${data.revision}`,
    summary: total === 0 ? "no board has reported it" : [`${grouped(applied)} of ${grouped(total)} applied`, ...others].join(", "),
    about: (now) => [
      clean(data.problem), step, share, by && `by ${by}`, isTime(data.t) && `at ${timeOfDay(data.t)}, ${ago(data.t, now)}`,
      clean(data.reason), clean(data.signed) && `signed with ${clean(data.signed)}`,
    ].filter(Boolean).join(" · "),
  };
}
