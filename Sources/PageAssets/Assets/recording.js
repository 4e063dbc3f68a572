// The samples of a board: read from its messages, kept for ten minutes, and saved as a recording file.
import { clean, element, finite, list, number, numbers, object, quantity, setText } from "./text.js";

/** Ten minutes at 200 Hz. */
const capacity = 120000;
/** More samples than this in one message are not believed. */
const mostInMessage = 5000;
const radiansPerDegree = Math.PI / 180;

const broken = 1;
const streamed = 2;

/** Rows of a time and some values in a ring. Rows are numbered from the first ever; the oldest are overwritten. */
export class Series {
  constructor(columns, size = capacity) {
    this.size = size;
    this.times = new Float64Array(size);
    this.columns = Array.from({ length: columns }, () => new Float32Array(size));
    this.flags = new Uint8Array(size);
    this.count = 0;
  }

  /** The number of the oldest row that is still there. */
  get first() {
    return Math.max(0, this.count - this.size);
  }

  /** The time of the newest row, or `-Infinity`. */
  get lastTime() {
    return this.count > 0 ? this.times[(this.count - 1) % this.size] : -Infinity;
  }

  /** Appends a row, always later than the last one; `flags`: something is missing before it; it came from the stream. */
  push(time, values, flags) {
    const at = this.count % this.size;
    this.times[at] = Math.max(time, this.lastTime + 0.002);
    for (let column = 0; column < this.columns.length; column += 1) this.columns[column][at] = values[column];
    this.flags[at] = flags;
    this.count += 1;
  }

  /** The first row not before `time`: binary search. */
  find(time) {
    let [low, high] = [this.first, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle % this.size] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  isBroken(row) {
    return (this.flags[row % this.size] & broken) !== 0;
  }

  isStreamed(row) {
    return (this.flags[row % this.size] & streamed) !== 0;
  }

  /** A copy of some rows, which no later row overwrites. */
  copy(from, to) {
    const made = new Series(this.columns.length, Math.max(1, to - from));
    for (let row = from; row < to; row += 1) {
      const at = row % this.size;
      made.push(this.times[at], this.columns.map((column) => column[at]), this.flags[at]);
    }
    return made;
  }
}

/** Roll, pitch and yaw in degrees: intrinsic Z-Y'-X'' angles of the quaternion w, x, y, z. */
export function eulerAngles([w, x, y, z]) {
  return [
    Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) / radiansPerDegree,
    Math.asin(Math.max(-1, Math.min(1, 2 * (w * y - z * x)))) / radiansPerDegree,
    Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) / radiansPerDegree,
  ];
}

/** A unit quaternion, or `undefined` if the value is none. */
export function unitQuaternion(value) {
  const q = numbers(value, 4);
  const length = q ? Math.hypot(...q) : 0;
  return length > 0.5 && length < 2 ? q.map((part) => part / length) : undefined;
}

/** Reads `stream`, `motion` and `attitude` into series with one continuous time, and keeps the newest attitude. */
export class SampleFeed {
  /** Acceleration (m/s², gravity included) and rotation (°/s); angles in degrees. */
  samples = new Series(6);
  angles = new Series(3);
  /** The newest attitude: quaternion, and the time of its sample in ms since 1970 by the board's clock. */
  attitude = null;
  /** Streamed samples so far, those that were lost on the way, and the rate, Hz. */
  received = 0;
  lost = 0;
  rate = NaN;

  #next = NaN;
  #shift = 0;
  #streamAt = -Infinity;
  #attitudeAt = -Infinity;
  #offset = NaN;
  #offsetAt = 0;

  /** Whether samples were streamed in the last second; `at` is of `performance.now()`. */
  isStreaming(at) {
    return at - this.#streamAt < 1000;
  }

  /** The time now by the board's clock, estimated from its fastest messages. */
  now(at) {
    return at + this.#offset;
  }

  /** Reads a message; throws if it has the wrong shape. Nothing is stored then. */
  handle(name, data, at) {
    if (name === "stream") this.#readStream(object(data), at);
    if (name === "motion") this.#readMotion(object(data), at);
    if (name === "attitude") this.#readAttitude(object(data), at);
  }

