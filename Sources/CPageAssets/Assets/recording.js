// The samples of a board: read from its messages, kept for ten minutes, and saved as a recording file.
import { clean, count, element, finite, isTime, list, numbers, object, quantity, setText } from "./text.js";

/** Ten minutes at 200 Hz. */
const capacity = 120000;
const radiansPerDegree = Math.PI / 180;
/** Flags of a row: something is missing before it; it is from the stream. */
const [broken, streamed] = [1, 2];
const none = [NaN, NaN, NaN];

/** Rows of a time and some values, numbered from the first ever, in a ring: the oldest are overwritten. */
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

  get lastTime() {
    return this.count > 0 ? this.times[(this.count - 1) % this.size] : -Infinity;
  }

  /** Appends a row, always later than the last one: files and searches need that. */
  push(time, values, flags) {
    const at = this.count % this.size;
    this.times[at] = Math.max(time, this.lastTime + 0.002);
    this.columns.forEach((column, index) => (column[at] = values[index]));
    this.flags[at] = flags;
    this.count += 1;
  }

  /** The first row not before `time`. */
  find(time) {
    let [low, high] = [this.first, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle % this.size] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  isStreamed(row) {
    return (this.flags[row % this.size] & streamed) !== 0;
  }
}

/** Roll, pitch and yaw in degrees: intrinsic Z-Y'-X'' angles of a quaternion w, x, y, z. */
export function eulerAngles([w, x, y, z]) {
  return [
    Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
    Math.asin(Math.max(-1, Math.min(1, 2 * (w * y - z * x)))),
    Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
  ].map((angle) => angle / radiansPerDegree);
}

function unitQuaternion(value) {
  const q = require(numbers(value, 4));
  const length = Math.hypot(...q);
  require(length > 0.5 && length < 2);
  return q.map((part) => part / length);
}

function require(value) {
  if (value === undefined || value === false) throw new TypeError("unexpected shape");
  return value;
}

function requireTime({ t }) {
  require(isTime(t));
  return t;
}

/** Reads `stream`, `motion` and `attitude` into series that have one continuous time. */
export class SampleFeed {
  /** Acceleration (m/s², gravity included) and rotation (°/s); roll, pitch and yaw in degrees. */
  samples = new Series(6);
  angles = new Series(3);
  /** The newest attitude: its quaternion `q`, and the time `t` of its sample by the board's clock. */
  attitude;
  /** Streamed samples, those lost on the way, and their rate, Hz. */
  received = 0;
  lost = 0;
  rate = NaN;

  #next;
  #shift = 0;
  #streamAt = -Infinity;
  #attitudeAt = -Infinity;
  #offset = NaN;
  #offsetAt = 0;

  /** Whether samples were streamed within a second; `at` is of `performance.now()`. */
  isStreaming(at) {
    return at - this.#streamAt < 1000;
  }

  /** The time now by the board's clock. */
  now(at) {
    return at + this.#offset;
  }

  /** Reads a message. Throws if it has the wrong shape; nothing is stored then. */
  handle(name, data, at) {
    // Nothing was lost while nobody listened.
    if (name === "hello") this.#next = undefined;
    else if (name === "stream") this.#readStream(object(data), at);
    else if (name === "motion") this.#readMotion(object(data), at);
    else if (name === "attitude") this.#readAttitude(object(data), at);
  }

  #readStream(data, at) {
    const vectors = (rows) => list(rows).map((row) => require(numbers(row, 3)));
    const [acceleration, rotation] = [vectors(data.acceleration), vectors(data.rotation)];
    const attitude = list(data.attitude).map(unitQuaternion);
    const length = Math.max(acceleration.length, rotation.length, attitude.length);
    const period = 1000 * (finite(data.period) ?? 0);
    const t = requireTime(data);
    require(length > 0 && length < 5000 && period >= 0 && period < 10000 && (period > 0 || length === 1));
    const start = this.#continuous(t, t + period * (length - 1), at);
    const gap = start - this.samples.lastTime;
    const isNext = this.#isNext(finite(data.n), length, Math.max(1, finite(data.every) ?? 1)) && !(gap > 2500 / this.rate);
    if (period > 0) this.rate = 1000 / period;
    // Messages of one sample each: their distance is the period, but for some jitter.
    else if (isNext && gap < 1000) this.rate = 1000 / (0.95 * (1000 / this.rate || gap) + 0.05 * gap);
    const flags = isNext ? streamed : streamed | broken;
    for (let row = 0; row < length; row += 1) {
      const [time, flag] = [start + row * period, row === 0 ? flags : streamed];
      this.samples.push(time, [...(acceleration[row] ?? none), ...(rotation[row] ?? none)], flag);
      if (attitude[row]) this.angles.push(time, eulerAngles(attitude[row]), flag);
    }
    this.received += length;
    this.#streamAt = at;
    if (attitude.length === 0) return;
    this.#attitudeAt = at;
    this.attitude = { q: attitude.at(-1), t: t + (attitude.length - 1) * period };
  }

  /** Whether the message with the sample `n` follows the one before; counts what is missing. */
  #isNext(n, length, every) {
    const missing = (n - this.#next) / every;
    if (missing > 0) this.lost += Math.round(missing);
    this.#next = n + length * every;
    return !(Math.abs(missing) > 0);
  }

  #readMotion(data, at) {
    const t = requireTime(data);
    const [acceleration, gravity] = [require(numbers(data.acceleration, 3)), require(numbers(data.gravity, 3))];
    if (this.isStreaming(at)) return;
    const sum = acceleration.map((part, axis) => part + gravity[axis]);
    this.samples.push(this.#continuous(t, t, at), [...sum, ...(numbers(data.rotation, 3) ?? none)], 0);
  }

  #readAttitude(data, at) {
    const t = requireTime(data);
    const q = unitQuaternion(data.q);
    // Beside the stream it says nothing new, only later.
    if (at - this.#attitudeAt < 1000) return;
    this.attitude = { q, t };
    this.angles.push(this.#continuous(t, t, at), eulerAngles(q), 0);
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
    if (last > 0 && (isPast || isFuture)) this.#shift = Math.max(this.now(at), last) - end;
    // The message with the shortest delay tells best; the estimate yields slowly, because clocks drift.
    const offset = end + this.#shift - at;
    const yielded = this.#offset - 0.002 * (at - this.#offsetAt);
    this.#offset = Math.abs(offset - yielded) < 5000 ? Math.max(offset, yielded) : offset;
    this.#offsetAt = at;
    return time + this.#shift;
  }
}

