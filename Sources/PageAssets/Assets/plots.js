// Curves of the last seconds on canvases, drawn anew for each frame of the display.
import { element, number, setText } from "./text.js";

const margin = { left: 46, right: 22, top: 8, bottom: 20 };
/** A scale that is too large is kept for this many ms, so that it does not jump while something swings. */
const patience = 2500;
/** Milliseconds without a new value for which slow messages still mean the same value. */
const holds = 65000;

/** The colours of the page for canvases, read again when the colour scheme changes. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    axes: [read("--x"), read("--y"), read("--z")], text: read("--muted"), grid: read("--grid"), line: read("--line"),
    accent: read("--accent"), soft: read("--accent-soft"), warn: read("--warn"), font: `12px ${read("--font")}`,
  };
}

/** Makes the canvas as sharp as the display, and returns its context and its size in CSS pixels. */
export function prepare(canvas) {
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

/** Steps of 1, 2 or 5 times a power of ten, about `count` of them in `span`. */
export function niceStep(span, count) {
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10);
}

/** Horizontal lines with figures from `low` to `high`. */
export function drawGrid(pen, colors, area, low, high, toY) {
  const step = niceStep(high - low, Math.max(2, (area.bottom - area.top) / 34));
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  Object.assign(pen, { fillStyle: colors.text, font: colors.font, textAlign: "right", textBaseline: "middle", lineWidth: 1 });
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-6; value += step) {
    const y = Math.round(toY(value)) + 0.5;
    pen.strokeStyle = Math.abs(value) < step / 2 ? colors.line : colors.grid;
    pen.beginPath();
    pen.moveTo(area.left, y);
    pen.lineTo(area.right, y);
    pen.stroke();
    pen.fillText(number(value, decimals), area.left - 6, y);
  }
}

/** A curve of one column, reduced to at most four points for each pixel: first, least, greatest and last value. */
class Curve {
  constructor() {
    this.x = new Float32Array(4096);
    this.y = new Float32Array(4096);
    this.isStart = new Uint8Array(4096);
  }

  /** Reads the rows; `bucket` is the width of a pixel in ms. The buckets stand still in time, so that nothing flickers. */
  read(series, column, from, to, left, bucket, wrap) {
    const values = series.columns[column];
    const { times, flags, size } = series;
    const origin = Math.floor(left / bucket);
    [this.length, this.low, this.high, this.last] = [0, Infinity, -Infinity, NaN];
    let [current, first, least, most, previous, starts, t] = [-1, 0, 0, 0, NaN, true, 0];
    for (let row = from; row < to; row += 1) {
      const at = row % size;
      const value = values[at];
      const isLost = (flags[at] & 1) !== 0 || Number.isNaN(value) || Math.abs(value - previous) > wrap;
      const index = Math.floor(times[at] / bucket) - origin;
      if (isLost || index !== current) {
        if (current >= 0) this.#flush(current, first, least, most, previous, starts);
        if (current >= 0) starts = false;
        // A slow message says that nothing changed since the one before.
        if (!isLost && flags[at] === 0 && times[at] - t > 400 && current >= 0) this.#add(index, previous, false);
        if (isLost) starts = true;
        [current, first, least, most] = [Number.isNaN(value) ? -1 : index, value, value, value];
      } else if (value < least) least = value;
      else if (value > most) most = value;
      previous = value;
      t = times[at];
    }
    if (current >= 0) this.#flush(current, first, least, most, previous, starts);
    this.origin = origin;
    this.last = previous;
    this.lastTime = t;
  }

  #flush(index, first, least, most, last, starts) {
    if (least < this.low) this.low = least;
    if (most > this.high) this.high = most;
    this.#add(index, first, starts);
    if (least !== most) {
      this.#add(index, least, false);
      this.#add(index, most, false);
      this.#add(index, last, false);
    }
  }

  #add(x, y, starts) {
    if (this.length === this.x.length) this.#grow();
    this.x[this.length] = x;
    this.y[this.length] = y;
    this.isStart[this.length] = starts ? 1 : 0;
    this.length += 1;
  }

  #grow() {
    for (const name of ["x", "y", "isStart"]) {
      const larger = new this[name].constructor(2 * this[name].length);
      larger.set(this[name]);
      this[name] = larger;
    }
  }

  draw(pen, color, x0, scale, toY, heldTo) {
    pen.strokeStyle = color;
    pen.beginPath();
    for (let index = 0; index < this.length; index += 1) {
      const [x, y] = [x0 + this.x[index] * scale, toY(this.y[index])];
      if (this.isStart[index]) pen.moveTo(x, y);
      pen.lineTo(x, y);
    }
    if (heldTo !== undefined && this.length > 0) pen.lineTo(heldTo, toY(this.last));
    pen.stroke();
  }
}

