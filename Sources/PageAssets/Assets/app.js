// Start of the page: which view the address asks for, the connection to the page's server, and what is said about it.
import { clean, element, finite, object, parse, post, setText, timeOfDay } from "./text.js";

const events = [
  "hello", "broker", "ping", "dropped", "boards", "listed", "removed", "fleet", "availability", "attitude", "motion",
  "state", "health", "reported", "stream", "near-miss", "gesture", "result", "lease", "running",
];
/** The server sends something at least every 10 s; after this many ms of silence the connection counts as dead. */
const silence = 25000;
/** A loss of contact that lasts no longer than this many ms, such as a restart of the server, needs no banner. */
const grace = 1500;
/** How long a hidden tab keeps its connection, ms. */
const hiddenFor = 10000;

const find = (id) => document.getElementById(id);

/** Read by tests, and handy in the console: what the page has drawn and received. */
const counters = { frames: 0, lastShown: { t: 0, at: 0 }, samples: 0, malformed: 0 };
window.jostlePage = counters;

/** The stream of events from the page's server, which is opened again for as long as the page is there. */
class Connection {
  /** Whether the server answers. */
  contact = false;
  /** The last `broker` event: `{connected, broker, reason}`; `null` before the first. */
  broker = null;

  #source = null;
  #url = null;
  #heard = 0;
  #attempts = 0;
  #offset = 0;
  #timer = 0;
  #receive;

  constructor(receive) {
    this.#receive = receive;
    this.lostAt = Date.now();
    setInterval(() => this.#watch(), 1000);
  }

  /** Milliseconds since 1970 by the server's clock, which a browser's clock may be far from. */
  serverNow() {
    return Date.now() + this.#offset;
  }

  /** Listens to `url` from now on. */
  open(url) {
    this.#url = url;
    this.#attempts = 0;
    this.#connect();
  }

  /** Ends the connection until the next `open` or `resume`. */
  pause() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.#setContact(false);
  }

