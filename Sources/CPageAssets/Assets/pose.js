// A picture of a board in a pose: the box is turned so that a side is up, and stands on a table.

const sizes = [1.5, 1, 0.28];
const names = ["x", "y", "z"];

/** A side such as `+x-y` as a unit vector. */
function direction(side) {
  const vector = [0, 0, 0];
  for (const [, sign, name] of String(side).matchAll(/([+-])([xyz])/g)) vector[names.indexOf(name)] = sign === "-" ? -1 : 1;
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((part) => part / length) : [0, 0, 1];
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => a.map((part) => part / Math.hypot(...a));

/** A side in words: `+x up` as `the side +x is up`. */
export function sideWords(side) {
  const parts = [...String(side).matchAll(/[+-][xyz]/g)].map(([part]) => part.replace("-", "−"));
  if (parts.length === 0) return "as it lies";
  if (parts.length > 1) return `${parts.length === 2 ? "on an edge" : "on a corner"}, so that ${parts.join(" and ")} point up`;
  return { "+z": "flat, its top (+z) up", "−z": "flat, upside down (−z up)" }[parts[0]] ?? `on its edge, so that ${parts[0]} points up`;
}

/** Where the viewer of the picture is: to the right, in front and above. */
const viewer = [0.435, -0.75, 0.5];

/** The rotation of the body to the table that leaves `up` up and turns the board so that its top shows most. */
function placed(up) {
  const flat = Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 0, 1];
  const [front, left] = [unit(cross(up, flat)), unit(cross(up, cross(up, flat)))];
  let best = { score: -1 };
  for (let step = 0; step < 12; step += 1) {
    // Half a step aside, so that the board is not seen straight from the front, without depth.
    const angle = (step === 0 ? 0 : step - 0.5) * Math.PI / 6;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const ahead = front.map((part, axis) => c * part + s * left[axis]);
    const right = cross(ahead, up);
    const turned = (point) => [dot(right, point), dot(ahead, point), dot(up, point)];
    const shown = dot(turned([0, 0, 1]), viewer);
    const score = shown > 0 ? shown : -0.8 * shown;
    if (score > best.score + 0.01) best = { score, turned };
  }
  return best.turned;
}

/** An SVG of the board with this side up. */
export function boardPicture(side) {
  const up = direction(side);
  const turned = placed(up);
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => turned(sizes.map((size, axis) => ((bits >> axis) & 1 ? size : -size) / 2)));
  const lowest = Math.min(...corners.map((corner) => corner[2]));
  const project = ([x, y, z]) => [100 + 62 * (0.87 * x + 0.5 * y), 118 - 62 * (0.87 * (z - lowest) + 0.5 * (0.87 * y - 0.5 * x))];
  const picture = svg("svg", { viewBox: "0 0 200 160", role: "img", "aria-label": `The board ${sideWords(side)}`, class: "pose" });
  picture.append(svg("ellipse", { cx: 100, cy: 122, rx: 86, ry: 30, class: "pose-table" }));
  for (let axis = 0; axis < 3; axis += 1) {
    for (const sign of [-1, 1]) drawFace(picture, axis, sign, { turned, project });
  }
  return picture;
}

function drawFace(picture, axis, sign, { turned, project }) {
  const normal = [0, 0, 0];
  normal[axis] = sign;
  const facing = dot(turned(normal), viewer);
  if (facing <= 0.02) return;
  const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
  const at = (a, b) => {
    const point = normal.map((part, index) => part * sizes[index] / 2);
    point[u] += a * sizes[u] / 2;
    point[v] += b * sizes[v] / 2;
    return project(turned(point));
  };
  const polygon = (points, name) => svg("polygon", { points: points.map((point) => point.map((part) => part.toFixed(1)).join()).join(" "), class: name });
  picture.append(polygon([at(-1, -1), at(1, -1), at(1, 1), at(-1, 1)], axis === 2 && sign > 0 ? "pose-face pose-top" : "pose-face"));
  if (axis === 2 && sign > 0) picture.append(polygon([at(-0.25, -0.4), at(0.25, -0.4), at(0.25, 0.4), at(-0.25, 0.4)], "pose-chip"));
  // There is no room for a label on a face that is seen almost from the side.
  if (facing < 0.3) return;
  const [x, y] = axis === 2 && sign > 0 ? at(0.62, 0) : at(0, 0);
  const label = svg("text", { x: x.toFixed(1), y: (y + 4).toFixed(1), class: "pose-label" });
  label.textContent = `${sign > 0 ? "+" : "−"}${names[axis]}`;
  picture.append(label);
}

export function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
