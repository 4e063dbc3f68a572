// Curves over time on canvases, drawn anew for each frame of the display.
import { element, number, setText } from "./text.js";

const margin = { left: 46, right: 22, top: 8, bottom: 20 };
/** Milliseconds for which a scale that is too large is kept, so that it does not jump while something swings. */
const patience = 2500;
const steps = [1, 2, 5, 10, 15, 30, 60].map((seconds) => 1000 * seconds);

/** Elements out of sight: nothing is drawn there. The page may be busy for a while: each entry counts, the last one most. */
const unseen = new WeakSet();
const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) unseen.delete(target);
    else unseen.add(target);
    target.dispatchEvent(new Event("sight", { bubbles: true }));
  }
});

/** Observes from now on whether an element is in sight; an event `sight` says that this may have changed. */
export function observeSight(target) {
  sight.observe(target);
}

export function isInSight(target) {
  return !unseen.has(target);
}

/** The page's colours for canvases. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["x", "y", "z", "muted", "grid", "border", "accent-soft", "warn", "bad", "font"];
  const [x, y, z, text, grid, border, soft, warn, bad, font] = names
    .map((name) => style.getPropertyValue(`--${name}`).trim());
  return { axes: [x, y, z], text, grid, border, soft, warn, bad, font: `12px ${font}` };
}

/** Makes a canvas as sharp as the display and clears it. Returns its context and the area for curves, CSS pixels. */
export function prepare(canvas) {
  const ratio = Math.min(3, devicePixelRatio || 1);
  const { clientWidth: width, clientHeight: height } = canvas;
  const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== columns || canvas.height !== rows) Object.assign(canvas, { width: columns, height: rows });
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, area: { left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom } };
}

/** The smallest step of 1, 2 or 5 times a power of ten that divides `span` into at most `count` parts. */
export function niceStep(span, count) {
  const power = 10 ** Math.floor(Math.log10(span / count));
  return power * ([1, 2, 5].find((factor) => factor * power * count >= span * 0.999) ?? 10);
}

/** Draws a straight line. */
export function drawLine(pen, color, x0, y0, x1, y1) {
  pen.strokeStyle = color;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

/** Horizontal lines with figures from `low` to `high`. Returns the function from a value to its y. */
export function drawGrid(pen, colors, { left, right, top, bottom }, low, high, step) {
  const toY = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const decimals = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
  Object.assign(pen, { fillStyle: colors.text, font: colors.font, textAlign: "right", textBaseline: "middle", lineWidth: 1 });
  for (let index = Math.ceil(low / step - 1e-6); index * step <= high * (1 + 1e-6) + 1e-9; index += 1) {
    const y = Math.round(toY(index * step)) + 0.5;
    drawLine(pen, index === 0 ? colors.border : colors.grid, left, y, right, y);
    pen.fillText(number(index * step, decimals), left - 6, y);
  }
  return toY;
}

/** One column of a series, reduced to the least and the greatest value in each pixel, in their order. */
class Curve {
  x = [];
  y = [];
  starts = [];

  /** Reads rows. A bucket is as many ms as a pixel; buckets stand still in time, so that nothing flickers. */
  read({ times, columns, flags, size }, column, from, to, bucket, origin, wrap) {
    for (const points of [this.x, this.y, this.starts]) points.length = 0;
    Object.assign(this, { low: Infinity, high: -Infinity, last: NaN });
    const values = columns[column];
    let [current, least, most, isRising, isStart, time] = [NaN, 0, 0, true, true, 0];
    for (let row = from; row < to; row += 1) {
      const at = row % size;
      const value = values[at];
      const isBroken = (flags[at] & 1) !== 0 || Number.isNaN(value) || Math.abs(value - this.last) > wrap;
      const index = Math.floor(times[at] / bucket) - origin;
      if (isBroken || index !== current) {
        this.#flush(current, least, most, isRising, isStart);
        // A slow message comes when something changed: until then, the one before held.
        if (flags[at] === 0 && times[at] - time > 400) this.#add(index, this.last, false);
        isStart = isBroken;
        [current, least, most] = [index, value, value];
      } else if (value < least) [least, isRising] = [value, false];
      else if (value > most) [most, isRising] = [value, true];
      this.last = value;
      time = times[at];
    }
    this.#flush(current, least, most, isRising, isStart);
  }

  #flush(x, least, most, isRising, isStart) {
    this.#add(x, isRising ? least : most, isStart);
    if (least !== most) this.#add(x, isRising ? most : least, false);
  }

  #add(x, y, isStart) {
    if (Number.isNaN(x) || Number.isNaN(y)) return;
    if (y < this.low) this.low = y;
    if (y > this.high) this.high = y;
    this.x.push(x);
    this.y.push(y);
    this.starts.push(isStart);
  }

  draw(pen, color, shift, toY, heldTo) {
    pen.strokeStyle = color;
    pen.beginPath();
    for (let index = 0; index < this.x.length; index += 1) {
      const [x, y] = [this.x[index] + shift, toY(this.y[index])];
      if (this.starts[index]) pen.moveTo(x, y);
      pen.lineTo(x, y);
    }
    if (heldTo !== undefined) pen.lineTo(heldTo, toY(this.last));
    pen.stroke();
  }
}

