// Vibration: how strong, at which frequencies, and whether that is what the board takes for a running machine.
import { MachineView } from "./machine.js";
import { drawGrid, isInSight, niceStep, observeSight, Plot, prepare } from "./plots.js";
import { Series } from "./recording.js";
import { duration, element, figures, finite, isTime, number, object, quantity, setText, timeOfDay } from "./text.js";

const length = 1024;
/** How the recognizer derives its threshold: each step of sensitivity divides it; a running machine needs less. */
const [sensitivityStep, hysteresis] = [1.25, 0.7];
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Transforms complex values in place: radix 2, decimation in time. */
function transform(re, im) {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i += 1) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j], im[i], im[j]] = [re[j], re[i], im[j], im[i]];
  }
  for (let half = 1; half < n; half *= 2) {
    for (let k = 0; k < half; k += 1) {
      const [c, s] = [Math.cos((Math.PI * k) / half), -Math.sin((Math.PI * k) / half)];
      for (let even = k; even < n; even += 2 * half) {
        const odd = even + half;
        const [x, y] = [re[odd] * c - im[odd] * s, re[odd] * s + im[odd] * c];
        [re[odd], im[odd], re[even], im[even]] = [re[even] - x, im[even] - y, re[even] + x, im[even] + y];
      }
    }
  }
}

/** The mean square in each bin, (m/s²)², summed over the axes: without their mean, through a von Hann window. */
export function powerSpectrum(axes) {
  const n = axes[0].length;
  const power = new Float64Array(n / 2);
  for (const values of axes) {
    const middle = mean(values);
    const re = Float64Array.from(values, (value, i) => (value - middle) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / n)));
    const im = new Float64Array(n);
    transform(re, im);
    // The window passes 3/8 of the power, and half of what remains is at negative frequencies.
    for (let bin = 1; bin < n / 2; bin += 1) power[bin] += (2 * (re[bin] ** 2 + im[bin] ** 2)) / (0.375 * n * n);
  }
  return power;
}

/** RMS of some bins without the flat part of the spectrum, the sensor's noise: as the recognizer of the board computes it. */
export function vibrationLevel(bins) {
  let noise = mean(bins);
  for (let pass = 0; pass < 4; pass += 1) noise = mean(bins.filter((value) => value < 2 * noise)) || noise;
  return Math.sqrt(Math.max(0, (mean(bins) - Math.min(noise / 0.87, 0.09 / bins.length)) * bins.length));
}

/** The strongest frequency from bin `first` on, in bins; between two of them if they share its power. */
export function peakBin(power, first) {
  let best = first;
  for (let bin = first; bin < power.length; bin += 1) if (power[bin] > power[best]) best = bin;
  const [before, peak, after] = [power[best - 1], power[best], power[best + 1] ?? 0].map(Math.sqrt);
  const ratio = Math.max(before, after) / (peak || 1);
  const offset = Math.max(0, Math.min(0.5, (2 * ratio - 1) / (1 + ratio)));
  return best + (after > before ? offset : -offset);
}

/** The section about vibration. */
export class VibrationView {
  #levels = new Series(1, 1200);
  #settings = {};
  #state = {};
  #running = {};

