// What the canvas knows and can do, apart from drawing. It asks the page for every change by an event and shows what comes
// back; only moves are shown before they are answered.
import { tick, untrack } from "svelte";
import { aligned, around, neighbour } from "./geometry.js";
import { fragmentOf, fragmentText } from "./clipboard.js";
import { answered } from "./state.js";
import { stateAt, stream, viewOf } from "./view.js";
import { toEdges, toNodes } from "./drawn.js";
import { arrange } from "./arrange.js";

const KEPT_MS = 3000;
const MANY = 100;
const VERY_MANY = 250;
const AFAR = 0.3;
const PLACES = ["move", "add_node", "paste", "duplicate"];

export class Editor {
  state = $state.raw(null);
  level = $state.raw([]);
  nodes = $state.raw([]);
  edges = $state.raw([]);
  view = $state.raw({ nodes: [], edges: [], boxes: new Map(), lost: 0, laidOut: true });
  run = $state.raw(null);
  fired = $state.raw(null);
  pending = $state.raw(null); // {from} | {edge, end}: a line that wants its other end
  renaming = $state.raw(null);
  said = $state.raw("");
  busy = $state.raw(false);
  zoom = $state(1);
  sole = $derived(this.soleEdge()); // the edge that alone is selected: its ends can be taken

  constructor(host) {
    this.host = host;
    this.flow = null; // the library's view: set once it is mounted
    this.at = null; // the node or edge that has, or last had, focus: {node} or {edge}
    this.moved = new Map();
    this.quiet = false; // a selection made by the page is not told to the page
    this.wanted = null; // what the next answer should focus
    this.pointer = null;
  }

  /** So many nodes that only those in view are built. */
  get many() {
    return this.nodes.length > MANY;
  }

  /** So many, and so small, that they are painted instead. */
  get far() {
    return this.nodes.length > VERY_MANY && this.zoom < AFAR;
  }

  hideFromAfar(far) {
    if (untrack(() => this.nodes.some((node) => !!node.hidden !== far))) {
      this.nodes = untrack(() => this.nodes.map((node) => ({ ...node, hidden: far })));
    }
  }

  get part() {
    return this.state && stateAt(this.state, this.level);
  }

  get readonly() {
    return !this.part || this.part.readonly || this.host.hasAttribute("data-readonly");
  }

  get chosen() {
    return {
      nodes: this.nodes.filter((node) => node.selected).map((node) => node.id),
      edges: this.edges.filter((edge) => edge.selected).map((edge) => edge.id),
    };
  }

  soleEdge() {
    const { nodes, edges } = this.chosen;
    return !nodes.length && edges.length === 1 ? edges[0] : null;
  }

  // What comes from the page

  load(state) {
    this.state = state;
    this.redraw();
  }

  answer(answer) {
    this.carryNames(answer.renamed ?? {});
    this.state = answered(this.state, answer);
    while (this.level.length && !stateAt(this.state, this.level)) this.level = this.level.slice(0, -1);
    const inside = this.host.contains(document.activeElement);
    const select = this.level.length ? this.madeHere() : answer.select;
    this.redraw(select);
    if (answer.label) this.say(answer.label);
    if (select) this.follow(select);
    if (inside) this.keepFocus();
  }

  /** Inside a nested topology what was made is what was not there before: answers name only what stands at the top. */
  madeHere() {
    const { nodes } = this.part.document;
    const made = Object.keys(nodes ?? {}).filter((id) => !this.view.boxes.has(id));
    return made.length ? { nodes: made } : undefined;
  }

  /** What had the focus may be gone: the focus is not. */
  async keepFocus() {
    await tick();
    if (this.host.contains(document.activeElement)) return;
    const still = this.at?.node != null ? this.view.boxes.has(this.at.node) : this.view.edges.some((edge) => edge.key === this.at?.edge);
    this.at = still ? this.at : this.first();
    if (this.at) this.focus(this.at);
    else this.flow?.focusStage();
  }

