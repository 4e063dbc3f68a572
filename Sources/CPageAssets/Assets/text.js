// Text and elements for all parts of the page. Everything that comes from the server or a board is untrusted: it reaches
// the document only through `textContent` and attributes, never as markup.

/** The longest text in one place; a board may send a megabyte. */
const longest = 400;

/** Text that is safe and short enough to show: no control characters, none that turn the direction of writing. */
export function clean(text) {
  if (text === undefined || text === null) return "";
  const all = typeof text === "object" ? safeJSON(text) : String(text);
  const plain = all.slice(0, longest).replace(/[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, " ");
  return all.length > longest ? plain + "…" : plain;
}

function safeJSON(value) {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return ""; // Nested too deeply.
  }
}

/**
 * Builds an element. `attributes` takes `class`, `text`, handlers such as `onclick`, and any attribute; `true` sets it,
 * `false`, `null` and `undefined` leave it out. Children are elements, texts or lists of them.
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") made.textContent = value;
    else if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** A row of named figures: the list, and the elements for their values. */
export function figures(names) {
  const values = names.map(() => element("dd", { text: "–" }));
  const pairs = names.map((text, index) => element("div", {}, element("dt", { text }), values[index]));
  return { root: element("dl", { class: "figures" }, pairs), values };
}

/** Sets a text only if it changed, so that nothing is laid out or read aloud again without need. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** A finite number, or `undefined` for everything else, texts included. */
export function finite(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A list of `count` finite numbers, or `undefined`. */
export function numbers(value, count) {
  return Array.isArray(value) && value.length === count && value.every(Number.isFinite) ? value : undefined;
}

/** The object itself, or an empty one, so that reading a member never throws. */
export function object(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** The list itself, or an empty one. */
export function list(value) {
  return Array.isArray(value) ? value : [];
}

/** A number with fixed decimals and a true minus sign: `−4.50 m/s²`; an en dash if there is none. */
export function number(value, decimals = 0, unit = "") {
  if (finite(value) === undefined) return "–";
  const digits = Math.abs(value) < 1e9 ? value.toFixed(decimals) : value.toExponential(2);
  // Not "−0.0", which would flicker beside "0.0" at rest.
  const sign = value < 0 && Number(digits) !== 0 ? "−" : "";
  return sign + digits.replace("-", "") + (unit === "" || unit === "°" ? unit : `\u00a0${unit}`);
}

/** A count in groups of three digits: `12 345`. */
export function count(value) {
  return number(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** The number in a quantity such as `8 g`, times the factor of its unit; `undefined` if it is none. */
export function quantity(value, factors) {
  // No quantity is long, and the time that the expression takes grows with the square of the length.
  const [, digits, unit] = /^\s*([-+\d.eE]+)\s*(\S+)\s*$/.exec(typeof value === "string" && value.length <= 60 ? value : "") ?? [];
  if (finite(value) !== undefined || !Object.hasOwn(factors, unit ?? "")) return finite(value);
  // 20 ms are 0.02 s, not 0.0200000000000000004 s.
  return finite(Number((Number(digits) * factors[unit]).toPrecision(12)));
}

/** Whether milliseconds since 1970 are a date that can be shown. */
export function isTime(ms) {
  return finite(ms) !== undefined && ms >= 0 && ms < 253402300800000;
}

/** The local time of day: `14:03:59`. */
export function timeOfDay(ms) {
  if (!isTime(ms)) return "–";
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** The time of day, after the date if that is not today. */
export function dayAndTime(ms, now) {
  const day = (time) => new Date(time).toLocaleDateString("en", { day: "numeric", month: "short" });
  return day(ms) === day(now) ? timeOfDay(ms) : `${day(ms)}, ${timeOfDay(ms)}`;
}

/** A duration, easy to read at a glance: `41 s`, `12 min`, `3 h 12 min`, `5 d 3 h`. */
export function duration(seconds) {
  if (finite(seconds) === undefined) return "–";
  const whole = Math.floor(Math.max(0, Math.min(seconds, 1e9)));
  const [days, hours, minutes] = [86400, 3600, 60].map((unit) => Math.floor(whole / unit));
  if (days > 0) return `${days}\u00a0d ${hours % 24}\u00a0h`;
  if (hours > 0) return `${hours}\u00a0h ${minutes % 60}\u00a0min`;
  return minutes > 0 ? `${minutes}\u00a0min` : `${whole}\u00a0s`;
}

/** How long ago a time was: `12 min ago`; `just now` for less than five seconds. */
export function ago(ms, now) {
  if (!isTime(ms) || !isTime(now)) return "–";
  return now - ms < 5000 ? "just now" : `${duration((now - ms) / 1000)} ago`;
}

/** Whether the shortcuts with a single key are on. Whoever talks to the computer switches them off: each word is many keys. */
export const shortcuts = {
  get areOn() {
    return localStorage.getItem("shortcuts") !== "off";
  },
  set areOn(value) {
    localStorage.setItem("shortcuts", value ? "on" : "off");
  },
};

/** Whether an event is such a shortcut: a key that is pressed once, alone, and not typed into a field. */
export function isShortcut(event, key) {
  const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
  return event.key === key && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat && shortcuts.areOn;
}

/** The address of a board, or of one of its tabs; relative, so that it is right below any path. */
export function link(boardID, tab) {
  return `?board=${encodeURIComponent(boardID)}${tab ? `&tab=${tab}` : ""}`;
}

/** Goes on in the page when a link is clicked, unless the person asked the browser for another tab or window. */
export function follow(event, context, address) {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  context.open(address);
}

/** The value of a JSON text, or `undefined` if it is none. */
export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Posts JSON. Resolves to the answer; rejects with an Error with a message for people, `code`, `status`, `retryAfter`. */
export async function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-Jostle": "1" };
  const response = await fetch(path, { method: "POST", credentials: "same-origin", headers, body: JSON.stringify(body) })
    .catch(() => undefined);
  const answer = object(parse(await response?.text().catch(() => "")));
  if (response?.ok) return answer;
  const status = response?.status;
  const usual = response ? `The server answered with status ${status}.` : "The page's server does not answer.";
  const retryAfter = Number(response?.headers.get("Retry-After")) || undefined;
  const code = clean(answer.error) || String(status ?? "no_contact");
  throw Object.assign(new Error(clean(answer.message) || usual), { code, status, retryAfter });
}
