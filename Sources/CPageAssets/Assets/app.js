// Start of the page: which view the address asks for, the connection to the page's server, and what is said about it.
import { clean, element, finite, follow, link, object, parse, post, setText, shortcuts, timeOfDay } from "./text.js";

const events = [
  "hello", "broker", "ping", "dropped", "boards", "listed", "removed", "fleet", "report", "availability", "attitude", "motion",
  "state", "machine", "health", "reported", "stream", "near-miss", "gesture", "result", "lease", "running",
];
/** Milliseconds: without a `ping` for so long, the connection is dead; a shorter loss of contact than this, such as a
    restart of the server, needs no banner; and a tab that is hidden for longer needs no connection. */
const [silence, grace, hiddenFor] = [25000, 1500, 10000];

const find = (id) => document.getElementById(id);
/** What the page has drawn and received. Tests read it. */
const counters = { frames: 0, lastShown: { t: 0, at: 0 }, samples: 0, malformed: 0 };
window.jostlePage = counters;

/** The events of the page's server, asked for again for as long as the page is there. */
class Connection {
  contact = false;
  lostAt = Date.now();
  /** The last `broker` event. */
  broker = {};
  /** Why the server refuses to answer, in its words. */
  #refusal = "";
  #offset = 0;
  #attempts = 0;

  /** Milliseconds since 1970 by the server's clock; the browser's may be wrong. */
  serverNow() {
    return Date.now() + this.#offset;
  }

  /** Listens to `url` from now on. */
  open(url) {
    this.pause();
    if (url !== this.url) this.#refusal = "";
    this.url = url;
    this.heard = Date.now();
    const source = new EventSource(url);
    this.source = source;
    for (const name of events) source.addEventListener(name, ({ data }) => source === this.source && this.#hear(name, parse(data)));
    source.onerror = () => {
      if (source !== this.source) return;
      this.#setContact(false);
      // Otherwise the browser itself tries again.
      if (source.readyState === EventSource.CLOSED) this.#askWhy(source);
    };
  }

  pause() {
    clearTimeout(this.timer);
    this.question?.abort();
    this.source?.close();
    this.source = undefined;
    this.#setContact(false);
  }

  resume() {
    if (this.source || !this.url) return;
    // The time without a connection was no trouble.
    this.lostAt = Date.now();
    this.open(this.url);
  }

  /** Connects again if the server has fallen silent. */
  watch() {
    if (this.source && Date.now() - this.heard > silence) this.open(this.url);
  }

  /** Why nothing can arrive now: a word and a sentence; `undefined` if it can, or if that is over in a moment. */
  silence() {
    const { connected, reason } = this.broker;
    if (this.#refusal) return { word: "refused", text: `The page's server refuses: ${this.#refusal}` };
    if (!this.contact) {
      if (Date.now() - this.lostAt < grace) return undefined;
      return { word: "connecting", text: `No contact with the page's server since ${timeOfDay(this.lostAt)}. Trying again.` };
    }
    if (connected !== false) return undefined;
    const why = clean(reason);
    return { word: "no broker", text: `The page's server has no connection to the broker${why ? `: ${why}` : ""}. It tries again.` };
  }

  #hear(name, data) {
    this.heard = Date.now();
    this.#attempts = 0;
    this.#refusal = "";
    const now = name === "hello" || name === "ping" ? finite(object(data).now) : undefined;
    if (now !== undefined) this.#offset = now - Date.now();
    if (name === "broker") this.broker = object(data);
    this.#setContact(true);
    receive(name, data);
  }

  #setContact(contact) {
    if (this.contact && !contact) this.lostAt = Date.now();
    this.contact = contact;
  }

