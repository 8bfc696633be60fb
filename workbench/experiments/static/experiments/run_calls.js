// The calls that are under way, what models have said in them so far, and which have fallen silent.

import { number, now, page, part, seconds, visitUrl } from "./run_page.js";

const STALLED_S = 40;
const TEXT = 4000;

export function takeCalls(calls, more) {
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

export function showCalls() {
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

// Twice a second the clocks go on.
export function tickCalls() {
  for (const item of part("run-calls")?.children ?? []) {
    const call = page.calls.get(Number(item.dataset.call));
    if (call) tick(item, call);
  }
  showStalls();
}
