// What the canvas computes without a browser: places, lines, keys, the clipboard, and its copy of the document.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fragmentOf, fragmentText } from "./clipboard.js";
import { aligned, neighbour, spread } from "./geometry.js";
import { actionOf, KEYS } from "./keys.js";
import { arranged } from "./layout.js";
import { route } from "./routes.js";
import { answered } from "./state.js";

const box = (id, x, y) => ({ id, x, y, width: 208, height: 62 });

test("an answer changes only what it names, and keeps the order of edges", () => {
  const state = { version: 1, keys: ["e1", "e2"], document: { name: "a", nodes: { a: {}, b: {} }, edges: [{ from: "a", to: "b" }, { from: "b", to: "a" }] } };
  const patch = { nodes: { c: { type: "vote" }, a: null }, node_order: ["c", "b"], edges: { e3: { from: "b", to: "c" }, e1: null }, top: { name: null } };

  const next = answered(state, { version: 2, keys: ["e3", "e2"], patch });

  assert.deepEqual(Object.keys(next.document.nodes), ["c", "b"]);
  assert.deepEqual(next.document.edges, [{ from: "b", to: "c" }, { from: "b", to: "a" }]);
  assert.equal("name" in next.document, false);
  assert.equal(next.version, 2);
  assert.deepEqual(Object.keys(state.document.nodes), ["a", "b"]);
});

test("an arrow key leads to the nearest box in its direction", () => {
  const boxes = [box("a", 0, 0), box("b", 300, 20), box("c", 300, 400), box("d", 0, 200)];

  assert.equal(neighbour(boxes[0], boxes, "right").id, "b");
  assert.equal(neighbour(boxes[0], boxes, "down").id, "d");
  assert.equal(neighbour(boxes[0], boxes, "left"), null);
});

test("aligned boxes share an edge, and equal gaps are equal", () => {
  const boxes = [box("a", 0, 0), box("b", 300, 50), box("c", 900, 10)];

  assert.deepEqual(aligned(boxes, "top"), { a: [0, 0], b: [300, 0], c: [900, 0] });
  assert.deepEqual(aligned(boxes, "across"), { a: [0, 0], b: [450, 50], c: [900, 10] });
  assert.deepEqual(aligned(boxes.slice(0, 1), "top"), {});
});

test("ends of lines at one side never leave it", () => {
  for (const count of [1, 2, 40]) {
    const places = Array.from({ length: count }, (_, index) => spread(index, count, 62));
    assert.ok(places.every((place) => Math.abs(place) <= 31), `${count}: ${places}`);
  }
});

test("a line passes what stands between its boxes, and one that leads back runs beneath", () => {
  const boxes = [box("a", 0, 0), box("b", 280, 0), box("c", 560, 0)];
  const past = route(boxes[0], boxes[2], { boxes });
  const back = route(boxes[2], boxes[0], { back: true, boxes });

  assert.ok(past.level < 0 || past.level > 62);
  assert.ok(back.label.y > 62);
  assert.equal(route(boxes[0], boxes[1], { boxes }).level, undefined);
});

test("dagre puts what follows to the right, loops or not", () => {
  const nodes = ["a", "b", "c"].map((id) => ({ id, width: 208, height: 62 }));
  const edges = [
    { source: "a", target: "b" },
    { source: "b", target: "c" },
    { source: "c", target: "a", back: true },
    { source: "b", target: "b", back: true },
  ];

  const places = arranged(nodes, edges);

  assert.ok(places.a[0] + 208 < places.b[0] && places.b[0] + 208 < places.c[0]);
});

test("what is copied can be pasted, and nothing else can", () => {
  const document = { nodes: { a: { type: "agent" }, b: { type: "vote" } }, edges: [{ from: "a", to: "b" }, { from: "b", to: "x" }] };
  const boxes = new Map([box("a", 1, 2), box("b", 3, 4)].map((each) => [each.id, each]));

  const fragment = fragmentOf(fragmentText(document, boxes, ["a", "b"]));

  assert.deepEqual(fragment.edges, [{ from: "a", to: "b" }]);
  assert.deepEqual(fragment.layout, { a: [1, 2], b: [3, 4] });
  for (const text of ["", "hello", "{}", '{"format": "workbench.agent/1", "nodes": {}}', "workbench. {"]) assert.equal(fragmentOf(text), null);
});

test("every key on the sheet does what stands beside it", () => {
  const press = (written) => {
    const parts = written === "+" ? ["+"] : written.split("+");
    const key = parts.at(-1) === "Space" ? " " : parts.at(-1);
    return actionOf({ key, ctrlKey: parts.includes("Ctrl"), shiftKey: parts.includes("Shift") });
  };
  for (const [, rows] of KEYS) {
    for (const [keys, action] of rows) {
      for (const key of keys.split(" ")) assert.equal(press(key), action === "clipboard" ? undefined : action, key);
    }
  }
});
