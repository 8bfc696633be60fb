// A run's page while it goes on. Its stream tells what happens; what it tells is put where the page already says it.
// Without the stream (no Redis, no worker that tells, no connection) the page asks every second, as its markup says.

import { showCalls, takeCalls, tickCalls } from "./run_calls.js";
import { remember, showLately } from "./run_lately.js";
import { now, page, part, run, seconds, SPEAKS_MS, told } from "./run_page.js";
import { pictures, showEdge, showNode } from "./run_picture.js";

const SAFETY_MS = 15000; // so often it asks although it is told
const HIDDEN_MS = 20000; // so long a stream stays open behind another tab: a browser has few connections

// The stream ---------------------------------------------------------------------------------------------------------

function begin() {
  const root = run();
  const behind = page.last > Number(root?.dataset.last ?? 0);
  page.last = Number(root?.dataset.last ?? 0);
  page.attempt = Number(root?.dataset.attempt ?? 0);
  page.status = root?.dataset.status ?? "";
  page.sums = JSON.parse(part("run-sums")?.textContent ?? '{"nodes": {}, "edges": []}');
  page.pictures = pictures();
  if (!root?.dataset.stream) return hangUp();
  if (behind) hangUp(); // the page was drawn before what had been told: hear it again
  if (page.calls.size) showCalls();
  showLately();
  connect();
}

function connect() {
  const root = run();
  if (page.source || document.hidden || !navigator.onLine || !root?.dataset.stream) return;
  const source = new EventSource(`${root.dataset.stream}?after=${page.last}`);
  page.source = source;
  source.onmessage = (message) => take(JSON.parse(message.data));
  source.addEventListener("behind", () => again(200));
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) again(3000); // it was refused: a new one, after a while
  };
}

function hangUp() {
  page.source?.close();
  page.source = null;
}

function again(wait) {
  hangUp();
  page.connectAt = now() + wait;
}

function take(frame) {
  if (frame.attempt < page.attempt) return;
  if (frame.attempt > page.attempt) page.calls.clear();
  page.attempt = frame.attempt;
  for (const event of frame.events ?? []) {
    if (event.sequence > page.last) fold(event);
  }
  page.last = Math.max(page.last, frame.last);
  if (frame.events) showLately();
  if (frame.stats) showFigures(frame.stats);
  if (frame.status) showStatus(frame.status);
  if (frame.calls) takeCalls(frame.calls, frame.more);
  if (frame.ended) {
    hangUp();
    page.calls.clear();
  }
  if (frame.ended || frame.again) refresh();
  else if (frame.events) changed();
  if (frame.events?.some((event) => ASKING.has(event.kind))) askAgain();
  look();
}

// Two names: what happens to the visits passes the run around them too.
function refresh() {
  if (run()) window.htmx.trigger(run(), "refresh");
}

// Questions to people have a part of the page, which looks for itself now and then.
const ASKING = new Set(["asked", "answered"]);

function askAgain() {
  if (part("run-questions")) window.htmx.trigger(part("run-questions"), "refresh");
}

// The visits are drawn by the server: soon, but the longer it takes the seldomer.
const visits = { wanted: false, busy: false, due: 0, began: 0 };

function changed() {
  visits.wanted = true;
}

function drawVisits() {
  if (!visits.wanted || visits.busy || document.hidden || now() < visits.due || !part("visits")) return;
  Object.assign(visits, { wanted: false, busy: true, began: now() });
  window.htmx.trigger(part("visits"), "redraw");
}

// The worker is not heard any more: what it said last need not be so.
function forget() {
  page.calls.clear();
  refresh();
}

// What an event changes ----------------------------------------------------------------------------------------------

function fold(event) {
  if (event.node && event.visit) foldNode(event);
  for (const edge of event.fired ? event.fired.split(",") : []) foldEdge(Number(edge));
  remember(event);
}