/** The rows of a recording file (docs/command-line.md) as parts of a Blob, how many, and the time of the first. */
export function recordingRows(series, from, to, isWanted) {
  const parts = [];
  let start;
  for (let row = Math.max(from, series.first); row < to; row += 1) {
    const at = row % series.size;
    const [ax, ay, az, ...rates] = series.columns.map((column) => column[at]);
    if (!isWanted(row) || Number.isNaN(ax)) continue;
    start ??= series.times[at];
    const turned = rates.map((rate) => (Number.isNaN(rate) ? "" : (rate * radiansPerDegree).toFixed(6)));
    parts.push(`${((series.times[at] - start) / 1000).toFixed(6)},${ax.toFixed(5)},${ay.toFixed(5)},${az.toFixed(5)},${turned}\n`);
  }
  return { parts, start };
}

/** The buttons that record samples and save them as a file. They change nothing on the board. */
export class RecordingControls {
  #from = null;
  #ranges = [];

  constructor(root, feed, boardID, plots) {
    Object.assign(this, { feed, boardID, plots });
    this.button = element("button", { type: "button", onclick: () => this.#toggle() }, "Record");
    this.status = element("span", { class: "muted", role: "status" });
    root.append(this.button, element("button", { type: "button", onclick: () => this.#saveShown() }, "Save what is shown"), this.status);
  }

  /** Learns the measuring ranges, which belong into the file. */
  takeSettings(settings) {
    const { accelerometer_range: acceleration, gyroscope_range: rotation } = object(settings.sensor);
    this.#ranges = [
      ["accelerometer_range_m_s2", quantity(acceleration, { g: 9.80665, "m/s²": 1 })],
      ["gyroscope_range_rad_s", quantity(rotation, { "°/s": radiansPerDegree })],
    ].filter(([, range]) => range > 0).map(([name, range]) => `${name}: ${range.toFixed(4)}`);
  }

  get isRecording() {
    return this.#from !== null;
  }

  /** Says how much is recorded; called twice a second. */
  update(at) {
    if (this.#from === null) return;
    const rows = this.feed.samples.count - this.#from;
    const more = rows > capacity ? ", the newest are kept" : this.feed.isStreaming(at) ? "" : ", but none arrive now";
    setText(this.status, `Recording: ${count(Math.min(rows, capacity))} samples${more}`);
  }

  #toggle() {
    const { samples } = this.feed;
    const from = this.#from;
    this.#from = from === null ? samples.count : null;
    setText(this.button, from === null ? "Stop and save" : "Record");
    this.button.classList.toggle("recording", from === null);
    if (from !== null) this.#save(from, samples.count);
  }

  #saveShown() {
    const { samples } = this.feed;
    this.#save(...this.plots.shown.map((time) => samples.find(time)));
  }

  #save(from, to) {
    const { samples } = this.feed;
    let { parts, start } = recordingRows(samples, from, to, (row) => samples.isStreamed(row));
    // Without a stream, the slower messages are better than nothing.
    if (parts.length === 0) ({ parts, start } = recordingRows(samples, from, to, () => true));
    setText(this.status, parts.length > 0 ? `Saved ${count(parts.length)} samples.` : "There are no samples to save.");
    if (parts.length === 0) return;
    const when = new Date(start).toISOString();
    const head = [`board: ${clean(this.boardID)}`, `time of the first sample: ${when}`, ...this.#ranges];
    parts.unshift(...head.map((line) => `# ${line}\n`), "t_s,ax,ay,az,gx,gy,gz\n");
    const href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
    const name = `${this.boardID.replace(/[^\w.-]+/g, "_").slice(0, 60)}-${when.slice(0, 19).replaceAll(":", "-")}.csv`;
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  }
}
