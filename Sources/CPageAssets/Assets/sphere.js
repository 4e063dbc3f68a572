// The magnetic field as the board turns: calibrated readings lie on a sphere, whose radius is the strength of the field.
import { element, figures, list, number, numbers, setText } from "./text.js";
import { drawLine, isInSight, observeSight, prepare } from "./plots.js";

/** The most readings that are kept, and for how long, ms. */
const [capacity, longest] = [2000, 300000];
/** A reading so near to the last one, µT, says nothing new: at rest there is only noise. */
const step = 4;
/** Milliseconds between two pictures. */
const slowest = 100;
/** From which part of the sphere on the deviation is judged, and what part of the strength is little and much. */
const [enough, little, much] = [0.3, 0.03, 0.08];

/** Directions that are spread evenly over the sphere; each stands for an equal part of it. */
const directions = Array.from({ length: 100 }, (_, index) => {
  const [z, turn] = [1 - (2 * index + 1) / 100, index * Math.PI * (3 - Math.sqrt(5))];
  const radius = Math.sqrt(1 - z * z);
  return [radius * Math.cos(turn), radius * Math.sin(turn), z];
});

function nearest([x, y, z]) {
  let [best, most] = [0, -Infinity];
  directions.forEach((one, index) => {
    const along = one[0] * x + one[1] * y + one[2] * z;
    if (along > most) [best, most] = [index, along];
  });
  return best;
}

/** From where one looks: the axes to the right and upwards, and the one towards the viewer with its sign. */
const views = [
  { name: "from above", right: 0, up: 1, depth: 2, sign: 1 },
  { name: "from the front", right: 0, up: 2, depth: 1, sign: -1 },
];

export class SphereView {
  #readings = [];
  #isChanged = false;
  #drawnAt = -Infinity;

  constructor(root) {
    const row = figures(["of the sphere seen", "strength", "deviation"]);
    this.values = row.values;
    this.canvas = element("canvas", { role: "img" });
    this.note = element("p", { class: "muted" });
    const again = element("button", { type: "button", onclick: () => this.clear(), "aria-label": "Start again with the readings of the field" }, "Start again");
    const caption = element("figcaption", { text: "The field along the board's axes, pale where it was some minutes ago" });
    this.root = element("div", { class: "sphere", hidden: true }, element("figure", {}, caption, this.canvas), row.root, this.note,
      element("div", { class: "tools" }, again));
    root.append(this.root);
    observeSight(this.canvas);
  }

  /** Takes the readings of a message, µT. */
  take(rows, at) {
    for (const row of list(rows).slice(0, 200)) {
      const field = numbers(row, 3);
      const strength = Math.hypot(...(field ?? []));
      if (!(strength > 0 && strength < 10000)) continue;
      const last = this.#readings.at(-1);
      if (last && Math.hypot(...field.map((part, axis) => part - last.field[axis])) < step) continue;
      this.#readings.push({ field, strength, part: nearest(field), at });
      this.#isChanged = true;
      this.root.hidden = false;
    }
    // The oldest go when something new comes: at rest nothing is drawn anew.
    const { length } = this.#readings;
    let old = Math.max(0, length - capacity);
    while (old < length && this.#readings[old].at < at - longest) old += 1;
    if (old > 0 && this.#isChanged) this.#readings.splice(0, old);
  }

  clear() {
    this.#readings = [];
    this.#isChanged = true;
  }

  get isDue() {
    return this.#isChanged && !this.root.hidden && isInSight(this.canvas) && this.canvas.clientWidth > 100;
  }

  draw(colors, at) {
    if (!this.isDue || at - this.#drawnAt < slowest) return;
    this.#isChanged = false;
    this.#drawnAt = at;
    const readings = this.#readings;
    const strengths = readings.map(({ strength }) => strength).sort((one, other) => one - other);
    const median = strengths[strengths.length >> 1];
    const seen = new Set(readings.map(({ part }) => part)).size / directions.length;
    const deviation = Math.sqrt(strengths.reduce((sum, one) => sum + (one - median) ** 2, 0) / strengths.length);
    this.#say(seen, median, deviation);
    this.canvas.dataset.readings = readings.length;
    const { pen } = prepare(this.canvas);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const radius = Math.min(width / 4, height / 2) - 16;
    const scale = radius / Math.max(1.1 * (median || 50), strengths.at(-1) || 0);
    views.forEach((view, index) => this.#drawView(pen, colors, view, { x: (width * (2 * index + 1)) / 4, y: height / 2 - 8, radius, scale, median, at }));
  }

  #drawView(pen, colors, { name, right, up, depth, sign }, { x, y, radius, scale, median, at }) {
    const [toX, toY] = [(field) => x + scale * field[right], (field) => y - scale * field[up]];
    const dot = (field, size) => {
      pen.beginPath();
      pen.arc(toX(field), toY(field), size, 0, 2 * Math.PI);
      pen.fill();
    };
    Object.assign(pen, { lineWidth: 1, globalAlpha: 1, font: colors.font, textAlign: "center", textBaseline: "middle" });
    drawLine(pen, colors.grid, x - radius, y, x + radius, y);
    drawLine(pen, colors.grid, x, y - radius, x, y + radius);
    for (const isNear of [false, true]) {
      pen.fillStyle = colors.axes[2];
      for (const { field, at: time } of this.#readings) {
        if (sign * field[depth] >= 0 !== isNear) continue;
        pen.globalAlpha = (isNear ? 1 : 0.5) * (1 - 0.7 * Math.min(1, (at - time) / longest));
        dot(field, isNear ? 2.4 : 1.6);
      }
      pen.globalAlpha = 1;
      if (isNear || !(median > 0)) continue;
      // The sphere, between what is behind it and what is before it.
      pen.strokeStyle = colors.text;
      pen.beginPath();
      pen.arc(x, y, scale * median, 0, 2 * Math.PI);
      pen.stroke();
    }
    const last = this.#readings.at(-1);
    pen.fillStyle = colors.axes[0];
    if (last) dot(last.field, 4);
    pen.fillStyle = colors.text;
    pen.fillText("xyz"[right], x + radius + 9, y);
    pen.fillText("xyz"[up], x, y - radius - 8);
    pen.fillText(name, x, y + radius + 14);
  }

  #say(seen, strength, deviation) {
    const part = deviation / strength;
    const texts = [number(100 * seen, 0, "%"), number(strength, 1, "µT"), number(deviation, 1, "µT")];
    texts.forEach((text, index) => setText(this.values[index], text));
    this.canvas.setAttribute("aria-label",
      `Readings of the magnetometer from above and from the front: ${texts[0]} of the sphere seen, strength ${texts[1]}, deviation ${texts[2]} RMS`);
    const isKnown = seen >= enough && part >= 0;
    setText(this.note, !isKnown ? "Turn the board in all directions: so few say nothing about the calibration."
      : part < little ? "The readings lie on the sphere."
        : `The readings are ${part < much ? "a little" : "far"} off the sphere: iron on the board is not corrected, or iron is near.`);
    this.note.className = !isKnown ? "muted" : part < little ? "fine" : "alert";
  }
}
