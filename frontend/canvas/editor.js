// What can be done on the canvas: every change is a command that the page is asked for.
import { arrange } from "./arrange.js";
import { fragmentOf, fragmentText } from "./clipboard.js";
import { aligned, around } from "./geometry.js";
import { Walking } from "./walking.js";

const KEPT_MS = 3000;

export class Editor extends Walking {
  /** A new node of a type, or one made from an agent, at a place; with an edge `from` a node or `into` one. */
  add({ type, agent }, { from = null, into = null, at = null } = {}) {
    const place = at ?? this.placeAfter(from ?? into);
    const config = agent ? { config: { agent }, id: idOf(agent) } : {};
    const command = { do: "add_node", type: agent ? "agent" : type, at: place.map(Math.round), ...config };
    if (from != null) this.command({ ...command, from });
    else if (into != null) this.addBefore(into, { id: type, ...command });
    else this.command(command);
  }

  addBefore(into, command) {
    let { id } = command;
    for (let number = 2; this.view.boxes.has(id); number += 1) id = `${command.id}${number}`;
    this.command([{ ...command, id }, { do: "connect", from: id, to: into }]);
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

  goTop() {
    this.level = [];
    this.redraw();
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