/** The range of a scale: grows at once, shrinks after a while. */
class Scale {
  low = -1;
  high = -1;
  #largeSince = 0;

  /** Fits all values; `least` is the smallest range, `isCircle` that they are angles in a circle. */
  fit(low, high, least, isCircle, at) {
    const span = Math.max(least, 1.15 * (high - low));
    const isLarge = isCircle && span > 180;
    const step = isLarge ? 90 : niceStep(span, 3);
    const edge = (middle, half, round) => (isLarge ? 2 * Math.sign(half) : round((middle + half) / step)) * step;
    const wanted = [edge((low + high) / 2, -span / 2, Math.floor), edge((low + high) / 2, span / 2, Math.ceil)];
    if (this.high - this.low <= 1.6 * (wanted[1] - wanted[0])) this.#largeSince = at;
    const fits = low >= this.low && high <= this.high;
    if (fits && at - this.#largeSince < patience) return;
    [this.low, this.high, this.step] = [...wanted, step];
  }
}

/** A canvas with up to three curves, and a legend with their values. */
export class Plot {
  #scale = new Scale();

  /** `least`: smallest range; `floor`: lowest end of the scale; `isCircle`: angles from −180° to 180°. */
  constructor(root, options) {
    Object.assign(this, options);
    const { title, unit, names } = options;
    this.curves = names.map(() => new Curve());
    this.values = names.map(() => element("span", { class: "value", text: "–" }));
    const legend = names.map((text, index) => element("li", { class: "xyz"[index] }, element("b", { text }), this.values[index]));
    this.canvas = element("canvas", { role: "img", "aria-label": `${title} over time, ${unit}` });
    const caption = element("figcaption", {}, `${title}, ${unit}`, names.length > 1 && element("ul", { class: "legend" }, legend));
    root.append(element("figure", {}, caption, this.canvas));
    observeSight(this.canvas);
  }

  /** Draws the `span` ms before `right`. `holds`: the last slow value is still true. `limit`: a value to mark. */
  draw(colors, right, span, at, holds, limit) {
    if (!isInSight(this.canvas) || this.canvas.clientWidth < 100) return;
    const { pen, area } = prepare(this.canvas);
    const { series, columns, curves } = this;
    const left = right - span;
    const bucket = span / (area.right - area.left);
    const origin = Math.floor(left / bucket);
    const [from, to] = [Math.max(series.first, series.find(left) - 1), series.find(right)];
    const wrap = this.isCircle ? 180 : Infinity;
    curves.forEach((curve, index) => curve.read(series, columns[index], from, to, bucket, origin, wrap));
    const low = Math.min(this.floor ?? Infinity, ...curves.map((curve) => curve.low));
    const high = Math.max(limit ?? -Infinity, ...curves.map((curve) => curve.high));
    this.#scale.fit(low <= high ? low : 0, low <= high ? high : 0, this.least, this.isCircle, at);
    const bottom = Math.max(this.#scale.low, this.floor ?? -Infinity);
    const toY = drawGrid(pen, colors, area, bottom, this.#scale.high, this.#scale.step);
    this.#drawTimes(pen, colors, area, right, span);
    const isHeld = holds && to > from && !series.isStreamed(to - 1);
    pen.save();
    pen.beginPath();
    pen.rect(area.left, 0, area.right - area.left, area.bottom + 2);
    pen.clip();
    Object.assign(pen, { lineWidth: 1.5, lineJoin: "bevel" });
    const shift = area.left + 0.5 + origin - left / bucket;
    const heldTo = isHeld ? area.right : undefined;
    curves.forEach((curve, index) => curve.draw(pen, colors.axes.at(index - curves.length), shift, toY, heldTo));
    pen.restore();
    if (limit !== undefined) this.#drawLimit(pen, colors.warn, area, toY(limit));
    if (curves.length > 1) this.#drawNames(pen, colors, area, toY);
  }

  #drawTimes(pen, colors, { left, right, top, bottom }, end, span) {
    const scale = (right - left) / span;
    const step = steps.find((one) => one * scale >= 64) ?? 60000;
    Object.assign(pen, { textAlign: "center", textBaseline: "alphabetic" });
    for (let time = Math.ceil((end - span) / step) * step; time <= end; time += step) {
      const x = right - (end - time) * scale;
      drawLine(pen, colors.grid, x, top, x, bottom);
      const digits = new Date(time).toTimeString();
      if (x > left + 16 && x < right - 8) pen.fillText(step < 60000 ? digits.slice(3, 8) : digits.slice(0, 5), x, bottom + 15);
    }
  }

  #drawLimit(pen, color, { left, right }, y) {
    pen.setLineDash([6, 4]);
    drawLine(pen, color, left, y, right, y);
    pen.setLineDash([]);
    Object.assign(pen, { fillStyle: color, textAlign: "left", textBaseline: "bottom" });
    pen.fillText("threshold", left + 6, y - 2);
  }

