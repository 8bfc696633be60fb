// Where lines run between boxes: forward as a curve, around what stands in the way, back along beneath it.
import { touch } from "./geometry.js";

const ARROW = 8;
const CORNER = 14;
const LANE = 22;
const ROOM = 20;
const TURN = 64;

/**
 * A line from one box to another as {path, arrow, label, start, end}.
 * `out` and `into` shift its ends along the sides, `lane` and `track` keep lines apart, `boxes` are all that may stand in the way.
 */
export function route(source, target, { back, self, out = 0, into = 0, lane = 0, track = 0, boxes = [] }) {
  if (self) return loop(source, lane);
  const others = boxes.filter((box) => box.id !== source.id && box.id !== target.id);
  if (back) return underneath(source, target, { out, into, lane, boxes: others });
  const start = { x: source.x + source.width, y: source.y + source.height / 2 + out };
  const end = { x: target.x, y: target.y + target.height / 2 + into };
  const level = end.x - start.x > 2 * TURN ? levelAround(start, end, others, track) : null;
  return level === null ? forward(start, end, lane) : past(start, end, level);
}

function forward(start, end, lane) {
  const tip = end.x - ARROW;
  const gap = tip - start.x;
  const bend = gap > 0 ? Math.min(Math.max(gap * 0.5, 24), 160) : 70 + Math.min(-gap * 0.35, 180);
  const bow = lane * 14;
  const path = `M${start.x} ${start.y}C${start.x + bend} ${start.y + bow} ${tip - bend} ${end.y + bow} ${tip} ${end.y}`;
  const label = { x: (start.x + tip) / 2, y: (start.y + end.y) / 2 + bow * 0.75 };
  return { path, arrow: rightwards(end), label, start, end };
}

/** The height at which a line passes what is in its way, above or below, whichever is less far; null if nothing is. */
function levelAround(start, end, boxes, track) {
  const corridor = (top, bottom) => ({ x: start.x + TURN, y: top, width: end.x - start.x - 2 * TURN, height: bottom - top });
  const [top, bottom] = start.y < end.y ? [start.y, end.y] : [end.y, start.y];
  const hit = boxes.filter((box) => touch(box, corridor(top - 6, bottom + 6)) && crosses(start, end, box));
  if (!hit.length) return null;
  const middle = (start.y + end.y) / 2;
  const free = (level) => !boxes.some((box) => touch(box, corridor(level - 6, level + 6)));
  const levels = boxes
    .filter((box) => box.x < end.x && box.x + box.width > start.x)
    .flatMap((box) => [box.y - ROOM - track * 9, box.y + box.height + ROOM + track * 9])
    .sort((one, other) => away(one - middle) - away(other - middle));
  return levels.find(free) ?? null;
}

// What leads back runs below: lines that go on rather pass above.
function away(distance) {
  return distance < 0 ? -distance * 0.6 : distance;
}

/** Whether the curve of `forward` meets a box. */
function crosses(start, end, box) {
  for (let step = 1; step < 24; step += 1) {
    const t = step / 24;
    const y = start.y + (end.y - start.y) * t * t * (3 - 2 * t);
    const x = start.x + (end.x - start.x) * t;
    if (x > box.x - 4 && x < box.x + box.width + 4 && y > box.y - 4 && y < box.y + box.height + 4) return true;
  }
  return false;
}

function past(start, end, level) {
  const tip = end.x - ARROW;
  const half = TURN / 2;
  const path =
    `M${start.x} ${start.y}C${start.x + half} ${start.y} ${start.x + half} ${level} ${start.x + TURN} ${level}` +
    `H${tip - TURN}C${tip - half} ${level} ${tip - half} ${end.y} ${tip} ${end.y}`;
  return { path, arrow: rightwards(end), label: { x: (start.x + tip) / 2, y: level }, start, end, level };
}