  #readStream(data, at) {
    const vectors = (value) => list(value).map((item) => require(numbers(item, 3)));
    const acceleration = vectors(data.acceleration);
    const rotation = vectors(data.rotation);
    const attitude = list(data.attitude).map((item) => require(unitQuaternion(item)));
    const length = Math.max(acceleration.length, rotation.length, attitude.length);
    const period = 1000 * (finite(data.period) ?? 0);
    const step = Math.max(1, finite(data.every) ?? 1);
    const time = require(finite(data.t));
    require(length > 0 && length <= mostInMessage && period >= 0 && period < 10000 && (length === 1 || period > 0));
    const first = this.#continuous(time, time + period * (length - 1), at);
    const n = finite(data.n);
    const follows = n === undefined || n === this.#next;
    if (n > this.#next) this.lost += Math.round((n - this.#next) / step);
    this.#next = (n ?? NaN) + length * step;
    if (period > 0) this.rate = 1000 / period;
    const usual = 2.5 * (period || 1000 / this.rate || 1000);
    const none = [NaN, NaN, NaN];
    for (let index = 0; index < length; index += 1) {
      const t = first + index * period;
      const flags = streamed | (index === 0 && (!follows || t - this.samples.lastTime > usual) ? broken : 0);
      this.samples.push(t, [...(acceleration[index] ?? none), ...(rotation[index] ?? none)], flags);
      if (attitude[index]) this.angles.push(t, eulerAngles(attitude[index]), flags);
    }
    this.received += length;
    this.#streamAt = at;
    const newest = attitude[attitude.length - 1];
    if (!newest) return;
    this.#attitudeAt = at;
    this.attitude = { q: newest, t: time + (attitude.length - 1) * period };
  }

  #readMotion(data, at) {
    const time = require(finite(data.t));
    const acceleration = require(numbers(data.acceleration, 3));
    const gravity = require(numbers(data.gravity, 3));
    if (this.isStreaming(at)) return;
    const t = this.#continuous(time, time, at);
    const rotation = numbers(data.rotation, 3) ?? [NaN, NaN, NaN];
    this.samples.push(t, [...acceleration.map((part, axis) => part + gravity[axis]), ...rotation], 0);
  }

  #readAttitude(data, at) {
    const time = require(finite(data.t));
    const q = require(unitQuaternion(data.q));
    // Beside the stream it says nothing new, only later.
    if (at - this.#attitudeAt < 1000) return;
    this.attitude = { q, t: time };
    this.angles.push(this.#continuous(time, time, at), eulerAngles(q), 0);
  }

  /**
   * Maps a time of the board to one that goes on when the board's clock is set, and learns how it relates to ours. `end` is
   * the time of the message's last sample.
   */
  #continuous(time, end, at) {
    const last = Math.max(this.samples.lastTime, this.angles.lastTime);
    const isPast = time + this.#shift < last - 500;
    // A message may be late, but only one from a clock that was set runs ahead of its arrival.
    const isFuture = end + this.#shift > Math.max(this.now(at), last) + 2000;
    if (last > -Infinity && (isPast || isFuture)) this.#shift = Math.max(this.now(at), last) - end;
    this.#learn(end + this.#shift - at, at);
    return time + this.#shift;
  }

  /** The message with the shortest delay tells the offset best; the estimate yields slowly, because clocks drift. */
  #learn(offset, at) {
    const yielded = this.#offset - 0.002 * (at - this.#offsetAt);
    const isStale = !(Math.abs(offset - this.#offset) < 5000);
    this.#offset = isStale ? offset : Math.max(offset, yielded);
    this.#offsetAt = at;
  }
}

function require(value) {
  if (value === undefined || value === false) throw new TypeError("unexpected shape");
  return value;
}

