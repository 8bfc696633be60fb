// What the parts of a run's page share: where things stand, and how numbers are said.

export const SPEAKS_MS = 6000; // so long a worker that tells of the run may be silent before the page asks for itself

export const page = {
  source: null,
  last: 0,
  attempt: 0,
  status: "",
  sums: { nodes: {}, edges: [] },
  pictures: null,
  calls: new Map(),
  more: 0,
  lately: [],
  spoke: -Infinity,
  asked: 0,
  connectAt: 0,
  hiddenAt: 0,
};

export const part = (id) => document.getElementById(id);
export const run = () => part("run");
export const now = () => performance.now();
export const told = () => page.source?.readyState === EventSource.OPEN && now() - page.spoke < SPEAKS_MS;
export const number = (value) => value.toLocaleString("en-GB");

export function visitUrl(node, visit) {
  return run().dataset.visit.replace("NODE/0", `${encodeURIComponent(node)}/${visit}`);
}

export function seconds(value) {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 119.5) return `${Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}