  refused({ state, message }) {
    this.moved.clear();
    if (state) this.load(state);
    if (message) this.say(message);
  }

  show({ nodes = [], edges = [], focus = false }) {
    this.quiet = true;
    this.select({ nodes, edges });
    this.reveal(nodes[0] ?? this.edges.find((edge) => edge.id === edges[0])?.source);
    if (focus) this.focus(nodes.length ? { node: nodes[0] } : { edge: edges[0] });
  }

  light(nodes, edges) {
    this.run = nodes ? { nodes, edges: edges ?? {} } : null;
    this.redraw();
  }

  paint(edges) {
    this.fired = edges;
    this.redraw();
  }

  // Drawing

  redraw(select) {
    const part = this.part;
    if (!part) return;
    const view = viewOf(part);
    const now = performance.now();
    for (const [id, { place, until }] of this.moved) {
      const box = view.boxes.get(id);
      if (!box || until < now || (box.x === place[0] && box.y === place[1])) this.moved.delete(id);
      else [box.x, box.y] = place;
    }
    const chosen = select ? { nodes: select.nodes ?? [], edges: select.edges ?? [] } : this.chosen;
    this.view = view;
    this.nodes = toNodes(view, this.nodes, chosen.nodes, this);
    this.edges = toEdges(view, this.edges, chosen.edges, this);
  }

  carryNames(renamed) {
    if (this.level.length) return;
    for (const [old, name] of Object.entries(renamed)) {
      this.nodes = this.nodes.map((node) => (node.id === old ? { ...node, id: name } : node));
      if (this.at?.node === old) this.at = { node: name };
    }
  }

  /** What was just made is brought into view and, if the keyboard is here, gets the focus. */
  follow({ nodes = [], edges = [] }) {
    const first = nodes.length ? { node: nodes[0] } : edges.length ? { edge: edges[0] } : null;
    if (!first) return;
    this.at = first;
    if (nodes.length) this.reveal(nodes[0]);
    if (this.hasFocus()) this.focus(first);
    this.tell();
  }

  hasFocus() {
    return this.host.contains(document.activeElement) || document.activeElement === document.body;
  }

  // Asking the page

  ask(type, detail) {
    this.host.dispatchEvent(new CustomEvent(`topology:${type}`, { bubbles: true, detail }));
  }

  command(commands, label) {
    if (this.readonly) {
      this.say("This can’t be changed here.");
      return;
    }
    const inside = this.level.length ? { in: [...this.level] } : {};
    const list = this.settled([commands].flat()).map((command) => ({ ...command, ...inside }));
    this.ask("commands", label ? { commands: list, label } : { commands: list });
  }

  /** Where nobody has placed the nodes yet, the first change to a place keeps all of them where they are seen. */
  settled(commands) {
    if (this.view.laidOut || !this.nodes.length || !commands.some((command) => PLACES.includes(command.do))) return commands;
    const places = Object.fromEntries(this.boxesNow().map((box) => [box.id, [Math.round(box.x), Math.round(box.y)]]));
    const moved = commands.filter((command) => command.do === "move").map((command) => command.places);
    return [{ do: "move", places: Object.assign(places, ...moved) }, ...commands.filter((command) => command.do !== "move")];
  }

  /** The panel shows what stands at the top: inside a nested topology, the node that holds it. */
  open(target) {
    this.ask("open", this.level.length ? { node: this.level[0] } : target);
  }

  say(text) {
    this.said = "";
    queueMicrotask(() => (this.said = text));
  }

  // Selection and focus

  select({ nodes = [], edges = [] }) {
    const [these, those] = [new Set(nodes), new Set(edges)];
    const mark = (set) => (each) => (!!each.selected === set.has(each.id) ? each : { ...each, selected: set.has(each.id) });
    this.nodes = this.nodes.map(mark(these));
    this.edges = this.edges.map(mark(those));
  }

  selectionChanged() {
    const { nodes, edges } = this.chosen;
    const key = JSON.stringify([this.level, nodes, edges]);
    if (key === this.told) return;
    this.told = key;
    if (this.quiet) this.quiet = false;
    else this.tell();
  }

