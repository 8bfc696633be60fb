// Asks the worker for a layout. It is started when first needed, once for a page.

let worker = null;
let number = 0;
const waiting = new Map();

function started() {
  if (worker) return worker;
  worker = new Worker(new URL("./layout.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => {
    waiting.get(data.number)?.resolve(data.places);
    waiting.delete(data.number);
  };
  worker.onerror = (event) => {
    for (const { reject } of waiting.values()) reject(new Error(event.message || "its worker did not start"));
    waiting.clear();
    worker = null;
  };
  return worker;
}

/** Places for all nodes of a view, in a while. */
export function arrange(view) {
  const nodes = view.nodes.map(({ id, width, height }) => ({ id, width, height }));
  const edges = view.edges.map(({ source, target, back, words }) => ({
    source,
    target,
    back,
    label: words ? Math.min(190, words.length * 6.4 + 20) : 0,
  }));
  number += 1;
  const mine = number;
  return new Promise((resolve, reject) => {
    waiting.set(mine, { resolve, reject });
    started().postMessage({ number: mine, nodes, edges });
  });
}