/** The range of a scale: grows at once, shrinks after a while. */
class Scale {
  low = NaN;
  high = NaN;
  #largeSince = 0;

  constructor(least) {
    this.least = least;
  }

  fit(low, high, at) {
    if (!(low <= high)) return;
    const middle = (low + high) / 2;
    const span = Math.max(this.least, (high - low) * 1.1);
    const step = niceStep(span, 4);
    const wanted = [Math.floor((middle - span / 2) / step) * step, Math.ceil((middle + span / 2) / step) * step];
    const isOutside = !(low >= this.low && high <= this.high);
    if (this.high - this.low <= 1.6 * (wanted[1] - wanted[0])) this.#largeSince = at;
    if (!isOutside && at - this.#largeSince < patience) return;
    [this.low, this.high] = wanted;
    this.#largeSince = at;
  }
}

/** One canvas with three curves and a legend with their values. */
export class Plot {
  #curves = [new Curve(), new Curve(), new Curve()];
  #visible = true;

  constructor(root, { title, unit, series, columns, names, decimals, least, wrap = Infinity }) {
    Object.assign(this, { unit, series, columns, names, decimals, wrap });
    this.scale = new Scale(least);
    this.values = names.map(() => element("output", { class: "figure", "aria-live": "off", text: "–" }));
    const legend = names.map((name, index) =>
      element("li", { class: "xyz"[index] }, element("b", { text: name }), " ", this.values[index]));
    this.canvas = element("canvas", { role: "img", "aria-label": `${title} over time, ${unit}` });
    root.append(
      element("figure", { class: "plot" },
        element("figcaption", {}, element("span", {}, title, " ", element("small", { text: unit })), element("ul", { class: "legend" }, ...legend)),
        this.canvas));
    this.observer = new IntersectionObserver(([entry]) => (this.#visible = entry.isIntersecting));
    this.observer.observe(this.canvas);
  }

  /** Draws what was measured from `right` − `span` to `right`, ms; `isLive`: the last value still holds. */
  draw(colors, right, span, at, isLive) {
    if (!this.#visible || this.canvas.clientWidth === 0) return;
    const { pen, width, height } = prepare(this.canvas);
    const area = { left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom };
    const left = right - span;
    const bucket = span / (area.right - area.left);
    const from = Math.max(this.series.first, this.series.find(left) - 1);
    const to = this.series.find(right + 1);
    let [low, high] = [Infinity, -Infinity];
    this.#curves.forEach((curve, index) => {
      curve.read(this.series, this.columns[index], from, to, left, bucket, this.wrap);
      low = Math.min(low, curve.low);
      high = Math.max(high, curve.high);
    });
    this.scale.fit(low, high, at);
    const scale = Number.isNaN(this.scale.low) ? { low: -1, high: 1 } : this.scale;
    const toY = (value) => area.bottom - ((value - scale.low) / (scale.high - scale.low)) * (area.bottom - area.top);
    drawGrid(pen, colors, area, scale.low, scale.high, toY);
    this.#drawTime(pen, colors, area, right, span);
    const held = isLive && to > from && !this.series.isStreamed(to - 1) && right - this.#curves[0].lastTime < holds;
    pen.save();
    pen.beginPath();
    pen.rect(area.left, 0, width - area.left, height);
    pen.clip();
    Object.assign(pen, { lineWidth: 1.5, lineJoin: "bevel" });
    this.#curves.forEach((curve, index) =>
      curve.draw(pen, colors.axes[index], area.left + (curve.origin + 0.5) - left / bucket, 1, toY, held ? area.right : undefined));
    pen.restore();
    this.#drawNames(pen, colors, area, toY);
  }

