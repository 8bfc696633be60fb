// Where lines run: pure arithmetic over boxes {x, y, width, height}. Nothing here knows the library that draws.

export const WIDTH = 208;
const ARROW = 8;
const CORNER = 16;
const LANE = 24;

/** How far apart `count` line ends stand on a side that is `length` long; the index-th is this far from its middle. */
export function spread(index, count, length) {
  const step = Math.min(18, (length - 24) / Math.max(count, 1));
  return (index - (count - 1) / 2) * step;
}

/**
 * A line from one box to another as {path, arrow, label, start, end}.
 * `out` and `into` shift its ends along the sides, `lane` keeps parallel lines apart.
 */
export function route(source, target, { back, self, out = 0, into = 0, lane = 0, boxes = [] }) {
  if (self) return loop(source, lane);
  if (back) return underneath(source, target, out, into, lane, boxes);
  return forward(source, target, out, into, lane);
}

function forward(source, target, out, into, lane) {
  const start = { x: source.x + source.width, y: source.y + source.height / 2 + out };
  const end = { x: target.x, y: target.y + target.height / 2 + into };
  const tip = end.x - ARROW;
  const gap = tip - start.x;
  const bend = gap > 0 ? Math.min(Math.max(gap * 0.5, 24), 160) : 70 + Math.min(-gap * 0.35, 180);
  const bow = lane * 14;
  const path = `M${start.x} ${start.y}C${start.x + bend} ${start.y + bow} ${tip - bend} ${end.y + bow} ${tip} ${end.y}`;
  const label = { x: (start.x + tip) / 2, y: (start.y + end.y) / 2 + bow * 0.75 };
  return { path, arrow: rightwards(end), label, start, end };
}

/** A line that leads back: down, along beneath everything in its way, and up again. */
function underneath(source, target, out, into, lane, boxes) {
  const start = { x: source.x + source.width / 2 + out, y: source.y + source.height };
  const end = { x: target.x + target.width / 2 + into, y: target.y + target.height };
  const [left, right] = start.x < end.x ? [start.x, end.x] : [end.x, start.x];
  const level = lowest(left, right, Math.max(start.y, end.y), boxes) + 26 + lane * LANE;
  const corner = Math.min(CORNER, (right - left) / 2);
  const way = end.x < start.x ? -1 : 1;
  const path =
    `M${start.x} ${start.y}V${level - corner}Q${start.x} ${level} ${start.x + way * corner} ${level}` +
    `H${end.x - way * corner}Q${end.x} ${level} ${end.x} ${level - corner}V${end.y + ARROW}`;
  const label = { x: (start.x + end.x) / 2, y: level };
  return { path, arrow: upwards(end), label, start, end };
}

/** The lower edge of all that stands in the way of a line between `left` and `right` below `from`. */
function lowest(left, right, from, boxes) {
  const inTheWay = boxes
    .filter((box) => box.x < right + 8 && box.x + box.width > left - 8 && box.y + box.height > from)
    .sort((one, other) => one.y - other.y);
  let level = from;
  for (const box of inTheWay) {
    if (box.y > level + 26 + LANE) break;
    level = Math.max(level, box.y + box.height);
  }
  return level;
}

function loop(box, lane) {
  const right = box.x + box.width - 34;
  const left = right - 56;
  const height = 38 + lane * LANE;
  const start = { x: right, y: box.y };
  const end = { x: left, y: box.y };
  const path = `M${right} ${box.y}C${right + 22} ${box.y - height} ${left - 22} ${box.y - height} ${left} ${box.y - ARROW}`;
  const arrow = `M${left} ${box.y}l-4.5 -9h9z`;
  return { path, arrow, label: { x: (left + right) / 2, y: box.y - height * 0.78 }, start, end };
}

function rightwards({ x, y }) {
  return `M${x} ${y}l-9 -4.5v9z`;
}

function upwards({ x, y }) {
  return `M${x} ${y}l-4.5 9h9z`;
}

/** The smallest box around boxes, or null around none. */
export function around(boxes) {
  if (!boxes.length) return null;
  const left = Math.min(...boxes.map((box) => box.x));
  const top = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** New places {id: [x, y]} that bring boxes in line: by an edge, a middle, or with equal gaps. */
export function aligned(boxes, how) {
  const frame = around(boxes);
  if (!frame || boxes.length < 2) return {};
  if (how === "across" || how === "down") return distributed(boxes, how === "across" ? "x" : "y");
  const place = {
    left: (box) => [frame.x, box.y],
    right: (box) => [frame.x + frame.width - box.width, box.y],
    top: (box) => [box.x, frame.y],
    bottom: (box) => [box.x, frame.y + frame.height - box.height],
    centre: (box) => [frame.x + (frame.width - box.width) / 2, box.y],
    middle: (box) => [box.x, frame.y + (frame.height - box.height) / 2],
  }[how];
  return Object.fromEntries(boxes.map((box) => [box.id, place(box).map(Math.round)]));
}

function distributed(boxes, axis) {
  const size = axis === "x" ? "width" : "height";
  const inOrder = [...boxes].sort((one, other) => one[axis] - other[axis]);
  const frame = around(boxes);
  const free = frame[size] - boxes.reduce((sum, box) => sum + box[size], 0);
  const gap = free / (boxes.length - 1);
  let at = frame[axis];
  return Object.fromEntries(
    inOrder.map((box) => {
      const place = axis === "x" ? [Math.round(at), box.y] : [box.x, Math.round(at)];
      at += box[size] + gap;
      return [box.id, place];
    }),
  );
}

/** The box that an arrow key leads to: the nearest in that direction, sideways distance counting double. */
export function neighbour(box, boxes, direction) {
  const [axis, sign] = { left: ["x", -1], right: ["x", 1], up: ["y", -1], down: ["y", 1] }[direction];
  const other = axis === "x" ? "y" : "x";
  const middle = (each, along) => each[along] + each[along === "x" ? "width" : "height"] / 2;
  let best = null;
  let least = Infinity;
  for (const each of boxes) {
    const ahead = (middle(each, axis) - middle(box, axis)) * sign;
    if (each.id === box.id || ahead < 8) continue;
    const distance = ahead + 2 * Math.abs(middle(each, other) - middle(box, other));
    if (distance < least) [best, least] = [each, distance];
  }
  return best;
}
