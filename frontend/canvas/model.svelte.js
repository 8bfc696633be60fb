// What the canvas knows: its copy of the document at a level, what of it is drawn, and how it asks the page for changes. It asks
// by events and shows what comes back; only moves are shown before they are answered.
import { tick, untrack } from "svelte";
import { answered } from "./state.js";
import { stateAt, viewOf } from "./view.js";
import { toEdges, toNodes } from "./drawn.js";

const MANY = 100;
const VERY_MANY = 250;
const AFAR = 0.3;
const PLACES = ["move", "add_node", "paste", "duplicate"];

export class Model {
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
  count = $derived(this.nodes.length); // which, unlike the nodes, stays the same while one of them is dragged
  sole = $derived(this.soleEdge()); // the edge that alone is selected: its ends can be taken

  constructor(host) {
    this.host = host;
    this.flow = null; // the library's view: set once it is mounted
    this.at = null; // the node or edge that has, or last had, focus: {node} or {edge}
    this.moved = new Map();
    this.told = this.print({ nodes: [], edges: [] }); // the selection that the page knows of
    this.pointer = null;
  }

  /** So many nodes that only those in view are built. */
  get many() {
    return this.count > MANY;
  }

  /** So many, and so small, that they are painted instead. */
  get far() {
    return this.count > VERY_MANY && this.zoom < AFAR;
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
    if (this.level.length) this.goTop();
    this.select({ nodes, edges });
    this.told = this.print(this.chosen); // what the page says is not told to the page
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
}
