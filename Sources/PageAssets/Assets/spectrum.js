// Vibration: how strong, at which frequencies, and whether that is what the board takes for a running machine.
import { duration, element, finite, isTime, number, object, quantity, setText, timeOfDay } from "./text.js";
import { drawGrid, niceStep, palette, prepare } from "./plots.js";
import { Series } from "./recording.js";

const length = 1024;
/** Minutes of the level that are shown. */
const minutes = 5;
/** Each step of sensitivity divides the threshold by this, and a running machine needs only a share of it. */
const sensitivityStep = 1.25;
const hysteresis = 0.7;

/** Transforms 1024 complex values in place: radix 2, decimation in time. */
export function transform(re, im) {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i += 1) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j], im[i], im[j]] = [re[j], re[i], im[j], im[i]];
  }
  for (let size = 2; size <= n; size *= 2) {
    for (let k = 0; k < size / 2; k += 1) {
      const [c, s] = [Math.cos((2 * Math.PI * k) / size), -Math.sin((2 * Math.PI * k) / size)];
      for (let even = k; even < n; even += size) {
        const odd = even + size / 2;
        const [x, y] = [re[odd] * c - im[odd] * s, re[odd] * s + im[odd] * c];
        [re[odd], im[odd], re[even], im[even]] = [re[even] - x, im[even] - y, re[even] + x, im[even] + y];
      }
    }
  }
}

/** The mean square in each bin, (m/s²)², of columns of values, summed: without the mean, through a von Hann window. */
export function powerSpectrum(columns) {
  const n = columns[0].length;
  const power = new Float64Array(n / 2);
  for (const column of columns) {
    const mean = column.reduce((sum, value) => sum + value, 0) / n;
    const re = Float64Array.from(column, (value, i) => (value - mean) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / n)));
    const im = new Float64Array(n);
    transform(re, im);
    // The window passes 3/8 of the power, and half of what remains is at negative frequencies.
    for (let bin = 1; bin < n / 2; bin += 1) power[bin] += (2 * (re[bin] ** 2 + im[bin] ** 2)) / (0.375 * n * n);
  }
  return power;
}

/** RMS from bin `first` on, without the flat part of the spectrum, which is the sensor's noise (at most 0.3 m/s²). */
export function vibrationLevel(power, first) {
  const bins = power.subarray(first);
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  let noise = mean(bins);
  for (let pass = 0; pass < 4; pass += 1) noise = mean(bins.filter((value) => value < 2 * noise)) || noise;
  const each = Math.min(noise / 0.87, 0.09 / power.length);
  return Math.sqrt(Math.max(0, (mean(bins) - each) * bins.length));
}

/** The frequency of the strongest peak, in bins, between two bins if its power is shared by them. */
export function peakBin(power, first) {
  let best = first;
  for (let bin = first; bin < power.length; bin += 1) if (power[bin] > power[best]) best = bin;
  const [before, peak, after] = [power[best - 1] ?? 0, power[best] ?? 0, power[best + 1] ?? 0].map(Math.sqrt);
  const ratio = Math.max(before, after) / (peak || 1);
  const offset = Math.max(0, Math.min(0.5, (2 * ratio - 1) / (1 + ratio)));
  return best + (after > before ? offset : -offset);
}

/** The section about vibration. */
export class VibrationView {
  #levels = new Series(1, 1200);
  #spectrum = null;
  #settings = {};
  #state = {};
  #running = {};
  #axes = [0, 1, 2];