  #drawTime(pen, colors, area, right, span) {
    const step = niceStep(span, Math.max(2, (area.right - area.left) / 90));
    Object.assign(pen, { textAlign: "center", textBaseline: "alphabetic", strokeStyle: colors.grid });
    for (let time = Math.ceil((right - span) / step) * step; time <= right; time += step) {
      const x = area.right - ((right - time) / span) * (area.right - area.left);
      pen.beginPath();
      pen.moveTo(x, area.top);
      pen.lineTo(x, area.bottom);
      pen.stroke();
      // The figures move with the curves; those at the edges would be cut.
      const date = new Date(time);
      const text = `${String(date.getMinutes()).padStart(2, "0")}:${String(date.getSeconds()).padStart(2, "0")}`;
      if (x > area.left + 16 && x < area.right - 8) pen.fillText(text, x, area.bottom + 15);
    }
  }

  /** Names at the ends of the curves, so that nobody has to tell them by colour; moved apart where they would overlap. */
  #drawNames(pen, colors, area, toY) {
    const ends = this.#curves.map((curve, index) => ({ index, y: toY(curve.last) })).filter(({ y }) => Number.isFinite(y));
    ends.sort((one, other) => one.y - other.y);
    for (let pass = 1; pass < ends.length; pass += 1) ends[pass].y = Math.max(ends[pass].y, ends[pass - 1].y + 12);
    const excess = ends.length > 0 ? Math.max(0, ends[ends.length - 1].y - area.bottom) : 0;
    Object.assign(pen, { textAlign: "left", textBaseline: "middle", font: `bold ${colors.font}` });
    for (const { index, y } of ends) {
      pen.fillStyle = colors.axes[index];
      pen.fillText(this.names[index][0], area.right + 6, y - excess);
    }
  }

  /** Writes the newest values into the legend; called twice a second. */
  update() {
    const { series } = this;
    if (series.count === 0) return;
    const at = (series.count - 1) % series.size;
    this.columns.forEach((column, index) =>
      setText(this.values[index], number(series.columns[column][at], this.decimals)));
  }

  close() {
    this.observer.disconnect();
  }
}

/** The plots of acceleration, rotation and attitude, with the choice of the time that they show. */
export class Plots {
  /** The right edge while paused, ms; `null` while live. */
  #pausedAt = null;
  #span = 10000;

  constructor(root, feed) {
    this.feed = feed;
    const choice = element("select", { id: "span", onchange: (event) => (this.#span = 1000 * Number(event.target.value)) },
      ...[5, 10, 30, 60].map((seconds) => element("option", { value: seconds, selected: seconds === 10, text: `${seconds} s` })));
    this.button = element("button", { type: "button", "aria-keyshortcuts": "p", "aria-pressed": "false", onclick: () => this.toggle() }, "Pause");
    this.tools = element("div", { class: "tools" }, element("label", { for: "span", text: "Show" }), choice, this.button);
    const area = element("div", { class: "plots" });
    root.append(this.tools, area);
    const names = ["x", "y", "z"];
    this.plots = [
      new Plot(area, { title: "Acceleration", unit: "m/s²", series: feed.samples, columns: [0, 1, 2], names, decimals: 2, least: 2 }),
      new Plot(area, { title: "Rotation", unit: "°/s", series: feed.samples, columns: [3, 4, 5], names, decimals: 1, least: 10 }),
      new Plot(area, { title: "Attitude", unit: "°", series: feed.angles, columns: [0, 1, 2], names: ["roll", "pitch", "yaw"], decimals: 1, least: 10, wrap: 180 }),
    ];
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.recolor = () => (this.colors = palette());
    this.scheme.addEventListener("change", this.recolor);
    this.recolor();
  }

  /** The time that the plots show, ms. */
  get shown() {
    const to = this.#pausedAt ?? this.feed.now(performance.now());
    return { from: to - this.#span, to };
  }

  /** Pauses or goes on; samples are collected all the same. */
  toggle() {
    this.#pausedAt = this.#pausedAt === null ? this.shown.to : null;
    const isPaused = this.#pausedAt !== null;
    this.button.setAttribute("aria-pressed", String(isPaused));
    setText(this.button, isPaused ? "Go on" : "Pause");
  }

  draw(at, isLive) {
    const { to } = this.shown;
    const right = Number.isFinite(to) ? to : Date.now();
    for (const plot of this.plots) plot.draw(this.colors, right, this.#span, at, isLive && this.#pausedAt === null);
  }

  update() {
    for (const plot of this.plots) plot.update();
  }

  close() {
    this.scheme.removeEventListener("change", this.recolor);
    for (const plot of this.plots) plot.close();
  }
}
