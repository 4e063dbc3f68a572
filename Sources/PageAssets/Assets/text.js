// Text and elements for all parts of the page. Everything that comes from the server or a board is untrusted: it reaches
// the document only through `textContent` and attributes set here, never as markup.

/** The longest text shown in one place; a board may send a megabyte. */
const longest = 400;

const minus = "\u2212";

/** Returns text that is safe and short enough to show: no control or direction characters, at most 400 characters. */
export function clean(text) {
  if (text === undefined || text === null) return "";
  const all = typeof text === "object" ? safeJSON(text) : String(text);
  // Direction overrides would let a board's name change the order of what stands beside it.
  const plain = all.slice(0, longest + 1).replace(/[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, " ");
  return plain.length > longest ? plain.slice(0, longest) + "…" : plain;
}

function safeJSON(value) {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

/**
 * Builds an element. `attributes` takes `class`, `text`, event handlers such as `onclick`, and any attribute; `true` sets
 * it, `false`, `null` and `undefined` leave it out. Children are elements or texts.
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") made.textContent = value;
    else if (name === "class") made.className = value;
    else if (name.startsWith("on") && typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Sets the text of an element only if it changed, so that nothing is laid out or read aloud again without need. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** A finite number, or `undefined` for everything else, texts included. */
export function finite(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A list of `count` finite numbers, or `undefined`. */
export function numbers(value, count) {
  if (!Array.isArray(value) || value.length !== count) return undefined;
  return value.every((item) => finite(item) !== undefined) ? value : undefined;
}

/** An object that is no list, or an empty one: reading a member of it never throws. */
export function object(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** A list, or an empty one. */
export function list(value) {
  return Array.isArray(value) ? value : [];
}

/** A number with fixed decimals and a true minus sign: `−4.50 m/s²`; an en dash if there is none. */
export function number(value, decimals = 0, unit = "") {
  if (finite(value) === undefined) return "–";
  const huge = Math.abs(value) >= 1e9;
  const digits = huge ? value.toExponential(2) : value.toFixed(decimals);
  // Not "−0.0", which flickers beside "0.0" at rest.
  const sign = value < 0 && Number(digits) !== 0 ? minus : "";
  const space = unit === "" || unit === "°" ? "" : "\u00a0";
  return sign + digits.replace("-", "") + space + unit;
}

/** The number of a quantity such as `8 g` or `0.12 m/s²`, times the factor of its unit; `undefined` if it is none. */
export function quantity(value, factors) {
  if (finite(value) !== undefined) return value;
  const [, digits, unit] = /^\s*([-+\d.eE]+)\s*(\S+)\s*$/.exec(typeof value === "string" ? value : "") ?? [];
  const factor = Object.hasOwn(factors, unit ?? "") ? factors[unit] : undefined;
  return finite(Number(digits) * factor);
}

/** A count with groups of three digits: `12 345`. */
export function count(value) {
  if (finite(value) === undefined) return "–";
  const digits = number(value);
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** Whether milliseconds since 1970 are a date that can be shown. */
export function isTime(ms) {
  return finite(ms) !== undefined && ms >= 0 && ms < 253402300800000;
}

/** The local time of day of milliseconds since 1970: `14:03:59`. */
export function timeOfDay(ms) {
  if (!isTime(ms)) return "–";
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** A duration, easy to read at a glance: `41 s`, `12 min`, `3 h 12 min`, `5 d 3 h`. */
export function duration(seconds) {
  if (finite(seconds) === undefined) return "–";
  const whole = Math.floor(Math.max(0, Math.min(seconds, 1e9)));
  const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600), Math.floor(whole / 60)];
  if (whole < 60) return `${whole}\u00a0s`;
  if (whole < 3600) return `${minutes}\u00a0min`;
  if (whole < 86400) return `${hours}\u00a0h ${minutes % 60}\u00a0min`;
  return `${days}\u00a0d ${hours % 24}\u00a0h`;
}

/** How long ago milliseconds since 1970 were: `12 min ago`; `just now` for less than five seconds. */
export function ago(ms, now) {
  if (!isTime(ms) || !isTime(now)) return "–";
  const seconds = (now - ms) / 1000;
  return seconds < 5 ? "just now" : `${duration(seconds)} ago`;
}

/** Posts JSON. Resolves to the answer's JSON; rejects with an Error that has `code` and a message for people. */
export async function post(path, body) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", "X-Jostle": "1" },
      body: JSON.stringify(body),
    });
  } catch {
    throw failure("no_contact", "The page's server does not answer.");
  }
  const text = await response.text().catch(() => "");
  const answer = object(parse(text));
  if (response.ok) return answer;
  const seconds = Number(response.headers.get("Retry-After"));
  const error = failure(
    clean(answer.error) || String(response.status),
    clean(answer.message) || `The server answered with status ${response.status}.`,
  );
  error.status = response.status;
  if (seconds > 0) error.retryAfter = seconds;
  throw error;
}

/** The value of a JSON text, or `undefined` if it is none. */
export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failure(code, message) {
  const error = new Error(message);
  error.code = code;
  return error;
}