  /** The server refused, and a request says why: nobody is signed in, there is no such view, or just now it cannot be. */
  async #askWhy(source) {
    const question = new AbortController();
    this.question = question;
    const response = await fetch(this.url, { credentials: "same-origin", cache: "no-store", signal: question.signal }).catch(() => undefined);
    const { status, ok } = response ?? { ok: true };
    const answer = ok ? {} : object(parse(await response.text().catch(() => "")));
    question.abort();
    if (source !== this.source) return;
    // Not before: a question that is never answered is silence, which is watched.
    this.heard = Infinity;
    if (status === 401) return leave();
    // Without a message it is a proxy that answers, or nobody.
    this.#refusal = clean(answer.message);
    // Asking again does not make a request right.
    if (this.#refusal && status < 500) return;
    this.#attempts = Math.min(10, this.#attempts + 1);
    this.timer = setTimeout(() => this.open(this.url), 1000 * this.#attempts);
  }
}

/** Goes to the page that asks for the password. */
function leave() {
  location.assign(`login${location.search}`);
}

/** Asks who is signed in. */
async function readSession() {
  const response = await fetch("api/session", { credentials: "same-origin", cache: "no-store" }).catch(() => undefined);
  if (response?.status === 401) leave();
  if (!response?.ok) return;
  const { signedIn } = object(parse(await response.text().catch(() => "")));
  for (const id of ["sign-out", "sign-out-everywhere"]) find(id).hidden = signedIn !== true;
}

const connection = new Connection();
const context = { hello: {}, boardID: null, open, connection, counters };
let [view, firstVersion, dropped, signOutFailure] = [null, undefined, 0, ""];
/** The list of all boards stays in the document, out of sight, with its rows, their heights, its search and its order. */
let list;
/** How many views were asked for. */
let turn = 0;
/** The boards of the first list, while the address does not say which view is wanted. */
let undecided = null;

function receive(name, data) {
  try {
    if (data === undefined) throw new TypeError("no JSON");
    if (name === "hello") takeHello(object(data));
    if (name === "dropped") dropped += Math.max(0, finite(object(data).messages) ?? 0);
    view?.handle(name, data);
    if (undecided) decide(name, data);
  } catch {
    counters.malformed += 1;
  }
}

function takeHello(hello) {
  context.hello = hello;
  firstVersion ??= hello.version;
  setText(find("version"), `Jostle ${clean(hello.version)}`);
}

/** A board that is the only one is shown at once. */
function decide(name, data) {
  if (name === "boards") for (const { id } of data) undecided.add(id);
  if (name !== "listed") return;
  const [only] = undecided;
  const isOnly = data.boards === 1 && undecided.size === 1 && typeof only === "string";
  undecided = null;
  if (isOnly) route(history.replaceState(null, "", link(only)));
}

/** Shows what a relative address asks for; the browser goes back to what was shown before. */
function open(address) {
  const before = view;
  route(history.pushState(null, "", address));
  // Another tab of the same board leaves the focus where it is.
  if (view !== before) find("main").focus({ preventScroll: true });
}

/** Shows the view, or the tab of a board, that the address asks for. */
async function route() {
  const query = new URLSearchParams(location.search);
  const [boardID, tab] = [query.get("board"), query.get("tab")];
  const own = (turn += 1);
  if (view && boardID !== null && boardID === context.boardID) return view.open(tab);
  view?.close();
  [view, context.boardID] = [null, boardID];
  undecided = boardID === null && !query.has("view") ? new Set() : null;
  document.title = `${boardID === null ? "All boards" : clean(boardID)} – Jostle`;
  find("all-boards").setAttribute("aria-current", boardID === null ? "page" : "false");
  // Each view has modules of its own, which are loaded when it is needed.
  const { BoardsView, BoardView } = await import(boardID === null ? "./boards.js" : "./board.js");
  if (own !== turn) return undefined;
  const add = () => find("main").insertAdjacentElement("afterbegin", element("div"));
  view = boardID === null ? (list ??= new BoardsView(add(), context)) : new BoardView(add(), context);
  return view.open(tab);
}

function showStatus() {
  connection.watch();
  // What lies between the page and the board; the first broken link hides the others.
  const silence = connection.silence() ?? view?.silence?.();
  const { version } = context.hello;
  const news = version === firstVersion ? "" : `The server now has version ${clean(version)}. Reload the page to use it.`;
  const text = document.hidden ? "" : [signOutFailure, silence?.text ?? news].filter(Boolean).join(" ");
  find("banner").hidden = text === "";
  setText(find("banner"), text);
  const state = silence?.word ?? (connection.contact ? "live" : "connecting");
  setText(find("contact"), state);
  find("contact").className = `pill ${state === "live" ? "ok" : "warn"}`;
  document.body.classList.toggle("unheard", connection.silence() !== undefined);
  const notes = [
    counters.malformed > 0 && `${counters.malformed} messages could not be read`,
    dropped > 0 && `${dropped} messages were left out, because this page or its network was too slow`,
  ];
  setText(find("notes"), notes.filter(Boolean).join(" · "));
}

let hideTimer;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hideTimer);
  if (document.hidden) hideTimer = setTimeout(() => connection.pause(), hiddenFor);
  else connection.resume();
});
addEventListener("popstate", route);
// Each view knows where it was scrolled to.
history.scrollRestoration = "manual";
document.querySelector(".bar").addEventListener("click", (event) => {
  if (event.target.closest("a")) follow(event, context, "?view=boards");
});
for (const [id, everywhere] of [["sign-out", false], ["sign-out-everywhere", true]]) {
  const fail = (error) => (error.status === 401 ? leave() : (signOutFailure = `Not signed out: ${error.message}`));
  find(id).addEventListener("click", () => post("api/logout", { everywhere }).then(leave, fail));
}
find("theme").value = localStorage.getItem("theme") ?? "";
find("theme").addEventListener("change", ({ target }) => {
  localStorage.setItem("theme", target.value);
  // As for a change in another window.
  dispatchEvent(new Event("storage"));
});
find("shortcuts").checked = shortcuts.areOn;
find("shortcuts").addEventListener("change", ({ target }) => (shortcuts.areOn = target.checked));
setInterval(showStatus, 500);
readSession();
route();
