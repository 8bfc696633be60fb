// Boxes {x, y, width, height}: pure arithmetic. Nothing here knows the library that draws.

export const WIDTH = 208;

/** How far apart `count` line ends stand on a side that is `length` long; the index-th is this far from its middle. */
export function spread(index, count, length) {
  const step = Math.min(18, (length - 24) / Math.max(count, 1));
  return (index - (count - 1) / 2) * step;
}

/** Whether two boxes have any point in common. */
export function touch(one, other) {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
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
