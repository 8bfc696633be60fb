// The view as the library wants it: an object per box and line, the old object where nothing of it changed.

const PORTS = (width, height) => [
  { id: null, type: "target", position: "left", x: 0, y: height / 2, width: 0, height: 0 },
  { id: null, type: "source", position: "right", x: width, y: height / 2, width: 0, height: 0 },
];

export function toNodes(view, old, chosen, { run, far }) {
  const before = new Map(old.map((node) => [node.id, node]));
  const selected = new Set(chosen);
  return view.nodes.map(({ id, x, y, width, height, card, name }) => {
    const state = run ? (run.nodes[id] ?? { status: "skipped" }) : null;
    const words = state ? `${name}, ${state.status}` : name;
    const data = { card, state };
    const print = JSON.stringify([card, state, words, height]);
    const previous = before.get(id);
    const place = previous?.dragging ? previous.position : { x, y };
    if (previous && previous.print === print && samePlace(previous.position, place) && previous.hidden === far && !!previous.selected === selected.has(id)) {
      return previous;
    }
    return {
      ...(previous ?? {}),
      id,
      type: "card",
      position: place,
      data: previous?.print === print ? previous.data : data,
      print,
      width,
      height,
      measured: { width, height },
      handles: previous?.height === height ? previous.handles : PORTS(width, height),
      selected: selected.has(id),
      hidden: far,
      ariaLabel: words,
      ariaRole: "button",
      domAttributes: { tabindex: -1, "aria-roledescription": undefined },
    };
  });
}

function samePlace(one, other) {
  return one.x === other.x && one.y === other.y;
}

export function toEdges(view, old, chosen, { run, fired }) {
  const before = new Map(old.map((edge) => [edge.id, edge]));
  const selected = new Set(chosen);
  return view.edges.map((edge) => {
    const { key, source, target, name, ...data } = edge;
    const [one, other] = [view.boxes.get(source), view.boxes.get(target)];
    Object.assign(data, { from: [one.width, one.height], to: [other.width, other.height] });
    data.fired = run ? (run.edges[key] ?? 0) : fired ? (fired[key] ?? 0) : null;
    data.painted = run ? "run" : fired ? "dry" : null;
    const print = JSON.stringify([source, target, name, data]);
    const previous = before.get(key);
    if (previous && previous.print === print && !!previous.selected === selected.has(key)) return previous;
    return {
      ...(previous ?? {}),
      id: key,
      type: "line",
      source,
      target,
      data: previous?.print === print ? previous.data : data,
      print,
      selected: selected.has(key),
      ariaLabel: data.painted === "dry" && !data.fired ? `${name}, can’t fire` : name,
      ariaRole: "button",
      domAttributes: { tabindex: -1, "aria-roledescription": undefined },
    };
  });
}
