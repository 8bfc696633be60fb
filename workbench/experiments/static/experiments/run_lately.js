// What happened last, in words.

import { number, page, part, seconds, visitUrl } from "./run_page.js";

const LATELY = 8;

export function remember(event) {
  if (sentence(event)) page.lately = [event, ...page.lately].slice(0, LATELY);
}

export function showLately() {
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