  tell() {
    const chosen = this.chosen;
    this.told = JSON.stringify([this.level, chosen.nodes, chosen.edges]);
    if (!this.level.length) this.ask("select", chosen);
  }

  focus(target) {
    this.at = target;
    // It may be drawn only now: the library draws what is in view, one frame later.
    const seek = (tries) => {
      const found = this.elementOf(target);
      if (found) found.focus({ preventScroll: true });
      else if (tries) requestAnimationFrame(() => seek(tries - 1));
    };
    seek(12);
  }

  elementOf({ node, edge }) {
    const [kind, id] = node != null ? ["node", node] : ["edge", edge];
    return this.host.querySelector(`.svelte-flow__${kind}[data-id="${CSS.escape(id)}"]`);
  }

  /** The node that has the focus, else the only one selected. */
  get current() {
    if (this.at?.node != null && this.view.boxes.has(this.at.node)) return this.at.node;
    const { nodes } = this.chosen;
    return nodes.length === 1 ? nodes[0] : null;
  }

  get currentEdge() {
    if (this.at?.edge != null) return this.view.edges.find((edge) => edge.key === this.at.edge) ?? null;
    const { nodes, edges } = this.chosen;
    return !nodes.length && edges.length === 1 ? (this.view.edges.find((edge) => edge.key === edges[0]) ?? null) : null;
  }

  /** What an action is about: the selection, else what has the focus. */
  get concerned() {
    const chosen = this.chosen;
    if (chosen.nodes.length || chosen.edges.length) return chosen;
    return { nodes: this.at?.node != null ? [this.at.node] : [], edges: this.at?.edge != null ? [this.at.edge] : [] };
  }

  first() {
    const start = this.view.nodes.find((node) => node.card.start) ?? this.view.nodes[0];
    return start ? { node: start.id } : null;
  }

  reveal(id) {
    const box = this.boxNow(id);
    if (box) this.flow?.reveal(box);
  }

  boxNow(id) {
    const drawn = this.nodes.find((node) => node.id === id);
    return drawn && { id, x: drawn.position.x, y: drawn.position.y, width: drawn.width, height: drawn.height };
  }

  boxesNow(ids = this.nodes.map((node) => node.id)) {
    return ids.map((id) => this.boxNow(id)).filter(Boolean);
  }

  go(target, select = true) {
    if (!target) return;
    if (select && !this.pending) this.select(target.node != null ? { nodes: [target.node] } : { edges: [target.edge] });
    this.reveal(target.node ?? this.view.edges.find((edge) => edge.key === target.edge)?.source);
    this.focus(target);
  }

  walk(direction) {
    const edge = this.currentEdge;
    if (edge) return this.walkEdges(edge, direction);
    const box = this.boxNow(this.current);
    if (!box) return this.go(this.first());
    const next = neighbour(box, this.boxesNow(), direction);
    return next && this.go({ node: next.id });
  }

  walkEdges(edge, direction) {
    if (direction === "left") return this.go({ node: edge.source });
    if (direction === "right") return this.go({ node: edge.target });
    const around = this.edgesOf(this.round ?? edge.source);
    const index = around.findIndex((each) => each.key === edge.key);
    const next = around[(index + (direction === "down" ? 1 : -1) + around.length) % around.length];
    return next && this.go({ edge: next.key });
  }

  edgesOf(id) {
    const out = this.view.edges.filter((edge) => edge.source === id);
    return [...out, ...this.view.edges.filter((edge) => edge.target === id && edge.source !== id)];
  }

  toEdges() {
    const id = this.current;
    const [first] = id == null ? this.view.edges : this.edgesOf(id);
    if (!first) return this.say("There is no edge here.");
    this.round = id ?? first.source;
    return this.go({ edge: first.key });
  }

  streamSelect(downstream) {
    const id = this.current;
    if (id != null) this.select({ nodes: stream(this.view.edges, id, downstream) });
  }

