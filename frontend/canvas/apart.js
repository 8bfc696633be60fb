// Lines that can be told apart: their ends along a side, lanes where they run together, words where they cover nothing.
import { spread, touch } from "./geometry.js";
import { widthOf } from "./lettering.js";
import { lanesBack, route } from "./routes.js";

const MOST = 500;
const STEPS = [18, 30, 42, 56, 72, 90];
const SHIFTS = [[0, 0], ...STEPS.flatMap((step) => [[0, -step], [0, step]]), [-44, 0], [44, 0], [-88, 0], [88, 0]];

/** Gives every edge what its line needs beside its two boxes: `out`, `into`, `lane`, `track`, `shift`. */
export function drawApart(edges, boxes) {
  parallel(edges);
  lanesBack(
    edges.filter((edge) => edge.back && !edge.self),
    boxes,
  );
  spreadEnds(edges, boxes);
  // Beyond so many, nobody sees the difference, and everybody would feel it.
  if (edges.length > MOST) return;
  const solid = [...boxes.values()];
  tracks(edges, boxes, solid);
  spreadEnds(edges, boxes);
  placeWords(edges, boxes, solid);
}

function parallel(edges) {
  const pairs = new Map();
  for (const edge of edges) {
    edge.self = edge.source === edge.target;
    const pair = `${edge.source} ${edge.target} ${edge.back}`;
    edge.lane = pairs.get(pair) ?? 0;
    pairs.set(pair, edge.lane + 1);
  }
}

/** Ends that meet at one side of a box stand in the order of where their lines come from. */
function spreadEnds(edges, boxes) {
  const sides = new Map();
  const put = (id, side, edge, other, end) => {
    const name = `${side} ${id}`;
    if (!sides.has(name)) sides.set(name, []);
    const at = side === "below" ? other.x : (edge.level ?? other.y + other.height / 2);
    sides.get(name).push({ edge, end, at });
  };
  for (const edge of edges) {
    if (edge.self) continue;
    put(edge.source, edge.back ? "below" : "right", edge, boxes.get(edge.target), "out");
    put(edge.target, edge.back ? "below" : "left", edge, boxes.get(edge.source), "into");
  }
  for (const [name, ends] of sides) {
    const box = boxes.get(name.slice(name.indexOf(" ") + 1));
    const length = name.startsWith("below") ? box.width * 0.6 : box.height;
    ends.sort((one, other) => one.at - other.at || one.edge.lane - other.edge.lane);
    ends.forEach(({ edge, end }, index) => (edge[end] = spread(index, ends.length, length)));
  }
}

/** Lines that pass boxes at about the same height take tracks beside each other. */
function tracks(edges, boxes, solid) {
  const runs = [];
  const taken = ({ level, start, end }) =>
    runs.some((run) => Math.abs(run.level - level) < 7 && run.start.x < end.x && start.x < run.end.x);
  for (const edge of edges) {
    for (edge.track = 0; edge.track < 8; edge.track += 1) {
      const line = route(boxes.get(edge.source), boxes.get(edge.target), { ...edge, boxes: solid });
      if (line.level === undefined) break;
      if (taken(line)) continue;
      edge.level = line.level;
      runs.push(line);
      break;
    }
  }
}

/** Words stand where they cover neither a box nor other words nor a line that passes: on their line, else above or below. */
function placeWords(edges, boxes, solid) {
  const lines = edges.map((edge) => route(boxes.get(edge.source), boxes.get(edge.target), { ...edge, boxes: solid }));
  const passing = lines.map(({ level, start, end }) =>
    level === undefined ? null : { x: start.x + 40, y: level - 3, width: end.x - start.x - 80, height: 6 },
  );
  const placed = [];
  edges.forEach((edge, index) => {
    edge.shift = [0, 0];
    if (!edge.words) return;
    const { label } = lines[index];
    const width = Math.min(widthOf(edge.words), 186) + 24;
    const at = ([dx, dy]) => ({ x: label.x + dx - width / 2, y: label.y + dy - 12, width, height: 24 });
    const covered = (shift) => {
      const box = at(shift);
      const others = passing.filter((line, number) => line && number !== index && touch(line, box)).length;
      return solid.filter((other) => touch(other, box)).length * 2 + placed.filter((other) => touch(other, box)).length + others;
    };
    edge.shift = SHIFTS.reduce((best, shift) => (covered(shift) < covered(best) ? shift : best), SHIFTS[0]);
    placed.push(at(edge.shift));
  });
}
