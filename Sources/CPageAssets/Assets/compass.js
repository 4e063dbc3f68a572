// The magnetometer: the heading on a compass, how sure it is, and the strength of the field. Hidden for boards without one.
import { clean, count, element, figures, finite, number, object, setText } from "./text.js";
import { svg } from "./pose.js";
import { SphereView } from "./sphere.js";

const qualities = {
  tracking: "The heading follows the field of the earth.",
  learning: "The heading is still uncertain. It becomes certain as the board turns.",
  disturbed: "The field is not that of the earth: iron, a magnet or a current is near. The gyroscope keeps the heading meanwhile.",
};
/** The field of the earth is this strong, µT, depending on the place. */
const earth = [22, 67];
const center = 100;

export class CompassView {
  #attitude = {};
  #health = {};
  #calibration;

  constructor(root) {
    this.root = root;
    const line = (angle, from, to, name) =>
      svg("line", { x1: center, y1: from, x2: center, y2: to, transform: `rotate(${angle} ${center} ${center})`, class: name });
    const ticks = Array.from({ length: 36 }, (_, index) => line(10 * index, 14, index % 9 === 0 ? 26 : 20, "tick"));
    const names = ["N", "E", "S", "W"].map((name, index) => {
      const angle = (index * Math.PI) / 2;
      const label = svg("text", { x: center + 64 * Math.sin(angle), y: center - 64 * Math.cos(angle) + 5, class: "point" });
      label.textContent = name;
      return label;
    });
    this.wedge = svg("path", { class: "wedge" });
    this.needle = svg("g", { class: "needle" });
    this.needle.append(this.wedge, svg("path", { d: "M100 22 L108 100 L100 150 L92 100 Z" }));
    this.picture = svg("svg", { viewBox: "0 0 200 200", role: "img", "aria-label": "Compass", class: "compass" });
    this.picture.append(svg("circle", { cx: center, cy: center, r: 88, class: "dial" }), ...ticks, ...names, this.needle);
    const row = figures(["heading", "uncertainty", "field"]);
    this.values = row.values;
    this.quality = element("p", { role: "status" });
    this.facts = element("p", { class: "muted" });
    root.classList.add("absent");
    root.append(this.picture, row.root, this.quality, this.facts);
    this.sphere = new SphereView(root);
  }

  handle(name, data) {
    if (name === "attitude") this.#attitude = object(data);
    else if (name === "health") this.#takeHealth(object(data));
    else if (name === "stream") return this.sphere.take(object(data).field, performance.now());
    else return;
    const isAbsent = finite(this.#attitude.heading) === undefined && Object.keys(this.#health).length === 0;
    this.root.classList.toggle("absent", isAbsent);
    // Nothing is drawn out of sight.
    if (!isAbsent && !this.root.hidden) this.show();
  }

  #takeHealth({ magnetometer, calibration }) {
    const source = object(calibration).magnetometer;
    // With another calibration the readings lie elsewhere.
    if (source !== this.#calibration) this.sphere.clear();
    [this.#health, this.#calibration] = [object(magnetometer), source];
  }

  show() {
    const { heading, heading_deviation: deviation, heading_quality: quality } = this.#attitude;
    const { name, state, fault, field, readings, failures } = this.#health;
    this.needle.classList.toggle("unknown", finite(heading) === undefined);
    if (finite(heading) !== undefined) {
      this.needle.setAttribute("transform", `rotate(${heading.toFixed(1)} ${center} ${center})`);
      this.picture.setAttribute("aria-label", `Compass: the x axis points to ${number(heading, 0, "°")}`);
    }
    const half = (Math.min(90, finite(deviation) ?? 0) * Math.PI) / 180;
    const edge = (sign) => `${center + sign * 78 * Math.sin(half)} ${center - 78 * Math.cos(half)}`;
    this.wedge.setAttribute("d", `M100 100 L${edge(-1)} A78 78 0 0 1 ${edge(1)} Z`);
    [number(heading, 1, "°"), `± ${number(deviation, 1, "°")}`, number(field, 1, "µT")]
      .forEach((text, index) => setText(this.values[index], text));
    setText(this.quality, qualities[quality] ?? clean(quality));
    this.quality.className = quality === "tracking" ? "fine" : quality ? "alert" : "";
    const isOdd = field < earth[0] || field > earth[1];
    setText(this.facts, [
      [clean(name), clean(state), clean(fault)].filter(Boolean).join(", "),
      finite(readings) !== undefined && `readings: ${count(readings)}, failures: ${count(failures)}`,
      isOdd && `the field of the earth has ${earth[0]} to ${earth[1]} µT`,
      this.#calibration ? `calibrated: ${clean(this.#calibration)}` : "not calibrated: do it in the tab Commands, or with jostle calibrate magnetometer on the board",
    ].filter(Boolean).join(" · "));
  }
}