  extend(direction) {
    const box = this.boxNow(this.current);
    const next = box && neighbour(box, this.boxesNow(), direction);
    if (!next) return;
    this.select({ nodes: [...new Set([...this.chosen.nodes, box.id, next.id])] });
    this.go({ node: next.id }, false);
  }

  toggle() {
    const { nodes, edges } = this.chosen;
    const swap = (list, id) => (list.includes(id) ? list.filter((each) => each !== id) : [...list, id]);
    if (this.at?.node != null) this.select({ nodes: swap(nodes, this.at.node), edges });
    else if (this.at?.edge != null) this.select({ nodes, edges: swap(edges, this.at.edge) });
  }

  selectAll() {
    this.select({ nodes: this.view.nodes.map((node) => node.id), edges: this.view.edges.map((edge) => edge.key) });
  }

  // Changes

  /** A new node of a type, or one made from an agent; `from` connects it, `at` is where its middle stands. */
  add({ type, agent }, { from = null, into = null, at = null } = {}) {
    const place = at ?? this.placeAfter(from ?? into);
    const config = agent ? { config: { agent }, id: idOf(agent) } : {};
    const command = { do: "add_node", type: agent ? "agent" : type, at: place.map(Math.round), ...config };
    this.command(from != null ? { ...command, from } : command);
  }

  placeAfter(id) {
    const box = this.boxNow(id);
    const middle = this.flow?.middle() ?? { x: 0, y: 0 };
    let place = box ? [box.x + box.width + 88, box.y] : [middle.x - 104, middle.y - 40];
    if (!this.nodes.length) place = [0, 0];
    const taken = ([x, y]) => this.nodes.some((node) => Math.abs(node.position.x - x) < 180 && Math.abs(node.position.y - y) < 84);
    while (taken(place)) place = [place[0], place[1] + 120];
    return place;
  }

  connectTo(id) {
    const { pending } = this;
    this.pending = null;
    if (!pending || id == null) return;
    if (pending.edge != null) this.command({ do: "reconnect", edge: pending.edge, [pending.end]: id });
    else if (pending.into != null) this.command({ do: "connect", from: id, to: pending.into });
    else this.command({ do: "connect", from: pending.from, to: id });
  }

  beginConnect() {
    const id = this.current;
    if (id == null || this.readonly) return this.say("Select the node where the edge begins first.");
    this.pending = { from: id };
    return this.say(`Connect ${this.titleOf(id)}: go to the other node and press Enter. Escape stops.`);
  }

  beginReconnect() {
    const edge = this.currentEdge;
    if (!edge || this.readonly) return this.say("Select an edge first.");
    this.pending = { edge: edge.key, end: "to" };
    this.focus({ node: edge.target });
    return this.say("Go to the node where the edge shall end and press Enter. Escape stops.");
  }

  titleOf(id) {
    return this.view.boxes.get(id)?.card.title ?? id;
  }

  remove() {
    const { nodes, edges } = this.concerned;
    if (!nodes.length && !edges.length) return;
    const next = this.after(nodes, edges);
    this.command({ do: "delete", nodes, edges });
    this.at = next;
    if (next) this.focus(next);
  }

  /** Where the focus goes when these are gone: never to nowhere. */
  after(nodes, edges) {
    const gone = new Set(nodes);
    const edge = this.view.edges.find((each) => edges.includes(each.key));
    if (edge && !gone.has(edge.source)) return { node: edge.source };
    const before = this.view.edges.find((each) => gone.has(each.target) && !gone.has(each.source));
    if (before) return { node: before.source };
    const left = this.view.nodes.find((node) => !gone.has(node.id));
    return left ? { node: left.id } : null;
  }

  duplicate() {
    const { nodes } = this.concerned;
    const frame = around(this.boxesNow(nodes));
    if (frame) this.command({ do: "duplicate", nodes, at: [0, Math.round(frame.height / 8) * 8 + 40] });
  }

