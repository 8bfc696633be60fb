// What the canvas draws, out of what the server says: boxes and lines with all that is written on them.
import { WIDTH } from "./geometry.js";
import { drawApart } from "./apart.js";

const HEIGHT = 62;
const SMALL = 17;
const MARKS = 25;
const LONG = 22;
const ROW = 92;

/** The parts of a state at a level: at the top, or inside nested topologies `level` [node, node …] deep. */
export function stateAt(state, level) {
  let part = { document: state.document, keys: state.keys, shown: state.shown, problems: state.problems, readonly: !!state.broken };
  for (const id of level) {
    const node = part.document?.nodes?.[id];
    const inside = part.shown?.nodes?.[id]?.inside;
    if (!node || typeof node.topology !== "object" || node.topology === null) return null;
    const keys = inside?.keys ?? (node.topology.edges ?? []).map((_, index) => String(index));
    const problems = problemsInside(part.problems, id, keys);
    part = { document: node.topology, keys, shown: inside?.shown, problems, readonly: part.readonly || !inside };
  }
  return part;
}

/** The problems of a node that stand inside the topology it holds, as problems of that. */
function problemsInside(problems, id, keys) {
  const start = `/nodes/${id}/topology`;
  return (problems ?? [])
    .filter(({ path }) => path?.startsWith(`${start}/`))
    .map((problem) => {
      const path = problem.path.slice(start.length);
      const [, kind, name] = path.split("/");
      return { ...problem, path, node: kind === "nodes" ? name : null, edge: kind === "edges" ? (keys[Number(name)] ?? null) : null };
    });
}

/** {nodes, edges, lost}: boxes and lines; `lost` counts edges that lead to no node. */
export function viewOf({ document, keys, shown, problems }) {
  const troubles = troublesOf(problems);
  const nodes = Object.entries(document.nodes ?? {}).map(([id, node], index) =>
    nodeView(id, node, shown?.nodes?.[id], shown?.places?.[id] ?? [index * (WIDTH + 60), 0], troubles.nodes.get(id), document),
  );
  const laidOut = nodes.every((node) => Array.isArray(document.layout?.[node.id]));
  if (!laidOut) makeRoom(nodes, document.layout ?? {});
  const boxes = new Map(nodes.map((node) => [node.id, node]));
  const all = (Array.isArray(document.edges) ? document.edges : []).map((edge, index) =>
    edgeView(keys?.[index] ?? String(index), edge, shown?.edges?.[keys?.[index]], troubles.edges.get(keys?.[index])),
  );
  const edges = all.filter((edge) => boxes.has(edge.source) && boxes.has(edge.target));
  for (const edge of edges) {
    edge.name = edgeName(edge, boxes);
  }
  drawApart(edges, boxes);
  return { nodes, edges, boxes, lost: all.length - edges.length, laidOut };
}

/** The server places nodes as low as its pictures draw them: those that nobody has placed yet are drawn apart here. */
function makeRoom(nodes, layout) {
  const tallest = Math.max(...nodes.map((node) => node.height));
  const stretch = Math.max(1, (tallest + 30) / ROW);
  for (const node of nodes) if (!layout[node.id]) node.y = Math.round(node.y * stretch - (node.height - HEIGHT) / 2);
}

function nodeView(id, node, shown, [x, y], trouble, document) {
  const type = String(shown?.type ?? node?.type ?? "");
  const card = {
    type,
    kind: typeWords(type),
    title: String(shown?.title ?? node?.label ?? id) || id,
    small: String(shown?.small ?? ""),
    marks: shown?.marks ?? [],
    start: shown?.start ?? includes(document.start, id),
    end: shown?.end ?? includes(document.end, id),
    nested: type === "topology",
    inside: typeof node?.topology === "object" && node.topology !== null ? Object.keys(node.topology.nodes ?? {}).length : null,
    errors: trouble?.errors ?? 0,
    warnings: trouble?.warnings ?? 0,
    trouble: trouble?.text ?? "",
  };
  const long = lettersOf(card.title) > LONG;
  const marks = card.marks.length || card.inside !== null;
  const height = HEIGHT + (long ? 19 : 0) + (card.small ? SMALL : 0) + (marks ? MARKS : 0);
  return { id, x, y, width: WIDTH, height, card, name: nodeName(card) };
}

function includes(list, id) {
  return Array.isArray(list) && list.includes(id);
}

/** Roughly how many letters wide a text is; those of East Asian scripts and pictures count twice. */
function lettersOf(text) {
  let sum = 0;
  for (const letter of text.slice(0, 80)) sum += letter.codePointAt(0) > 0x2e7f ? 2 : 1;
  return sum;
}

/** `loop_counter` as "Loop counter". */
export function typeWords(type) {
  if (!type) return "No type";
  const words = type.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

// The name begins with what stands on the card, in its order: whoever speaks to a screen names what is seen there.
function nodeName(card) {
  const said = [`${card.kind} ${card.title}`, card.small, ...card.marks];
  if (card.inside !== null) said.push(`${card.inside} nodes inside`);
  if (card.start) said.push("start");
  if (card.end) said.push("end");
  if (card.trouble) said.push(card.trouble);
  return said.filter(Boolean).join(", ");
}

const MARK_WORDS = { map: "for each part", reduce: "reduced", transform: "transformed", clear: "clears", keep: "kept" };

function edgeView(key, edge, shown, trouble) {
  const when = shown ? shown.words : edge?.when ? "if …" : "";
  const marks = (shown?.marks ?? []).map(String);
  return {
    key,
    source: String(edge?.from ?? ""),
    target: String(edge?.to ?? ""),
    words: [when, ...marks.map((mark) => MARK_WORDS[mark] ?? mark)].filter(Boolean).join(" · "),
    data: shown?.data ?? edge?.trigger === false,
    back: !!shown?.back,
    many: marks.includes("map"),
    errors: trouble?.errors ?? 0,
    warnings: trouble?.warnings ?? 0,
    trouble: trouble?.text ?? "",
  };
}

function edgeName(edge, boxes) {
  const said = [edge.words, `${boxes.get(edge.source).card.title} to ${boxes.get(edge.target).card.title}`];
  if (edge.data) said.push("data only");
  if (edge.back) said.push("leads back");
  if (edge.trouble) said.push(edge.trouble);
  return said.filter(Boolean).join(", ");
}

function troublesOf(problems) {
  const found = { nodes: new Map(), edges: new Map() };
  for (const problem of problems ?? []) {
    const [where, id] = problem.edge != null ? [found.edges, problem.edge] : [found.nodes, problem.node];
    if (id == null) continue;
    const entry = where.get(id) ?? { errors: 0, warnings: 0, text: "" };
    entry[problem.severity === "error" ? "errors" : "warnings"] += 1;
    where.set(id, entry);
    if (!entry.text) entry.text = `${problem.severity}: ${problem.message}`;
  }
  return found;
}

/** Every node from which `id` can be reached, or which can be reached from it, `id` too. */
export function stream(edges, id, downstream) {
  const [from, to] = downstream ? ["source", "target"] : ["target", "source"];
  const found = new Set([id]);
  for (const node of found) for (const edge of edges) if (edge[from] === node) found.add(edge[to]);
  return [...found];
}