/** The rows of a recording file (docs/command-line.md), as parts of a Blob; `null` if there is no row. */
export function recordingParts(series, from, to, comments, onlyStreamed) {
  const parts = [comments.map((line) => `# ${clean(line)}\n`).join("") + "t_s,ax,ay,az,gx,gy,gz\n"];
  let [start, rows] = [NaN, 0];
  for (let row = Math.max(from, series.first); row < to; row += 1) {
    const at = row % series.size;
    const value = (column) => series.columns[column][at];
    if (onlyStreamed && !series.isStreamed(row)) continue;
    if (!Number.isFinite(value(0))) continue;
    if (Number.isNaN(start)) start = series.times[at];
    const seconds = ((series.times[at] - start) / 1000).toFixed(6);
    const rates = [3, 4, 5].map((column) => value(column) * radiansPerDegree);
    const turned = rates.every(Number.isFinite) ? rates.map((rate) => rate.toFixed(6)).join() : ",,";
    parts.push(`${seconds},${value(0).toFixed(5)},${value(1).toFixed(5)},${value(2).toFixed(5)},${turned}\n`);
    rows += 1;
  }
  return rows > 0 ? { parts, rows, start } : null;
}

/** The buttons that record samples and save them as a file; they work for everybody, without a change on the board. */
export class RecordingControls {
  #from = null;
  #full = null;

  constructor(root, feed, boardID, shown) {
    this.feed = feed;
    this.boardID = boardID;
    this.shown = shown;
    this.ranges = [];
    this.button = element("button", { type: "button", onclick: () => this.#toggle() }, "Record");
    const save = element("button", { type: "button", onclick: () => this.#saveShown() }, "Save what is shown");
    this.status = element("span", { class: "muted", role: "status" });
    root.append(this.button, save, this.status);
  }

  /** Learns the measuring ranges from the settings, which belong into the file. */
  takeSettings(settings) {
    const sensor = object(settings.sensor);
    const acceleration = quantity(sensor.accelerometer_range, { g: 9.80665, "m/s²": 1 });
    const rotation = quantity(sensor.gyroscope_range, { "°/s": radiansPerDegree });
    this.ranges = [];
    if (acceleration > 0) this.ranges.push(`accelerometer_range_m_s2: ${acceleration.toFixed(4)}`);
    if (rotation > 0) this.ranges.push(`gyroscope_range_rad_s: ${rotation.toFixed(4)}`);
  }

  /** Keeps the status true; called twice a second. */
  update(at) {
    if (this.#from === null) return;
    const samples = this.feed.samples;
    const rows = this.#full?.count ?? samples.count - this.#from;
    if (!this.#full && rows >= capacity) this.#full = samples.copy(samples.first, samples.count);
    const trouble = this.#full ? "; no more fits into it" : this.feed.isStreaming(at) ? "" : "; no samples arrive now";
    setText(this.status, `Recording: ${number(Math.min(rows, capacity))} samples${trouble}`);
  }

  #toggle() {
    if (this.#from === null) {
      this.#from = this.feed.samples.count;
      setText(this.button, "Stop and save");
      this.button.classList.add("recording");
      return;
    }
    const series = this.#full ?? this.feed.samples;
    const from = this.#full ? 0 : this.#from;
    this.#from = null;
    this.#full = null;
    setText(this.button, "Record");
    this.button.classList.remove("recording");
    this.#save(series, from, series.count, true);
  }

  #saveShown() {
    const { from, to } = this.shown();
    const series = this.feed.samples;
    const rows = [series.find(from), series.find(to)];
    // Without a stream, the slower messages are better than nothing.
    if (!this.#save(series, ...rows, true)) this.#save(series, ...rows, false);
  }

  #save(series, from, to, onlyStreamed) {
    const start = series.times[Math.max(from, series.first) % series.size];
    const when = new Date(Number.isFinite(start) ? start : 0).toISOString();
    const comments = [`board: ${this.boardID}`, `time of the first sample: ${when}`, ...this.ranges];
    const made = recordingParts(series, from, to, comments, onlyStreamed);
    if (!made) {
      setText(this.status, "There are no samples to save.");
      return false;
    }
    const name = clean(this.boardID).replace(/[^\w.-]+/g, "_").slice(0, 60);
    const url = URL.createObjectURL(new Blob(made.parts, { type: "text/csv" }));
    const link = element("a", { href: url, download: `${name}-${when.slice(0, 19).replace(/:/g, "-")}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    setText(this.status, `Saved ${made.rows} samples.`);
    return true;
  }
}