  mark(which) {
    const { nodes } = this.concerned;
    const [id] = nodes;
    if (id == null) return;
    const on = !this.view.boxes.get(id)?.card[which];
    this.command(nodes.map((node) => ({ do: "mark", node, [which]: on })));
  }

  move(places, label) {
    const until = performance.now() + KEPT_MS;
    for (const [id, place] of Object.entries(places)) this.moved.set(id, { place, until });
    this.command({ do: "move", places }, label);
    this.redraw();
  }

  nudge(direction, far) {
    const step = far ? 48 : 8;
    const [dx, dy] = { left: [-step, 0], right: [step, 0], up: [0, -step], down: [0, step] }[direction];
    const boxes = this.boxesNow(this.concerned.nodes);
    if (boxes.length) this.move(Object.fromEntries(boxes.map((box) => [box.id, [Math.round(box.x + dx), Math.round(box.y + dy)]])));
  }

  dropped(nodes) {
    const places = {};
    for (const { id, position } of nodes) {
      const box = this.view.boxes.get(id);
      const place = [Math.round(position.x), Math.round(position.y)];
      if (box && (box.x !== place[0] || box.y !== place[1])) places[id] = place;
    }
    if (!Object.keys(places).length) return;
    if (this.readonly) this.redraw();
    else this.move(places);
  }

  align(how) {
    const places = aligned(this.boxesNow(this.chosen.nodes), how);
    if (Object.keys(places).length) this.move(places, "Align");
  }

  async layout() {
    this.busy = true;
    try {
      const places = await arrange(this.view);
      this.busy = false;
      this.move(places, "Arrange");
      this.flow?.fit();
    } catch (error) {
      this.say(`The layout failed: ${error.message}`);
    } finally {
      this.busy = false;
    }
  }

  rename(id, label) {
    this.renaming = null;
    const old = this.part.document.nodes[id]?.label ?? "";
    if (label.trim() !== old) {
      const change = label.trim() ? { value: label.trim() } : { unset: true };
      this.command({ do: "set", node: id, path: "/label", ...change });
    }
    this.focus({ node: id });
  }

  // Clipboard

  copied() {
    const { nodes } = this.concerned;
    return nodes.length ? fragmentText(this.part.document, this.view.boxes, nodes) : null;
  }

  pasted(text) {
    const fragment = fragmentOf(text);
    if (!fragment) return this.say("There is nothing of a topology on the clipboard.");
    const at = this.pastePlace(fragment);
    return this.command({ do: "paste", fragment, at });
  }

  pastePlace(fragment) {
    const spot = this.flow?.pointer(this.pointer) ?? this.flow?.middle() ?? { x: 0, y: 0 };
    const taken = new Set(this.nodes.map((node) => `${node.position.x} ${node.position.y}`));
    const place = [Math.round(spot.x), Math.round(spot.y)];
    if (!this.pointer && fragment.layout) place[0] -= 104;
    while (taken.has(place.join(" "))) place.forEach((each, index) => (place[index] = each + 40));
    return place;
  }

  // Levels

  enter(id = this.current) {
    const node = this.part?.document.nodes?.[id];
    if (typeof node?.topology === "object" && node.topology !== null) return this.goLevel([...this.level, id]);
    if (typeof node?.topology !== "string") return undefined;
    const [name] = node.topology.split("@");
    return window.location.assign(new URL(`../../${encodeURIComponent(name)}/edit/`, window.location.href));
  }

  leave() {
    const id = this.level.at(-1);
    if (id == null) return;
    this.goLevel(this.level.slice(0, -1));
    this.go({ node: id });
  }

  goLevel(level) {
    this.level = level;
    this.at = null;
    this.nodes = [];
    this.edges = [];
    this.redraw();
    this.at = this.first();
    this.flow?.open();
    this.say(level.length ? `Inside ${level.at(-1)}` : "The whole topology");
    if (this.at) this.focus(this.at);
  }
}

/** An agent's name as the id of a node. */
function idOf(name) {
  const id = name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[^A-Za-z]+/, "");
  return id.slice(0, 64) || "agent";
}
