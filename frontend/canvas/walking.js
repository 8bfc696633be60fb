// What is selected, what has the focus, and the ways from one node or edge to another.
import { neighbour } from "./geometry.js";
import { Model } from "./model.svelte.js";
import { stream } from "./view.js";

export class Walking extends Model {
  select({ nodes = [], edges = [] }) {
    const [these, those] = [new Set(nodes), new Set(edges)];
    const mark = (set) => (each) => (!!each.selected === set.has(each.id) ? each : { ...each, selected: set.has(each.id) });
    this.nodes = this.nodes.map(mark(these));
    this.edges = this.edges.map(mark(those));
  }

  selectionChanged() {
    if (this.print(this.chosen) !== this.told) this.tell();
  }

  tell() {
    const chosen = this.chosen;
    this.told = this.print(chosen);
    if (!this.level.length) this.ask("select", chosen);
  }

  print({ nodes, edges }) {
    return JSON.stringify([this.level, nodes, edges]);
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
}