  constructor(root, feed, context) {
    Object.assign(this, { root, feed, connection: context.connection });
    const row = figures(["machine", "level", "strongest at", "ran today"]);
    this.values = row.values;
    this.machine = new MachineView(context);
    root.append(row.root, this.machine.root);
    const title = "Spectrum of all axes, m/s² RMS over Hz";
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    this.note = element("p", { class: "muted" });
    root.append(element("figure", {}, element("figcaption", { text: title }), this.canvas));
    observeSight(this.canvas);
    const plot = { title: "Level in the last 5 minutes", unit: "m/s² RMS", series: this.#levels, columns: [0], names: ["level"] };
    this.plot = new Plot(root, { ...plot, decimals: 2, least: 0.2, floor: 0 });
    root.append(this.note);
  }

  handle(name, data) {
    if (name === "reported") this.#settings = object(object(object(object(data).settings).gestures).vibration);
    if (name === "state") this.#state = object(data);
    if (name === "running") this.#running = object(data);
    this.machine.handle(name, data);
  }

  /** Computes and draws; called twice a second. `until`: when the board was last heard, if it is silent. */
  update(colors, at, until) {
    const { threshold: base, sensitivity, minimum_frequency: lowest } = this.#settings;
    const usual = quantity(base, { "m/s²": 1, g: 9.80665 }) / sensitivityStep ** (finite(sensitivity) - 5);
    const limit = usual > 0 ? usual * (this.#state.vibrating === true ? hysteresis : 1) : undefined;
    // Out of sight no spectrum is computed; the level is the one that the board reports.
    const streams = this.feed.isStreaming(at) && !this.root.hidden;
    const spectrum = streams ? this.#compute(quantity(lowest, { Hz: 1 }) ?? 2.5) : undefined;
    const level = spectrum?.level ?? (streams ? undefined : finite(this.#state.vibration));
    const now = this.connection.serverNow();
    // Flags: 3 is a value with something missing before it.
    if (level !== undefined && until === undefined) this.#levels.push(now, [level], now - this.#levels.lastTime > 2000 ? 3 : 2);
    const { today_seconds: counted, since, t } = this.#running;
    // The server counted until `t`, and the machine has run on since.
    const today = isTime(since) && isTime(t) ? counted + Math.max(0, (until ?? now) - t) / 1000 : counted;
    // The peak of the noise alone means nothing.
    const peak = level > 0.02 ? number(spectrum?.frequency, 1, "Hz") : "–";
    const runs = isTime(since) ? `, since ${timeOfDay(since).slice(0, 5)}` : "";
    const texts = [this.machine.phase(until), number(level, 3, "m/s²"), peak, duration(today) + runs + this.machine.runsToday()];
    this.values[0].parentElement.hidden = !this.machine.isKnown;
    this.values.forEach((value, index) => setText(value, texts[index]));
    setText(this.note, this.#words(streams, spectrum, limit));
    this.#drawSpectrum(colors, spectrum);
    this.machine.draw(colors);
    this.plot.draw(colors, now, 300000, at, false, limit);
  }

  /** Whether the board learns what its machine is like: none of these keys has a value. */
  get #isLearned() {
    const { threshold, done_after: doneAfter, minimum_frequency: frequency } = this.#settings;
    return [threshold, doneAfter, frequency].every((value) => value === "auto");
  }

  #words(streams, spectrum, limit) {
    const data = !streams
      ? "Without the stream of samples there is no spectrum; the level is the one that the board reports. "
      : spectrum ? "" : `The spectrum needs ${length} samples without a gap. `;
    if (this.#isLearned) return `${data}There is no threshold: the board compares each octave with what it has learnt.`;
    if (limit === undefined) return `${data}No threshold is drawn, because the board has not reported threshold and sensitivity.`;
    const off = this.#settings.enabled === false ? ", but the gesture is disabled" : "";
    return `${data}From ${number(limit, 3, "m/s²")} on, the board takes this for a running machine${off}.`;
  }

  /** The spectrum of the newest samples; `undefined` if too few follow one another without a gap. */
  #compute(lowest) {
    const { samples, rate } = this.feed;
    const from = samples.count - length;
    const rows = Array.from({ length }, (_, index) => (from + index) % samples.size);
    // Flags: 2 is a streamed sample with nothing missing before it.
    if (from < samples.first || rows.some((row, index) => samples.flags[row] !== 2 && index > 0)) return undefined;
    const power = powerSpectrum([0, 1, 2].map((axis) => rows.map((row) => samples.columns[axis][row])));
    const width = rate / length;
    const first = Math.max(2, Math.ceil(lowest / width));
    if (!(first < power.length - 1) || Number.isNaN(power[1])) return undefined;
    return { power, width, first, level: vibrationLevel(power.subarray(first)), frequency: peakBin(power, first) * width };
  }

  #drawSpectrum(colors, spectrum) {
    if (!isInSight(this.canvas)) return;
    const { pen, area } = prepare(this.canvas);
    if (!spectrum || area.right < area.left) return;
    const { power, width, first } = spectrum;
    const most = 1.1 * Math.max(0.01, Math.sqrt(power.subarray(first).reduce((one, other) => Math.max(one, other))));
    const step = niceStep(most, 3);
    const high = step * Math.ceil(most / step);
    const scale = (area.right - area.left) / power.length;
    pen.fillStyle = colors.grid;
    pen.fillRect(area.left, area.top, first * scale, area.bottom - area.top);
    const toY = drawGrid(pen, colors, area, 0, high, step);
    pen.textAlign = "center";
    const mark = niceStep(width * power.length, (area.right - area.left) / 60);
    for (let hertz = 0; hertz < width * power.length; hertz += mark) {
      pen.fillText(number(hertz), area.left + (hertz / width) * scale, area.bottom + 12);
    }
    Object.assign(pen, { strokeStyle: colors.axes[2], fillStyle: colors.soft, lineWidth: 1.5, lineJoin: "bevel" });
    pen.beginPath();
    // Slower movement than counts as vibration may be much stronger; it is cut off.
    for (let bin = 1; bin < power.length; bin += 1) pen.lineTo(area.left + bin * scale, toY(Math.min(high, Math.sqrt(power[bin]))));
    pen.stroke();
    pen.lineTo(area.right, area.bottom);
    pen.lineTo(area.left, area.bottom);
    pen.fill();
  }
}
