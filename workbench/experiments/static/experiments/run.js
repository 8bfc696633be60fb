// A run's page while it goes on. Its stream tells what happens; what it tells is put where the page already says it.
// Without the stream (no Redis, no worker that tells, no connection) the page asks every second, as its markup says.

const STALLED_S = 40;
const SPEAKS_MS = 6000; // so long a worker that tells of the run may be silent before the page asks for itself
const SAFETY_MS = 15000; // so often it asks although it is told
const HIDDEN_MS = 20000; // so long a stream stays open behind another tab: a browser has few connections
const LATELY = 8;
const TEXT = 4000;

const page = {
  source: null,
  last: 0,
  attempt: 0,
  status: "",
  sums: { nodes: {}, edges: [] },
  calls: new Map(),
  lately: [],
  spoke: -Infinity,
  asked: 0,
  connectAt: 0,
  hiddenAt: 0,
};

const run = () => document.getElementById("run");
const part = (id) => document.getElementById(id);
const now = () => performance.now();
const told = () => page.source?.readyState === EventSource.OPEN && now() - page.spoke < SPEAKS_MS;
const number = (value) => value.toLocaleString("en-GB");

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

// What an event changes ----------------------------------------------------------------------------------------------

function fold(event) {
  if (event.node && event.visit) foldNode(event);
  for (const edge of event.fired ? event.fired.split(",") : []) foldEdge(Number(edge));
  if (event.kind === "asked" || event.kind === "answered") window.htmx.trigger("#run-questions", "refresh");
  if (sentence(event)) page.lately = [event, ...page.lately].slice(0, LATELY);
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

// The picture --------------------------------------------------------------------------------------------------------

function pictures() {
  const found = { nodes: new Map(), edges: new Map(), words: new Map() };
  for (const group of document.querySelectorAll("#run .tp [data-node]")) found.nodes.set(group.dataset.node, group);
  for (const group of document.querySelectorAll("#run .tp [data-edge]")) found.edges.set(group.dataset.edge, group);
  for (const group of document.querySelectorAll("#run .tp [data-words]")) found.words.set(group.dataset.words, group);
  return found;
}

function showNode(name, sums) {
  const group = page.pictures.nodes.get(name);
  if (!group) return;
  const status = sums.begun > sums.ended ? "running" : sums.failed ? "failed" : "succeeded";
  for (const old of [...group.classList].filter((it) => it.startsWith("tp-is-"))) group.classList.remove(old);
  group.classList.add(`tp-is-${status}`);
  const visits = Math.max(sums.begun, sums.ended);
  group.querySelector(".tp-status").textContent = visits > 1 ? `${status} ×${number(visits)}` : status;
  if (sums.tokens !== null) group.querySelector(".tp-tokens").textContent = `${number(sums.tokens)} tokens`;
}

function showEdge(index, edge) {
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

// The figures and the status -----------------------------------------------------------------------------------------

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

// Calls under way ----------------------------------------------------------------------------------------------------

function takeCalls(calls, more) {
  const before = page.calls;
  page.spoke = now();
  page.calls = new Map(calls.map((call) => [call.id, { ...call, text: joined(before.get(call.id), call), heard: now() }]));
  page.more = more;
  showCalls();
}

// A piece continues what is there, repeats some of it, or begins anew.
function joined(before, call) {
  if (!before || before.thinks !== call.thinks || before.phase !== call.phase || call.from === 0) {
    return { from: call.from, words: call.text };
  }
  const end = before.text.from + before.text.words.length;
  if (call.from > end) return { from: call.from, words: call.text };
  const words = before.text.words + call.text.slice(end - call.from);
  const cut = Math.max(0, words.length - TEXT);
  return { from: before.text.from + cut, words: words.slice(cut) };
}

function showCalls() {
  const list = part("run-calls");
  if (!list) return;
  const items = new Map();
  for (const item of [...list.children]) {
    if (page.calls.has(Number(item.dataset.call))) items.set(item.dataset.call, item);
    else item.remove();
  }
  for (const call of page.calls.values()) showCall(items.get(String(call.id)) ?? newCall(list, call), call);
  if (!page.calls.size) {
    const none = document.createElement("li");
    none.className = "now-none muted";
    none.textContent = page.status === "waiting" ? "It waits for a person." : "No call is under way at this moment.";
    list.append(none);
  }
  part("run-more").hidden = !page.more;
  part("run-more").textContent = `and ${number(page.more ?? 0)} more calls`;
}

function newCall(list, call) {
  const item = part("call-template").content.firstElementChild.cloneNode(true);
  item.dataset.call = call.id;
  item.querySelector("[data-is=node]").textContent = call.node;
  item.querySelector("[data-is=node]").href = visitUrl(call.node, call.visit);
  item.querySelector("[data-is=visit]").textContent = `visit ${call.visit}${call.unit === null ? "" : `, unit ${call.unit + 1}`}`;
  item.querySelector("[data-is=name]").textContent = call.name;
  list.append(item);
  return item;
}

const PHASES = { turn: "waits for its turn", pause: "waits for its next attempt", tool: "runs" };

function showCall(item, call) {
  const text = item.querySelector("[data-is=text]");
  const words = (call.text.from > 0 ? "… " : "") + call.text.words;
  const atEnd = text.scrollTop + text.clientHeight > text.scrollHeight - 24;
  text.hidden = !words;
  text.classList.toggle("is-thinking", call.thinks);
  if (text.textContent !== words) text.textContent = words;
  if (atEnd) text.scrollTop = text.scrollHeight;
  text.classList.toggle("is-scrolled", text.scrollTop > 0);
  tick(item, call);
}

function tick(item, call) {
  const since = (now() - call.heard) / 1000;
  const quiet = silence(call);
  item.classList.toggle("is-stalled", quiet > STALLED_S);
  const speaks = call.thinks ? "thinks" : call.text.words ? "speaks" : "waits for the first token";
  const phase = quiet > STALLED_S ? `no token for ${Math.round(quiet)} s` : (PHASES[call.phase] ?? speaks);
  item.querySelector("[data-is=phase]").textContent = phase;
  item.querySelector("[data-is=time]").textContent = seconds(call.seconds + since);
}

// Seconds since a model said something, and while it is asked only.
function silence(call) {
  if (call.kind !== "model" || call.phase !== "answer") return 0;
  return (call.quiet ?? call.seconds) + (now() - call.heard) / 1000;
}

// The worker is not heard any more: what it said last need not be so.
function forget() {
  page.calls.clear();
  refresh();
}

function showStalls() {
  const notice = part("run-stalls");
  if (!notice) return;
  const stalled = [...page.calls.values()].filter((call) => silence(call) > STALLED_S);
  const named = stalled.slice(0, 3).map((call) => `${call.name} (${call.node}, visit ${call.visit})`).join(", ");
  const others = stalled.length > 3 ? ` and ${stalled.length - 3} more` : "";
  const words = stalled.length ? `No token for ${STALLED_S} s and longer from ${named}${others}.` : "";
  if (notice.textContent !== words) notice.textContent = words;
  notice.hidden = !words;
}

// Lately -------------------------------------------------------------------------------------------------------------

function showLately() {
  part("run-feed")?.replaceChildren(...page.lately.map(newItem));
  if (page.lately.length && part("run-lately")) part("run-lately").hidden = false;
}

function newItem(event) {
  const item = document.createElement("li");
  if (event.node) {
    const link = document.createElement(event.visit ? "a" : "span");
    if (event.visit) link.href = visitUrl(event.node, event.visit);
    link.className = "mono";
    link.textContent = event.node;
    item.append(link, " ");
  }
  item.append(sentence(event));
  return item;
}

function sentence(event) {
  const took = event.seconds == null ? "" : ` in ${seconds(event.seconds)}`;
  if (event.kind === "visit_started") return `begins visit ${event.visit}`;
  if (event.kind === "model_called") {
    const tokens = event.output_tokens == null ? "" : ` with ${number(event.output_tokens)} tokens`;
    return event.status === "ok" ? `has its model's answer${tokens}${took}` : `could not ask its model: ${event.status}`;
  }
  if (event.kind === "tool_called") return event.status === "ok" ? `used a tool${took}` : `used a tool, which failed${took}`;
  if (event.kind === "visit_ended") return `${event.status}${went(event)}`;
  if (event.kind === "asked") return "asks a person";
  if (event.kind === "answered") return "has a person's answer";
  if (event.kind === "limit_hit") return "met a limit";
  if (event.kind === "noted") return "left a note";
  return "";
}

function went(event) {
  const targets = (event.fired ? event.fired.split(",") : []).map((edge) => page.sums.edges[Number(edge)]?.to);
  return targets.length ? `, went on to ${[...new Set(targets)].join(", ")}` : "";
}

function visitUrl(node, visit) {
  return run().dataset.visit.replace("NODE/0", `${encodeURIComponent(node)}/${visit}`);
}

function seconds(value) {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 119.5) return `${Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
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
  showStalls();
  for (const item of part("run-calls")?.children ?? []) {
    const call = page.calls.get(Number(item.dataset.call));
    if (call) tick(item, call);
  }
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
