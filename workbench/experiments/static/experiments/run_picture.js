// The picture of a run as it changes: nodes by their state, edges as they fire, with counts.

import { number, page } from "./run_page.js";

export function pictures() {
  const found = { nodes: new Map(), edges: new Map(), words: new Map() };
  for (const group of document.querySelectorAll("#run .tp [data-node]")) found.nodes.set(group.dataset.node, group);
  for (const group of document.querySelectorAll("#run .tp [data-edge]")) found.edges.set(group.dataset.edge, group);
  for (const group of document.querySelectorAll("#run .tp [data-words]")) found.words.set(group.dataset.words, group);
  return found;
}

export function showNode(name, sums) {
  const group = page.pictures.nodes.get(name);
  if (!group) return;
  const status = sums.begun > sums.ended ? "running" : sums.failed ? "failed" : "succeeded";
  for (const old of [...group.classList].filter((it) => it.startsWith("tp-is-"))) group.classList.remove(old);
  group.classList.add(`tp-is-${status}`);
  const visits = Math.max(sums.begun, sums.ended);
  group.querySelector(".tp-status").textContent = visits > 1 ? `${status} ×${number(visits)}` : status;
  if (sums.tokens !== null) group.querySelector(".tp-tokens").textContent = `${number(sums.tokens)} tokens`;
}

export function showEdge(index, edge) {
  const group = page.pictures.edges.get(String(index));
  if (!group) return;
  group.classList.replace("tp-quiet", "tp-fired");
  group.classList.remove("tp-fires");
  void group.getBoundingClientRect(); // so that the movement begins anew
  group.classList.add("tp-fires");
  const count = edge.max != null ? `${edge.fired} of ${edge.max}` : edge.fired > 1 ? `${number(edge.fired)}×` : "";
  const words = [edge.when, count].filter(Boolean).join(" · ");
  if (words) showWords(index, group, words);
}

function showWords(index, edge, words) {
  const svg = edge.ownerSVGElement;
  let label = page.pictures.words.get(String(index));
  if (!label) {
    const line = edge.querySelector(".tp-line");
    const middle = line.getPointAtLength(line.getTotalLength() / 2);
    label = svg.appendChild(drawn("g", { class: "tp-words", "data-words": index }));
    label.append(
      drawn("rect", { y: middle.y - 9, height: 18, rx: 9 }),
      drawn("text", { x: middle.x, y: middle.y + 4, "text-anchor": "middle", "font-size": 11.5 }),
    );
    page.pictures.words.set(String(index), label);
  }
  const [box, text] = [label.querySelector("rect"), label.querySelector("text")];
  text.textContent = words;
  const width = text.getComputedTextLength() + 14;
  box.setAttribute("width", width);
  box.setAttribute("x", Number(text.getAttribute("x")) - width / 2);
}

function drawn(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