function foldNode(event) {
  const blank = { begun: 0, ended: 0, failed: 0, tokens: null };
  const sums = (page.sums.nodes[event.node] ??= blank);
  sums.begun = Math.max(sums.begun, event.visit);
  if (event.kind === "visit_ended") {
    sums.ended += 1;
    if (event.status === "failed") sums.failed += 1;
  }
  if (event.kind === "model_called" && (event.input_tokens !== null || event.output_tokens !== null)) {
    sums.tokens = (sums.tokens ?? 0) + (event.input_tokens ?? 0) + (event.output_tokens ?? 0);
  }
  showNode(event.node, sums);
}

function foldEdge(index) {
  const edge = page.sums.edges[index];
  if (!edge) return;
  edge.fired += 1;
  showEdge(index, edge);
}

function showFigures(html) {
  const fresh = new DOMParser().parseFromString(`<dl>${html}</dl>`, "text/html");
  for (const figure of fresh.querySelectorAll("[data-figure]")) {
    const old = document.querySelector(`#run [data-figure="${figure.dataset.figure}"]`);
    if (old && old.innerHTML !== figure.innerHTML) old.replaceWith(document.adoptNode(figure));
  }
  const time = document.querySelector("#run [data-seconds]");
  if (time) time.dataset.at = now();
}

function showStatus(status) {
  if (status === page.status) return;
  page.status = status;
  const badge = part("run-status");
  badge.className = `badge badge-${status}`;
  badge.textContent = status.replace("_", " ");
  if (status === "stopping") document.querySelector("#run-actions button")?.setAttribute("disabled", "");
}

// Time goes on -------------------------------------------------------------------------------------------------------

function look() {
  const link = part("run-link");
  if (!link) return;
  const state = !navigator.onLine ? "offline" : told() ? "live" : "asking";
  const words = { offline: "offline; it goes on without this page", live: "live", asking: "looking every second" }[state];
  const queued = state === "asking" && page.status === "queued" ? "in the queue" : words;
  if (link.textContent !== queued) link.textContent = queued;
  link.dataset.state = state;
}

function everyHalfSecond() {
  if (!run()?.dataset.stream) return;
  if (document.hidden && page.source && now() - page.hiddenAt > HIDDEN_MS) hangUp();
  if (!page.source && now() >= page.connectAt) connect();
  if (page.calls.size && now() - page.spoke > SPEAKS_MS) forget();
  look();
  tickCalls();
  const time = document.querySelector("#run [data-at]");
  if (time && told()) time.textContent = seconds(Number(time.dataset.seconds) + (now() - Number(time.dataset.at)) / 1000);
  drawVisits();
}

// The page asks every second by its markup; not while it is told, nor while there is nobody to ask.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.target.id !== "run") return;
  const address = new URL(event.detail.path, location.href);
  if (event.detail.triggeringEvent?.type === "refresh") address.searchParams.delete("seen"); // whatever it has seen
  else address.searchParams.set("seen", `${page.last}-${page.attempt}-${page.status}`);
  event.detail.path = address.pathname + address.search;
});

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.id !== "run") return;
  const wanted = event.detail.requestConfig.triggeringEvent?.type === "refresh";
  const known = (told() || document.hidden) && now() - page.asked < SAFETY_MS;
  if (!navigator.onLine || (known && !wanted)) event.preventDefault();
  else page.asked = now();
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "run") begin();
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.requestConfig?.elt.id !== "visits") return;
  visits.busy = false;
  visits.due = now() + Math.max(1000, 10 * (now() - visits.began));
});

// What a person has scrolled sideways or opened stays so when the visits are drawn anew.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id === "visits") visits.left = document.querySelector("#visits .table-wrap")?.scrollLeft ?? 0;
});

document.addEventListener("htmx:afterSwap", () => {
  const table = document.querySelector("#visits .table-wrap");
  if (table && visits.left) table.scrollLeft = visits.left;
});

document.addEventListener("visibilitychange", () => {
  page.hiddenAt = now();
  if (!document.hidden) connect();
});
window.addEventListener("online", () => {
  again(0);
  connect();
});
window.addEventListener("offline", look);
window.addEventListener("pagehide", hangUp);
window.addEventListener("pageshow", (event) => event.persisted && connect());

begin();
setInterval(everyHalfSecond, 500);