  constructor(root, feed, connection) {
    this.feed = feed;
    this.connection = connection;
    const figure = (name) => {
      const value = element("dd", { class: "figure", text: "–" });
      root.firstChild.append(element("div", {}, element("dt", { text: name }), value));
      return value;
    };
    root.append(element("dl", { class: "angles" }));
    this.level = figure("level");
    this.frequency = figure("strongest at");
    this.today = figure("ran today");
    const choice = element("select", { "aria-label": "Axes of the spectrum", onchange: () => (this.#axes = choice.value.split("").map(Number)) },
      ...[["012", "all axes"], ["0", "x"], ["1", "y"], ["2", "z"]].map(([value, text]) => element("option", { value, text })));
    const canvas = (title, extra) => {
      const made = element("canvas", { role: "img", "aria-label": title });
      root.append(element("figure", { class: "plot" }, element("figcaption", {}, element("span", { text: title }), extra), made));
      return made;
    };
    this.spectrumCanvas = canvas("Spectrum, m/s² RMS over Hz", choice);
    this.levelCanvas = canvas(`Level, last ${minutes} minutes, m/s² RMS`);
    this.note = element("p", { class: "muted" });
    root.append(this.note);
  }

  handle(name, data) {
    if (name === "reported") this.#settings = object(object(object(object(data).settings).gestures).vibration);
    if (name === "state") this.#state = object(data);
    if (name === "running") this.#running = object(data);
  }

  /** The threshold in m/s² and the lowest frequency, or why there is none. */
  get limits() {
    const { threshold, sensitivity, minimum_frequency: lowest } = this.#settings;
    const base = quantity(threshold, { "m/s²": 1, g: 9.80665, mg: 0.00980665 });
    const isKnown = base > 0 && finite(sensitivity) !== undefined;
    const scale = this.#state.vibrating === true ? hysteresis : 1;
    return {
      lowest: quantity(lowest, { Hz: 1, kHz: 1000 }) ?? 2.5,
      threshold: isKnown ? (scale * base) / sensitivityStep ** (sensitivity - 5) : undefined,
    };
  }

  /** Computes the spectrum and draws; called twice a second. */
  update(at) {
    const { threshold, lowest } = this.limits;
    const streams = this.feed.isStreaming(at);
    this.#spectrum = streams ? this.#compute() : null;
    const level = this.#spectrum ? this.#spectrum.level : streams ? undefined : finite(this.#state.vibration);
    const now = this.connection.serverNow();
    if (level !== undefined) this.#levels.push(now, [level], 0);
    setText(this.level, number(level, 3, "m/s²"));
    // The peak of the noise alone means nothing.
    const isClear = this.#spectrum && level > 0.02;
    setText(this.frequency, isClear ? number(this.#spectrum.frequency, 1, "Hz") : "–");
    this.#writeToday(now);
    this.#writeNote(streams, threshold);
    const colors = palette();
    this.#drawSpectrum(colors, lowest);
    this.#drawLevels(colors, now, threshold);
  }

  /** The spectrum of the newest samples; `null` if too few follow one another without a gap. */
  #compute() {
    const { samples, rate } = this.feed;
    const from = samples.count - length;
    if (from < samples.first || !(rate > 0)) return null;
    for (let row = from + 1; row < samples.count; row += 1) if (samples.isBroken(row) || !samples.isStreamed(row)) return null;
    const column = (axis) => Float64Array.from({ length }, (_, i) => samples.columns[axis][(from + i) % samples.size]);
    const axes = [0, 1, 2].map(column);
    const width = rate / length;
    const first = Math.max(2, Math.ceil(this.limits.lowest / width));
    const all = powerSpectrum(axes);
    if (first >= all.length || !Number.isFinite(all[1])) return null;
    const shown = this.#axes.length === 3 ? all : powerSpectrum(this.#axes.map((axis) => axes[axis]));
    return { power: shown, width, level: vibrationLevel(all, first), frequency: peakBin(all, first) * width };
  }

  #writeToday(now) {
    const { today_seconds: seconds, since } = this.#running;
    const isRunning = isTime(since);
    setText(this.today, finite(seconds) === undefined ? "–" : duration(seconds));
    this.today.title = isRunning ? `it runs since ${timeOfDay(since)}` : "it does not run now";
    this.today.nextSibling?.remove();
    if (isRunning) this.today.after(element("small", { text: `runs since ${timeOfDay(since)}` }));
  }

  #writeNote(streams, threshold) {
    const notes = [];
    if (!streams) notes.push("Without the stream of samples there is no spectrum; the level is the one that the board reports.");
    else if (!this.#spectrum) notes.push(`The spectrum needs ${length} samples without a gap.`);
    if (threshold === undefined) notes.push("No threshold is drawn: the board has not reported gestures.vibration.threshold and sensitivity.");
    else notes.push(`From ${number(threshold, 3, "m/s²")} on, the board takes this for a running machine${this.#settings.enabled === false ? ", but the gesture is disabled" : ""}.`);
    setText(this.note, notes.join(" "));
  }

  #area(canvas) {
    const { pen, width, height } = prepare(canvas);
    return { pen, area: { left: 46, right: width - 10, top: 8, bottom: height - 20 } };
  }

  #drawSpectrum(colors, lowest) {
    const { pen, area } = this.#area(this.spectrumCanvas);
    if (!this.#spectrum || area.right < area.left) return;
    const { power, width } = this.#spectrum;
    const most = width * power.length;
    const high = this.#roof(Math.sqrt(power.subarray(2).reduce((one, other) => Math.max(one, other), 0)), 0.01);
    const toX = (hertz) => area.left + (hertz / most) * (area.right - area.left);
    const toY = (value) => area.bottom - (Math.min(value, high) / high) * (area.bottom - area.top);
    pen.fillStyle = colors.grid;
    pen.fillRect(area.left, area.top, toX(lowest) - area.left, area.bottom - area.top);
    drawGrid(pen, colors, area, 0, high, toY);
    pen.textAlign = "center";
    const step = niceStep(most, (area.right - area.left) / 60);
    for (let hertz = step; hertz < most; hertz += step) pen.fillText(number(hertz), toX(hertz), area.bottom + 12);
    pen.beginPath();
    pen.moveTo(area.left, area.bottom);
    for (let bin = 1; bin < power.length; bin += 1) pen.lineTo(toX(bin * width), toY(Math.sqrt(power[bin])));
    this.#paint(pen, colors, area);
  }

  #drawLevels(colors, now, threshold) {
    const { pen, area } = this.#area(this.levelCanvas);
    if (area.right < area.left) return;
    const series = this.#levels;
    const from = series.find(now - minutes * 60000);
    let most = threshold ?? 0;
    for (let row = from; row < series.count; row += 1) most = Math.max(most, series.columns[0][row % series.size]);
    const high = this.#roof(most, 0.1);
    const toX = (time) => area.right - ((now - time) / (minutes * 60000)) * (area.right - area.left);
    const toY = (value) => area.bottom - (value / high) * (area.bottom - area.top);
    drawGrid(pen, colors, area, 0, high, toY);
    pen.textAlign = "center";
    for (let ago = 1; ago < minutes; ago += 1) pen.fillText(`−${ago} min`, toX(now - ago * 60000), area.bottom + 12);
    pen.beginPath();
    if (from < series.count) pen.moveTo(toX(series.times[from % series.size]), area.bottom);
    for (let row = from; row < series.count; row += 1) pen.lineTo(toX(series.times[row % series.size]), toY(series.columns[0][row % series.size]));
    if (from < series.count) this.#paint(pen, colors, area, toX(series.lastTime));
    if (threshold === undefined) return;
    pen.setLineDash([6, 4]);
    Object.assign(pen, { strokeStyle: colors.warn, fillStyle: colors.warn, textAlign: "left", textBaseline: "bottom" });
    pen.beginPath();
    pen.moveTo(area.left, toY(threshold));
    pen.lineTo(area.right, toY(threshold));
    pen.stroke();
    pen.setLineDash([]);
    pen.fillText("threshold", area.left + 6, toY(threshold) - 2);
  }

  /** Strokes the path and fills what is below it. */
  #paint(pen, colors, area, end = area.right) {
    Object.assign(pen, { strokeStyle: colors.accent, fillStyle: colors.soft, lineWidth: 1.5, lineJoin: "bevel" });
    pen.stroke();
    pen.lineTo(end, area.bottom);
    pen.fill();
  }

  #roof(most, least) {
    const step = niceStep(Math.max(most, least), 3);
    return step * Math.ceil((1.05 * Math.max(most, least)) / step);
  }
}