  /** Names at the ends of the curves, so that nobody has to tell them by colour; moved apart where they would overlap. */
  #drawNames(pen, colors, area, toY) {
    const ends = this.curves.map(({ last }, index) => ({ index, y: toY(last) })).filter(({ y }) => Number.isFinite(y));
    ends.sort((one, other) => one.y - other.y);
    ends.forEach((end, index) => (end.y = Math.max(end.y, index > 0 ? ends[index - 1].y + 12 : area.top)));
    const excess = Math.max(0, ends.at(-1)?.y - area.bottom || 0);
    Object.assign(pen, { textAlign: "left", textBaseline: "middle", font: `bold ${colors.font}` });
    for (const { index, y } of ends) {
      pen.fillStyle = colors.axes[index];
      pen.fillText(this.names[index][0], area.right + 6, y - excess);
    }
  }

  /** Writes the newest values into the legend; called twice a second. */
  update() {
    const { series } = this;
    const at = (series.count - 1) % series.size;
    if (at < 0) return;
    this.columns.forEach((column, index) => setText(this.values[index], number(series.columns[column][at], this.decimals)));
  }
}

/** The plots of acceleration, rotation and attitude, with the choice of the time that they show. */
export class Plots {
  /** The right edge while paused, ms. */
  #pausedAt;
  #span = 10000;

  constructor(root, feed) {
    this.feed = feed;
    const options = [5, 10, 30, 60].map((value) => element("option", { value, selected: value === 10, text: `${value} s` }));
    const choice = element("select", { onchange: () => (this.#span = 1000 * choice.value) }, options);
    const onclick = () => this.toggle();
    this.button = element("button", { type: "button", "aria-keyshortcuts": "p", title: "key: p", onclick }, "Pause");
    this.tools = element("div", { class: "tools" }, element("label", {}, "Show ", choice), this.button);
    root.append(this.tools);
    const xyz = { series: feed.samples, names: ["x", "y", "z"] };
    const angles = { series: feed.angles, columns: [0, 1, 2], names: ["roll", "pitch", "yaw"] };
    this.plots = [
      new Plot(root, { ...xyz, columns: [0, 1, 2], title: "Acceleration", unit: "m/s²", decimals: 2, least: 2 }),
      new Plot(root, { ...xyz, columns: [3, 4, 5], title: "Rotation", unit: "°/s", decimals: 1, least: 10 }),
      new Plot(root, { ...angles, title: "Attitude", unit: "°", decimals: 1, least: 10, isCircle: true }),
    ];
  }

  /** The beginning and the end of the time that is shown, ms. */
  get shown() {
    const end = this.#pausedAt ?? this.feed.now(performance.now());
    return [end - this.#span, end];
  }

  /** Pauses or goes on; samples are collected all the same. */
  toggle() {
    this.#pausedAt = this.#pausedAt === undefined ? this.shown[1] : undefined;
    setText(this.button, this.#pausedAt === undefined ? "Pause" : "Go on");
  }

  /** Draws a frame. `holds`: what the board last published is still true. */
  draw(colors, at, holds) {
    const end = this.shown[1] || Date.now();
    for (const plot of this.plots) plot.draw(colors, end, this.#span, at, holds && this.#pausedAt === undefined);
  }

  update() {
    for (const plot of this.plots) plot.update();
  }

  get areInSight() {
    return this.plots.some(({ canvas }) => isInSight(canvas));
  }

  get isPaused() {
    return this.#pausedAt !== undefined;
  }
}