/** A line that leads back: down, along beneath everything in its way, and up again. */
function underneath(source, target, { out, into, lane, boxes }) {
  const begin = { x: source.x + source.width / 2 + out, y: source.y + source.height };
  const finish = { x: target.x + target.width / 2 + into, y: target.y + target.height };
  const level = levelBelow(begin, finish, boxes) + 26 + lane * LANE;
  const [right, left] = [source.x + source.width + ROOM, target.x - ROOM];
  const down = blocked(begin, level, boxes) && !blocked({ ...begin, x: right }, level, boxes) ? fromSide(source, right, level) : fromBelow(begin, level);
  const up = blocked(finish, level, boxes) && !blocked({ ...finish, x: left }, level, boxes) ? intoSide(target, left, level) : intoBelow(finish, level);
  const way = up.x < down.x ? -1 : 1;
  const corner = Math.min(CORNER, Math.abs(up.x - down.x) / 2);
  const path =
    `${down.path}V${level - corner}Q${down.x} ${level} ${down.x + way * corner} ${level}` +
    `H${up.x - way * corner}Q${up.x} ${level} ${up.x} ${level - corner}${up.path}`;
  return { path, arrow: up.arrow, label: { x: (down.x + up.x) / 2, y: level }, start: down.start, end: up.end };
}

function fromBelow(start) {
  return { x: start.x, path: `M${start.x} ${start.y}`, start };
}

function fromSide(box, x) {
  const start = { x: box.x + box.width, y: box.y + box.height - 14 };
  return { x, path: `M${start.x} ${start.y}H${x - 8}Q${x} ${start.y} ${x} ${start.y + 8}`, start };
}

function intoBelow(end) {
  return { x: end.x, path: `V${end.y + ARROW}`, arrow: upwards(end), end };
}

function intoSide(box, x) {
  const end = { x: box.x, y: box.y + box.height - 14 };
  return { x, path: `V${end.y + 8}Q${x} ${end.y} ${x + 8} ${end.y}H${end.x - ARROW}`, arrow: rightwards(end), end };
}

function blocked({ x, y }, level, boxes) {
  return boxes.some((box) => touch(box, { x: x - 4, y: y + 2, width: 8, height: Math.max(level - y - 4, 1) }));
}

/** The lower edge of all that stands in the way between two points, from the lower of them on. */
function levelBelow(one, other, boxes) {
  const [left, right] = one.x < other.x ? [one.x, other.x] : [other.x, one.x];
  const from = Math.max(one.y, other.y);
  const inTheWay = boxes
    .filter((box) => box.x < right + 8 && box.x + box.width > left - 8 && box.y + box.height > from)
    .sort((first, second) => first.y - second.y);
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
  const height = 46 + lane * LANE;
  const [start, end] = [
    { x: right, y: box.y },
    { x: left, y: box.y },
  ];
  const path = `M${right} ${box.y}C${right + 22} ${box.y - height} ${left - 22} ${box.y - height} ${left} ${box.y - ARROW}`;
  const arrow = `M${left} ${box.y}l-4.5 -9h9z`;
  return { path, arrow, label: { x: (left + right) / 2, y: box.y - height * 0.76 }, start, end };
}

function rightwards({ x, y }) {
  return `M${x} ${y}l-9 -4.5v9z`;
}

function upwards({ x, y }) {
  return `M${x} ${y}l-4.5 9h9z`;
}

/** Lanes for lines that run back, so that none runs on another: those that share a stretch at about the same height. */
export function lanesBack(edges, boxes) {
  const spans = edges.map((edge) => {
    const [one, other] = [boxes.get(edge.source), boxes.get(edge.target)];
    const [left, right] = [Math.min(one.x, other.x), Math.max(one.x + one.width, other.x + other.width)];
    return { edge, left, right, low: Math.max(one.y + one.height, other.y + other.height) };
  });
  spans.sort((one, other) => one.right - one.left - (other.right - other.left));
  spans.forEach((span, index) => {
    const taken = new Set();
    for (const other of spans.slice(0, index)) {
      const near = Math.abs(other.low - span.low) < 200 && other.left < span.right && span.left < other.right;
      if (near) taken.add(other.edge.lane);
    }
    span.edge.lane = 0;
    while (taken.has(span.edge.lane)) span.edge.lane += 1;
  });
}
