// The board in three dimensions, turned exactly as the real one.
//
// Conventions. The body frame is right-handed: x to the right of the board, y to its upper edge, z out of its face. The
// earth frame is right-handed with z up. The quaternion (w, x, y, z) rotates body vectors into earth vectors: v' = R v.
//
// CSS has x to the right, y DOWN and z towards the viewer. Both frames are drawn with x = CSS x, y = −CSS y, z = CSS z,
// so with F = diag(1, −1, 1) the matrix of the element is F R F. It is the identity for the identity quaternion, and a
// positive rotation about z is counter-clockwise for somebody who looks at the board from above. The element around it,
// the scene, has a fixed tilt, so that one looks at the horizontal plane from above and from the front: earth z is up on
// the screen, earth x to the right, earth y away.
import { element, figures, number, setText } from "./text.js";
import { isInSight, observeSight } from "./plots.js";
import { eulerAngles } from "./recording.js";

const [camera, cameraBack] = ["rotateX(58deg) rotateZ(-24deg)", "rotateZ(24deg) rotateX(-58deg)"];
const tips = ["126px,0,0", "0,-98px,0", "0,0,78px"];
/** Milliseconds between changes of the picture for who wants less motion. */
const slow = 500;
/** Quaternions whose product is so close to 1 look the same: the board's edge moves by less than a tenth of a pixel. */
const same = 1 - 3e-8;

/** The matrix3d (column by column) of a unit quaternion w, x, y, z. */
export function bodyMatrix([w, x, y, z]) {
  const r = [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
  const column = (j, sign) => [sign * r[0][j], -sign * r[1][j], sign * r[2][j], 0];
  return `matrix3d(${[...column(0, 1), ...column(1, -1), ...column(2, 1)].map((part) => part.toFixed(6))},0,0,0,1)`;
}

/** Draws the newest attitude of a feed, and says it in words beside it. */
export class AttitudeView {
  #shown;
  #drawnAt = -Infinity;
  #reduced = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(root, feed, counters) {
    Object.assign(this, { feed, counters });
    const faces = ["top", "bottom", "left", "right", "front", "back"].map((side) => element("div", { class: `face ${side}` }));
    faces[0].append(element("span", { text: "JOSTLE" }));
    this.labels = ["x", "y", "z"].map((axis) => element("b", { class: `tip ${axis}`, text: axis }));
    // Two crossed strips for each axis, so that one is visible from every direction.
    const strips = ["x", "x crossed", "y", "y crossed", "z", "z crossed"].map((name) => element("i", { class: `axis ${name}` }));
    this.board = element("div", { id: "board-3d" }, faces, strips, this.labels);
    const scene = element("div", { class: "scene" }, element("div", { class: "ground" }), this.board);
    scene.style.transform = camera;
    const angles = figures(["roll", "pitch", "yaw"]);
    this.values = angles.values;
    this.none = element("p", { class: "muted", text: "No attitude yet." });
    this.stage = element("div", { class: "stage", "aria-hidden": "true" }, scene);
    root.append(this.stage, angles.root, this.none);
    observeSight(this.stage);
  }

  /** Whether there is something to draw: the newest attitude looks different from the one that is drawn. */
  get isDue() {
    const { attitude } = this.feed;
    if (!attitude || attitude === this.#shown || !isInSight(this.stage)) return false;
    if (!this.#shown || Math.abs(this.#shown.q.reduce((sum, part, index) => sum + part * attitude.q[index], 0)) < same) return true;
    this.#count(attitude.t);
    return false;
  }

  #count(t) {
    const { lastShown } = this.counters;
    // Not again for an attitude about which was asked before.
    if (t !== lastShown.t) Object.assign(lastShown, { t, at: performance.timeOrigin + performance.now() });
  }

  /** Draws, if something is due. Called for each frame, without any delay for smoothing. */
  draw(at) {
    if (!this.isDue || (this.#reduced.matches && at - this.#drawnAt < slow)) return;
    this.#shown = this.feed.attitude;
    this.#drawnAt = at;
    const { q, t } = this.#shown;
    this.board.style.transform = bodyMatrix(q);
    Object.assign(this.board.dataset, { q: q.map((part) => part.toFixed(6)), t });
    // The labels always face the viewer: they undo the rotation of the board and of the scene.
    const back = `${bodyMatrix([q[0], -q[1], -q[2], -q[3]])} ${cameraBack}`;
    this.labels.forEach((label, axis) => (label.style.transform = `translate3d(${tips[axis]}) ${back}`));
    this.#count(t);
  }

  /** Writes the angles; called twice a second. */
  update() {
    const { attitude } = this.feed;
    this.none.hidden = Boolean(attitude);
    if (attitude) eulerAngles(attitude.q).forEach((angle, index) => setText(this.values[index], number(angle, 1, "°")));
  }
}
