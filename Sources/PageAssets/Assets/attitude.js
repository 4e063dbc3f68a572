// The board in three dimensions, turned exactly as the real one.
//
// Conventions. The body frame is right-handed: x to the right of the board, y to its upper edge, z out of its face. The
// earth frame is right-handed with z up. The quaternion (w, x, y, z) rotates body vectors into earth vectors: v' = R v.
//
// CSS has x to the right, y DOWN and z towards the viewer. Both frames are drawn with x = CSS x, y = −CSS y, z = CSS z,
// so with F = diag(1, −1, 1) the matrix of the element is F R F. It is the identity for the identity quaternion, and a
// positive rotation about z turns the board counter-clockwise for somebody who looks at it from above. The element
// around it, the scene, is tilted once and for all, so that one looks at the horizontal plane from above and from the
// front: earth z is up on the screen, earth x to the right, earth y away.
import { element, number, setText } from "./text.js";
import { eulerAngles } from "./recording.js";

const camera = "rotateX(58deg) rotateZ(-24deg)";
const cameraBack = "rotateZ(24deg) rotateX(-58deg)";
/** Milliseconds between two changes of the text, and of the picture if the reader wants less motion. */
const slow = 500;

/** The CSS matrix (column by column) of a unit quaternion w, x, y, z; the transposed one with the signs of x, y, z swapped. */
export function bodyMatrix([w, x, y, z]) {
  const r = [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
  const column = (j, sign) => [sign * r[0][j], -sign * r[1][j], sign * r[2][j], 0];
  return [...column(0, 1), ...column(1, -1), ...column(2, 1), 0, 0, 0, 1];
}

function css(q) {
  return `matrix3d(${bodyMatrix(q).map((part) => part.toFixed(6)).join()})`;
}

/** Draws the newest attitude of a feed, and says it in words beside it. */
export class AttitudeView {
  #shown = null;
  #drawnAt = -Infinity;
  #textAt = -Infinity;
  #reduced = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(root, feed, counters) {
    this.feed = feed;
    this.counters = counters;
    this.board = element("div", { id: "board-3d", class: "body3d" });
    for (const side of ["top", "bottom", "left", "right", "front", "back"]) {
      this.board.append(element("div", { class: `face ${side}` }));
    }
    this.board.firstChild.append(element("span", { class: "chip3d", text: "JOSTLE" }));
    this.labels = ["x", "y", "z"].map((axis) => this.#addAxis(axis));
    const scene = element("div", { class: "scene" }, element("div", { class: "ground" }), this.board);
    scene.style.transform = camera;
    this.angles = ["roll", "pitch", "yaw"].map((name) => {
      const value = element("dd", { class: "figure", text: "–" });
      return { name, value };
    });
    this.age = element("p", { class: "muted age" });
    root.append(
      element("div", { class: "stage", "aria-hidden": "true" }, scene),
      element("dl", { class: "angles" }, ...this.angles.map(({ name, value }) => element("div", {}, element("dt", { text: name }), value))),
      this.age,
    );
  }

  #addAxis(axis) {
    const label = element("b", { class: `tip ${axis}`, text: axis });
    // Two crossed strips, so that one of them is visible from every direction.
    this.board.append(
      element("i", { class: `axis ${axis}` }), element("i", { class: `axis ${axis} crossed` }), label);
    return label;
  }

  /** Draws, if there is a new attitude. Called for each frame, without any delay for smoothing. */
  draw(at) {
    const { attitude } = this.feed;
    if (!attitude || attitude === this.#shown) return;
    if (this.#reduced.matches && at - this.#drawnAt < slow) return;
    this.#shown = attitude;
    this.#drawnAt = at;
    const { q, t } = attitude;
    this.board.style.transform = css(q);
    this.board.dataset.q = q.map((part) => part.toFixed(6)).join();
    this.board.dataset.t = t;
    this.#turnLabels(q);
    this.counters.lastShown.t = t;
    this.counters.lastShown.at = performance.timeOrigin + performance.now();
    if (at - this.#textAt >= slow) this.#write(at);
  }

  /** Says the attitude in words, and how old it is. Called twice a second. */
  update(at, age) {
    if (this.#shown && at - this.#textAt >= slow) this.#write(at);
    setText(this.age, age);
  }

  /** The labels of the axes always face the viewer: they undo the rotation of the board and of the scene. */
  #turnLabels([w, x, y, z]) {
    const back = `${css([w, -x, -y, -z])} ${cameraBack}`;
    const tips = ["translate3d(112px,0,0)", "translate3d(0,-86px,0)", "translate3d(0,0,72px)"];
    this.labels.forEach((label, axis) => {
      label.style.transform = `${tips[axis]} ${back}`;
    });
  }

  #write(at) {
    this.#textAt = at;
    eulerAngles(this.#shown.q).forEach((angle, index) => setText(this.angles[index].value, number(angle, 1, "°")));
  }
}