  /** Opens the connection again after `pause`. */
  resume() {
    if (!this.#source && this.#url) this.#connect();
  }

  #connect() {
    this.pause();
    this.#heard = Date.now();
    const source = new EventSource(this.#url);
    this.#source = source;
    for (const name of events) source.addEventListener(name, (event) => this.#hear(source, name, event.data));
    source.onerror = () => {
      if (source !== this.#source) return;
      this.#setContact(false);
      // Otherwise the browser itself tries again.
      if (source.readyState === EventSource.CLOSED) this.#askWhy(source);
    };
  }

  #hear(source, name, text) {
    if (source !== this.#source) return;
    this.#heard = Date.now();
    this.#attempts = 0;
    const data = parse(text);
    if (name === "hello" || name === "ping") {
      const now = finite(object(data).now);
      if (now !== undefined) this.#offset = now - Date.now();
    }
    if (name === "broker") this.broker = object(data);
    this.#setContact(true);
    this.#receive(name, data);
  }

  #setContact(contact) {
    if (this.contact === contact) return;
    this.contact = contact;
    this.lostAt = Date.now();
    this.#receive("contact", { connected: contact });
  }

  #watch() {
    if (this.#source && Date.now() - this.#heard > silence) this.#connect();
    showBanner();
  }

  /** The server refused the stream: because nobody is signed in, or it is about to end. */
  async #askWhy(source) {
    const session = await readSession();
    if (source !== this.#source || session === "signedOut") return;
    this.#attempts = Math.min(10, this.#attempts + 1);
    this.#heard = Infinity;
    this.#timer = setTimeout(() => this.#connect(), 1000 * this.#attempts);
  }
}

/** Asks who is signed in; goes to the page that asks for the password if nobody is. */
async function readSession() {
  try {
    const response = await fetch("/api/session", { credentials: "same-origin", cache: "no-store" });
    if (response.status === 401) {
      location.assign("/login");
      return "signedOut";
    }
    find("sign-out").hidden = object(parse(await response.text())).signedIn !== true;
  } catch {
    // No contact; the banner says so.
  }
  return "unknown";
}

let view = null;
let availability = null;
let dropped = 0;
/** The boards of the first list, while the address does not say which view is wanted. */
let undecided = null;
let firstVersion;

const connection = new Connection(receive);
const context = { hello: {}, boardID: null, open, connection, counters };

function receive(name, data) {
  try {
    if (name === "hello") takeHello(object(data));
    if (name === "dropped") dropped += Math.max(0, finite(object(data).messages) ?? 0);
    if (name === "availability") availability = object(data);
    if (data === undefined) throw new TypeError("not JSON");
    view?.handle(name, data);
    if (undecided) decide(name, data);
  } catch {
    counters.malformed += 1;
  }
  if (name !== "stream") showNotes();
}

function takeHello(hello) {
  context.hello = hello;
  firstVersion ??= hello.version;
  setText(find("version"), `Jostle ${clean(hello.version)}`);
}

/** A board that is the only one is shown at once. */
function decide(name, data) {
  if (name === "boards" && Array.isArray(data)) {
    for (const row of data) if (typeof object(row).id === "string") undecided.add(row.id);
  }
  if (name !== "listed") return;
  const [only] = undecided;
  const isOnly = undecided.size === 1 && object(data).boards === 1;
  undecided = null;
  if (!isOnly) return;
  history.replaceState(null, "", address(only));
  route();
}

function address(boardID) {
  return boardID === null ? "/?view=boards" : `/?board=${encodeURIComponent(boardID)}`;
}

function open(boardID) {
  history.pushState(null, "", address(boardID));
  route();
  find("main").focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Shows the view that the address asks for. */
async function route() {
  const query = new URLSearchParams(location.search);
  const boardID = query.get("board");
  view?.close();
  view = null;
  availability = null;
  undecided = boardID === null && !query.has("view") ? new Set() : null;
  context.boardID = boardID;
  document.title = boardID === null ? "All boards – Jostle" : `${clean(boardID)} – Jostle`;
  const here = find("all-boards");
  if (boardID === null) here.setAttribute("aria-current", "page");
  else here.removeAttribute("aria-current");
  const root = element("div", { class: "view" });
  find("main").replaceChildren(root);
  // Loaded when needed: each view has a module of its own, with what it imports.
  const made =
    boardID === null
      ? new (await import("./boards.js")).BoardsView(root, context)
      : new (await import("./board.js")).BoardView(root, context);
  if (!root.isConnected) return made.close();
  view = made;
  const id = encodeURIComponent(boardID ?? "");
  connection.open(boardID === null ? "/events?view=boards" : `/events?board=${id}&stream=1`);
}

/** One banner: the link that is broken first hides what lies behind it. */
function showBanner() {
  const banner = find("banner");
  const text = document.hidden ? "" : trouble();
  banner.hidden = text === "";
  setText(banner, text);
  const pill = find("contact");
  const state = connection.contact ? (connection.broker?.connected === false ? "no broker" : "live") : "connecting";
  setText(pill, state);
  pill.className = `pill ${state === "live" ? "ok" : "warn"}`;
}

function trouble() {
  if (!connection.contact) {
    if (Date.now() - connection.lostAt < grace) return "";
    return `No contact with the page's server since ${timeOfDay(connection.lostAt)}. Trying again.`;
  }
  if (connection.broker?.connected === false) {
    const reason = clean(connection.broker.reason);
    return `The page's server has no connection to the broker${reason ? `: ${reason}` : ""}. It tries again.`;
  }
  if (availability?.online === false) return `The board is offline since ${timeOfDay(availability.t)}.`;
  const version = context.hello.version;
  return version === firstVersion ? "" : `The server now has version ${clean(version)}. Reload the page to use it.`;
}

function showNotes() {
  const notes = [];
  if (counters.malformed > 0) notes.push(`${counters.malformed} messages could not be read`);
  if (dropped > 0) notes.push(`${dropped} messages were left out, because this page or its network was too slow`);
  setText(find("notes"), notes.join(" · "));
}

let hideTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hideTimer);
  if (document.hidden) hideTimer = setTimeout(() => connection.pause(), hiddenFor);
  else connection.resume();
});
addEventListener("popstate", route);
for (const id of ["brand", "all-boards"]) {
  find(id).addEventListener("click", (event) => {
    // A click with a modifier opens another tab, as for any link.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(null);
  });
}
find("sign-out").addEventListener("click", async () => {
  await post("/api/logout", {}).catch(() => {});
  location.assign("/login");
});
readSession();
route();
