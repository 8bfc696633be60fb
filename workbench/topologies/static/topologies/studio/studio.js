// The editor's page: the one place that talks to the server. It holds the version of the draft, sends what canvas, list,
// text and panel ask for one after the other, and brings all of them to what the server answered.

const root = document.getElementById("studio");
const KEPT = "workbench-unsent";

function start() {
  const stateBlock = document.getElementById("studio-state");
  const canvas = document.getElementById("canvas");
  const panel = document.getElementById("studio-panel");
  const kept = document.getElementById("studio-kept");
  const trouble = document.getElementById("studio-trouble");
  const said = document.getElementById("studio-said");
  const views = { canvas: byId("view-canvas"), list: byId("view-list"), text: byId("view-text") };
  const stale = new Set();
  const key = `${KEPT}:${root.dataset.name}`;

  let state = JSON.parse(stateBlock.textContent);
  let queue = [];
  let busy = false;
  let paused = false;
  let timer = 0;
  let view = root.dataset.view;
  let chosen = { node: root.dataset.node, edge: root.dataset.edge };
  let painted = false;

  // Sending -------------------------------------------------------------------------------------------------------

  function send(job) {
    queue.push(job);
    remember();
    pump();
  }

  function remember() {
    const waiting = queue.filter((job) => job.commands || job.fields);
    if (waiting.length) localStorage.setItem(key, JSON.stringify({ draft: state.draft, version: state.version, jobs: waiting }));
    else localStorage.removeItem(key);
  }

  async function pump() {
    if (busy || paused || !queue.length) return;
    busy = true;
    say("Saving …", "saving");
    const job = queue[0];
    try {
      const response = await post(job);
      const type = response.headers.get("Content-Type") || "";
      if (!type.includes("application/json")) throw new Error(response.status === 403 || response.redirected ? "you are not signed in any more" : `the server answered ${response.status}`);
      const answer = await response.json();
      queue.shift();
      if (response.status === 200) accept(answer, job);
      else if (response.status === 409) conflict(answer, job);
      else refuse(answer, job);
      remember();
      busy = false;
      if (!paused) settled();
    } catch (error) {
      busy = false;
      const why = error instanceof TypeError ? "the server does not answer" : error.message;
      say(`Not saved: ${why}. It is kept in this browser and tried again.`, "bad");
      clearTimeout(timer);
      timer = setTimeout(pump, 3000);
    }
  }

  function settled() {
    if (queue.length) pump();
    else {
      say(state.committed.same ? "As committed" : "All changes kept", "good");
      for (const done of waiters.splice(0)) done();
      refreshStale();
    }
  }

  const waiters = [];
  function idle() {
    flush();
    return queue.length || busy ? new Promise((done) => waiters.push(done)) : Promise.resolve();
  }

  function post(job) {
    const headers = { Accept: "application/json", "X-CSRFToken": token() };
    const version = job.version ?? state.version;
    if (job.fields) {
      const body = new URLSearchParams(job.fields);
      body.set("version", version);
      body.set("draft", state.draft);
      if (job.merge) body.set("merge", "1");
      return fetch(root.dataset.commands.replace(/commands\/$/, "form/"), { method: "POST", headers, body });
    }
    const { commands, label, typing, undo, redo, merge } = job;
    const body = JSON.stringify({ draft: state.draft, version, commands, label, typing, undo, redo, merge });
    headers["Content-Type"] = "application/json";
    return fetch(root.dataset.commands, { method: "POST", headers, body });
  }

  function token() {
    return JSON.parse(document.body.getAttribute("hx-headers") || "{}")["X-CSRFToken"] || "";
  }

  function say(words, kind) {
    if (kept.textContent !== words) kept.textContent = words;
    kept.dataset.kind = kind;
  }

  // Answers -------------------------------------------------------------------------------------------------------

  function accept(answer, job) {
    const whole = Boolean(answer.document);
    if (whole) state = answer;
    else {
      patch(state.document, answer);
      const { patch: _patch, label: _label, renamed: _renamed, select: _select, marks: _marks, ...rest } = answer;
      state = { ...state, ...rest };
    }
    stateBlock.textContent = JSON.stringify(state);
    follow(answer);
    show(answer, job);
    tell("topology:answer", answer);
    if (answer.label && job.from !== "text" && !job.typing) said.textContent = answer.label;
  }

  function patch(document_, { patch: changes, keys }) {
    for (const [name, value] of Object.entries(changes.top || {})) put(document_, name, value);
    if (changes.nodes) {
      const nodes = { ...document_.nodes };
      for (const [name, value] of Object.entries(changes.nodes)) put(nodes, name, value);
      document_.nodes = nodes;
    }
    if (changes.node_order) document_.nodes = Object.fromEntries(changes.node_order.map((name) => [name, document_.nodes[name]]));
    if (changes.edges || changes.keys) {
      const edges = Object.fromEntries(state.keys.map((name, place) => [name, (document_.edges || [])[place]]));
      for (const [name, value] of Object.entries(changes.edges || {})) put(edges, name, value);
      document_.edges = keys.map((name) => edges[name]);
    }
    if (changes.layout) {
      const layout = { ...document_.layout };
      for (const [name, value] of Object.entries(changes.layout)) put(layout, name, value);
      document_.layout = layout;
    }
  }

  function put(target, name, value) {
    if (value === null) delete target[name];
    else target[name] = value;
  }

  // What was renamed, made or deleted is what the panel shows next.
  function follow(answer) {
    const renamed = (answer.renamed || {})[chosen.node];
    if (renamed) chosen = { node: renamed };
    const { nodes = [], edges = [] } = answer.select || {};
    if (nodes.length === 1) chosen = { node: nodes[0] };
    else if (!nodes.length && edges.length === 1) chosen = { edge: edges[0] };
    if (chosen.node && !(chosen.node in (state.document.nodes || {}))) chosen = {};
    if (chosen.edge && !state.keys.includes(chosen.edge)) chosen = {};
  }

  function show(answer, job) {
    for (const input of document.querySelectorAll("input[name=version]")) input.value = state.version;
    for (const input of document.querySelectorAll("input[name=draft]")) input.value = state.draft;
    turn("studio-undo", "Undo", state.undo, "Nothing to undo");
    turn("studio-redo", "Redo", state.redo, "Nothing to do again");
    const discard = document.getElementById("studio-discard");
    if (discard) discard.disabled = state.committed.same;
    stale.add("problems").add("list").add("text");
    if (job.from === "text") {
      stale.delete("text");
      marks(answer.marks || []);
    }
    if (job.from === "panel" && !job.shape) {
      problemsAt();
      if (!typingIn(panel)) stale.add("panel");
    } else stale.add("panel");
    if (painted) paint(null);
  }

  function turn(id, word, label, nothing) {
    const button = document.getElementById(id);
    button.disabled = !label;
    button.title = label ? `${word}: ${label}` : nothing;
  }

  function refreshStale() {
    if (stale.delete("problems")) load("problems", document.getElementById("studio-problems"));
    if (stale.has("panel") && !typingIn(panel)) loadPanel();
    if (view !== "canvas" && stale.has(view) && !typingIn(views[view])) loadView();
  }

  function typingIn(element) {
    const focus = document.activeElement;
    return element.contains(focus) && focus.matches("textarea, input:not([type=checkbox]):not([type=radio])") && (dirty.size > 0 || focus.dataset.touched === "1" || focus.value !== focus.defaultValue);
  }

  function query(more = {}) {
    const found = new URLSearchParams({ view, ...more });
    if (chosen.node) found.set("node", chosen.node);
    else if (chosen.edge) found.set("edge", chosen.edge);
    return found;
  }

  function load(part, target, more) {
    const address = root.dataset[`part${part[0].toUpperCase()}${part.slice(1)}`];
    return window.htmx.ajax("GET", `${address}?${query(more)}`, { source: target, target, swap: "innerHTML" });
  }

  // Who is in the panel while it is redrawn, perhaps twice at once: between two swaps the focus is nowhere.
  let staying = null;
  let loading = 0;

  async function loadPanel() {
    stale.delete("panel");
    const open = new Set([...panel.querySelectorAll("details[open]")].map(foldName));
    const top = panel.scrollTop;
    if (panel.contains(document.activeElement)) staying = document.activeElement;
    else if (document.activeElement !== document.body) staying = null;
    loading += 1;
    await load("panel", panel);
    loading -= 1;
    if (staying && (document.activeElement === document.body || panel.contains(document.activeElement))) stayIn(staying);
    if (!loading) staying = null;
    for (const fold of panel.querySelectorAll("details")) if (open.has(foldName(fold))) fold.open = true;
    panel.scrollTop = top;
  }

  // The field that had the focus was replaced by its like: whoever is in it stays in it, with what they selected.
  function stayIn(before) {
    const field = before.id && document.getElementById(before.id);
    if (!field && document.activeElement === document.body) return void panel.focus({ preventScroll: true });
    if (!field || field === document.activeElement) return;
    field.focus({ preventScroll: true });
    if (typeof before.selectionStart === "number" && typeof field.selectionStart === "number") field.setSelectionRange(before.selectionStart, before.selectionEnd);
  }

  function foldName(fold) {
    const field = fold.closest("[data-field]");
    return `${field ? field.dataset.field : ""}|${fold.className}`;
  }

  async function loadView() {
    stale.delete(view);
    const here = new URLSearchParams(location.search);
    const name = { text: "syntax", list: "rows" }[view];
    await load(view, views[view], here.get(name) ? { [name]: here.get(name) } : {});
    if (view === "text") textReady();
  if (location.pathname !== root.dataset.url) address();
  }

  function problemsAt() {
    for (const place of panel.querySelectorAll("[data-at]")) {
      const path = place.dataset.at;
      const mine = state.problems.filter((one) => same(one) && (one.field === path || one.field.startsWith(`${path}/`)));
      place.replaceChildren(
        ...mine.map((one) => {
          const line = document.createElement("p");
          line.className = `studio-found problem-${one.severity}`;
          line.textContent = `${one.message} ${one.hint}`;
          return line;
        }),
      );
      place.closest(".studio-field")?.classList.toggle("wrong", mine.length > 0);
    }
  }

  function same(problem) {
    if (chosen.node) return problem.node === chosen.node;
    return chosen.edge ? problem.edge === chosen.edge : !problem.node && !problem.edge;
  }

  function tell(name, detail) {
    canvas.dispatchEvent(new CustomEvent(name, { detail }));
  }

  // When something goes wrong ---------------------------------------------------------------------------------------

  function refuse(answer, job) {
    say("Not saved", "bad");
    notice(answer.message, [["Close", clear]]);
    if (answer.state) {
      state = answer.state;
      stateBlock.textContent = JSON.stringify(state);
      tell("topology:refused", { message: answer.message, state });
      show({}, job);
    }
  }

  function conflict(answer, job) {
    paused = true;
    say("Not saved: changed in another tab", "bad");
    const buttons = [];
    if (answer.merge) {
      buttons.push(["Put my change on top", () => {
        clear();
        queue.unshift({ ...job, merge: true, version: job.version ?? state.version, draft: state.draft });
        paused = false;
        pump();
      }]);
    }
    buttons.push(["Take theirs, drop mine", () => {
      clear();
      queue = [];
      remember();
      paused = false;
      accept(answer.theirs, { from: "merge" });
      settled();
    }]);
    const changed = answer.changed ? ` There: ${answer.changed}.` : "";
    const lost = answer.lost.length ? ` Both changed ${answer.lost.join(", ")}: yours would stand there.` : "";
    notice(`${answer.message}${changed}${lost}`, buttons);
  }

  function notice(words, buttons) {
    const line = document.createElement("p");
    line.textContent = words;
    const row = document.createElement("p");
    row.className = "actions";
    for (const [label, act] of buttons) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button";
      button.textContent = label;
      button.addEventListener("click", act);
      row.append(button);
    }
    trouble.replaceChildren(line, row);
    trouble.hidden = false;
  }

  function clear() {
    trouble.hidden = true;
    trouble.replaceChildren();
  }

  // Forms -----------------------------------------------------------------------------------------------------------

  const dirty = new Map(); // the fields that were typed in and not sent yet, by form

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.id === "commit-form" || form.closest(".studio-discard, .studio-newer")) return void hold(event, form);
    if (!form.matches("form[data-studio]")) return;
    const button = event.submitter;
    if (button && "plain" in button.dataset) return;
    event.preventDefault();
    if (button?.dataset.try) return void tryCondition(form, button);
    dirty.delete(form);
    if (button?.name) sendForm(form, [[button.name, button.value]], { shape: true, only: form.matches("[data-fields]") });
    else sendForm(form, [], { shape: true });
    if (form.matches(".studio-add")) form.reset();
  });

  // A commit waits until everything is sent; then it names the newest version.
  function hold(event, form) {
    if (!queue.length && !busy && !dirty.size) return;
    event.preventDefault();
    const button = event.submitter;
    idle().then(() => form.requestSubmit(button));
  }

  function sendForm(form, more, { only = false, shape = false, typing = false } = {}) {
    const from = form.matches("[data-text]") ? "text" : panel.contains(form) ? "panel" : "list";
    const data = only ? hidden(form) : [...new FormData(form)];
    send({ fields: [...data, ...more], from, shape, typing });
  }

  function hidden(form) {
    return [...form.querySelectorAll(":scope > input[type=hidden]")].map((input) => [input.name, input.value]);
  }

  // One field of the panel: itself and whatever stands around it in the same field.
  function sendField(form, field, options) {
    const inside = new FormData(form);
    const names = new Set([...field.querySelectorAll("[name]")].filter((input) => input.closest("[data-field]") === field && !("quiet" in input.dataset)).map((input) => input.name));
    const data = [...inside].filter(([name]) => names.has(name) && name !== "has");
    data.push(["has", field.dataset.field]);
    if (options.typing) data.push(["typing", "1"]);
    send({ fields: [...hidden(form), ...data], from: "panel", ...options });
  }

  document.addEventListener("input", (event) => {
    const input = event.target;
    const form = input.closest?.("form[data-studio]");
    if (!form || "quiet" in input.dataset || "late" in input.dataset || !input.matches("textarea, input:not([type=checkbox])")) return;
    if (form.matches("[data-text]")) return void later(form, null, 500);
    if (form.matches("[data-fields]")) {
      input.dataset.touched = "1";
      later(form, input.closest("[data-field]"), 400);
    }
  });

  document.addEventListener("change", (event) => {
    const input = event.target;
    const form = input.closest?.("form[data-studio]");
    if (!form || "quiet" in input.dataset || "late" in input.dataset) return;
    delete input.dataset.touched;
    if (form.matches("[data-fields]")) {
      const field = input.closest("[data-field]");
      if (!field) return;
      clearTimeout(dirty.get(field)?.timer);
      dirty.delete(field);
      sendField(form, field, { shape: input.matches("select, input[type=checkbox]") || field.matches(".kind-condition") });
    } else if (form.matches(".studio-rename")) sendForm(form, [], { shape: true });
  });

  function later(form, field, wait) {
    const at = field || form;
    clearTimeout(dirty.get(at)?.timer);
    const act = () => {
      dirty.delete(at);
      if (field) sendField(form, field, { typing: true });
      else sendForm(form, [["typing", "1"]], { typing: true });
    };
    dirty.set(at, { act, timer: setTimeout(act, wait) });
    say("Saving …", "saving");
  }

  function flush() {
    for (const { act, timer: waiting } of [...dirty.values()]) {
      clearTimeout(waiting);
      act();
    }
  }

  // Somebody began to type while the panel was on its way: it comes when they are done.
  panel.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target !== panel || !typingIn(panel)) return;
    event.detail.shouldSwap = false;
    stale.add("panel");
  });

  panel.addEventListener("focusout", () => setTimeout(() => {
    if (stale.has("panel") && !queue.length && !busy && !dirty.size && !typingIn(panel)) loadPanel();
  }, 50));

  // The text ----------------------------------------------------------------------------------------------------------

  let lastMarks = [];

  function textReady() {
    const source = document.getElementById("studio-source");
    if (!source) return;
    lastMarks = [...document.querySelectorAll("#text-marks [data-line]")].map((link) => ({ line: Number(link.dataset.line), severity: link.dataset.severity }));
    gutter();
    source.addEventListener("input", gutter);
    source.addEventListener("scroll", () => {
      document.getElementById("text-gutter").scrollTop = source.scrollTop;
    });
    source.addEventListener("keydown", (event) => {
      if (event.key !== "Tab" || event.shiftKey || event.ctrlKey || !source.dataset.tabs) return;
      event.preventDefault();
      source.setRangeText("  ", source.selectionStart, source.selectionEnd, "end");
    });
  }

  function gutter() {
    const source = document.getElementById("studio-source");
    const lines = source.value.split("\n").length;
    const wrong = new Map(lastMarks.map((mark) => [mark.line, mark.severity]));
    const parts = [];
    for (let line = 1; line <= lines; line += 1) {
      const part = document.createElement("span");
      part.textContent = `${line}\n`;
      if (wrong.has(line)) part.className = `line-${wrong.get(line)}`;
      parts.push(part);
    }
    document.getElementById("text-gutter").replaceChildren(...parts);
  }

  function marks(found) {
    const list = document.createElement("ol");
    list.className = "studio-marks";
    for (const mark of [...found].sort((a, b) => a.line - b.line)) {
      const item = document.createElement("li");
      item.className = `mark-${mark.severity}`;
      const link = document.createElement("a");
      link.href = "#studio-source";
      link.dataset.line = mark.line;
      link.textContent = `Line ${mark.line}`;
      item.append(link, ` ${mark.message}`);
      list.append(item);
    }
    const place = document.getElementById("text-marks");
    place?.replaceChildren(...(found.length ? [list] : []));
    lastMarks = found;
    if (document.getElementById("studio-source")) gutter();
  }

  function goToLine(line) {
    const source = document.getElementById("studio-source");
    const before = source.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = source.value.indexOf("\n", before);
    source.focus();
    source.setSelectionRange(before, end < 0 ? source.value.length : end);
    const height = parseFloat(getComputedStyle(source).lineHeight) || 20;
    source.scrollTop = Math.max(0, (line - 6) * height);
  }

  // Going places ------------------------------------------------------------------------------------------------------

  async function choose(next, { focus = "", canvasToo = true, open = false } = {}) {
    await idle();
    chosen = next.node ? { node: next.node } : next.edge ? { edge: next.edge } : {};
    address();
    if (canvasToo) tell("topology:show", { nodes: chosen.node ? [chosen.node] : [], edges: chosen.edge ? [chosen.edge] : [], focus: false });
    for (const row of document.querySelectorAll(".studio-table tr[data-node], .studio-table tr[data-edge]")) {
      row.classList.toggle("chosen", Boolean((chosen.node && row.dataset.node === chosen.node) || (chosen.edge && row.dataset.edge === chosen.edge)));
    }
    await loadPanel();
    if (focus) focusField(focus);
    else if (open) (panel.querySelector("#panel-id, .studio-fields [id]:not([type=hidden])") || panel).focus();
  }

  function focusField(path) {
    let at = path;
    let field = null;
    while (at && !(field = panel.querySelector(`[data-field="${CSS.escape(at)}"]`))) at = at.slice(0, at.lastIndexOf("/"));
    if (!field) return void panel.focus();
    for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    (field.querySelector("textarea, input:not([type=hidden]), select") || panel).focus();
  }

  function address(more = {}) {
    const found = query(more);
    history.replaceState(null, "", `${root.dataset.url}?${found}`);
    for (const input of document.querySelectorAll("input[name=at_view]")) input.value = view;
    for (const input of document.querySelectorAll("input[name=at_node]")) input.value = chosen.node || "";
    for (const input of document.querySelectorAll("input[name=at_edge]")) input.value = chosen.edge || "";
  }

  async function look(next, more = {}) {
    await idle();
    view = next;
    for (const [name, section] of Object.entries(views)) section.hidden = name !== next;
    for (const tab of document.querySelectorAll(".studio-tabs a")) {
      if (tab.dataset.view === next) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    address(more);
    if (next !== "canvas" && (stale.has(next) || more.syntax || more.rows || !views[next].firstElementChild)) await loadView();
  }

  document.addEventListener("click", (event) => {
    const name = event.target.closest?.("[data-insert]");
    if (name) return void insert(byId(name.dataset.into), `{{ ${name.dataset.insert} }}`);
    const link = event.target.closest?.("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    if (link.matches(".studio-tabs a")) event.preventDefault(), look(link.dataset.view);
    else if (link.matches("[data-syntax]")) event.preventDefault(), look("text", { syntax: link.dataset.syntax });
    else if (link.matches("[data-rows]")) event.preventDefault(), look("list", { rows: link.dataset.rows });
    else if (link.matches("[data-show]")) event.preventDefault(), choose({ node: link.dataset.node, edge: link.dataset.edge }, { open: true });
    else if (link.matches(".studio-jump")) event.preventDefault(), jump(link);
    else if (link.matches("[data-line]")) event.preventDefault(), goToLine(Number(link.dataset.line));
    else if (link.id === "studio-try") event.preventDefault(), tryIt(link.href);
    else if (link.id === "studio-dry-run") event.preventDefault(), dryRun();
    else if (link.id === "studio-commit-open") setTimeout(() => document.getElementById("commit-message").focus(), 0);
  });

  function insert(field, words) {
    field.setRangeText(words, field.selectionStart, field.selectionEnd, "end");
    field.focus();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function jump(link) {
    if (state.broken) return void look("text");
    choose({ node: link.dataset.node, edge: link.dataset.edge }, { focus: link.dataset.field || "", open: true });
  }

  async function dryRun() {
    const result = document.getElementById("studio-dry-result");
    if (painted) return void paint(null);
    await idle();
    const response = await fetch(root.dataset.dryRun, { headers: { Accept: "application/json" } });
    const { edges, sentence } = await response.json();
    const lines = edges.filter((edge) => !edge.fired).map((edge) => {
      const item = document.createElement("li");
      item.textContent = `${edge.from} → ${edge.to}: ${edge.why}`;
      return item;
    });
    const list = document.createElement("ul");
    list.append(...lines);
    const words = document.createElement("p");
    words.textContent = sentence;
    result.replaceChildren(words, ...(lines.length ? [list] : []));
    if (edges.length) paint(Object.fromEntries(edges.map((edge) => [edge.key, edge.fired ? 1 : 0])));
  }

  function paint(edges) {
    painted = edges !== null;
    const button = document.getElementById("studio-dry-run");
    if (button) button.textContent = painted ? "Hide what can fire" : "Which edges can fire?";
    if (!painted) document.getElementById("studio-dry-result")?.replaceChildren();
    tell("topology:dry-run", { edges });
  }

  // A trial runs what the server holds, so everything typed is sent first.
  async function tryIt(address_) {
    await idle();
    const place = byId("studio-trial");
    if (!place.hidden && place.firstElementChild) {
      place.hidden = true;
      place.replaceChildren();
      return void tell("topology:run", { nodes: null });
    }
    place.hidden = false;
    await window.htmx.ajax("GET", address_, { source: place, target: place, swap: "innerHTML" });
    place.querySelector("select, textarea")?.focus();
  }

  document.addEventListener("htmx:afterSettle", () => {
    const lights = byId("studio-lights");
    if (lights && !byId("studio-trial").hidden) tell("topology:run", JSON.parse(lights.textContent));
  });

  async function tryCondition(form, button) {
    await idle();
    const body = new URLSearchParams({ edge: chosen.edge || "" });
    for (const name of ["sample", "sample_status"]) body.set(name, form.elements[name].value);
    const headers = { Accept: "application/json", "X-CSRFToken": token() };
    const response = await fetch(button.dataset.try, { method: "POST", headers, body });
    const place = button.parentElement.querySelector("[data-result]");
    place.innerHTML = response.ok ? await response.text() : "";
  }

  document.addEventListener("toggle", (event) => {
    const place = event.target.open && event.target.querySelector?.(":scope > [data-load]");
    if (place) idle().then(() => window.htmx.ajax("GET", place.dataset.load, { source: place, target: place, swap: "innerHTML" }));
  }, true);

  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented) return;
    if (event.target.matches?.("textarea, input:not([type=checkbox]), [contenteditable]") || canvas.contains(event.target)) return;
    const undo = event.key.toLowerCase() === "z" && !event.shiftKey;
    const redo = (event.key.toLowerCase() === "z" && event.shiftKey) || event.key.toLowerCase() === "y";
    if (!undo && !redo) return;
    event.preventDefault();
    send(undo ? { undo: true } : { redo: true });
  });

  // The canvas --------------------------------------------------------------------------------------------------------

  canvas.addEventListener("topology:commands", ({ detail }) => send({ commands: detail.commands, label: detail.label, from: "canvas" }));
  canvas.addEventListener("topology:undo", () => send({ undo: true }));
  canvas.addEventListener("topology:redo", () => send({ redo: true }));
  canvas.addEventListener("topology:select", ({ detail: { nodes = [], edges = [] } }) => {
    if (nodes.length === 1 && !edges.length) choose({ node: nodes[0] }, { canvasToo: false });
    else if (edges.length === 1 && !nodes.length) choose({ edge: edges[0] }, { canvasToo: false });
    else if (!nodes.length && !edges.length && (chosen.node || chosen.edge)) choose({}, { canvasToo: false });
  });
  canvas.addEventListener("topology:ready", () => {
    if (chosen.node || chosen.edge) toCanvas(false);
  });
  canvas.addEventListener("topology:open", ({ detail }) => choose(detail || {}, { canvasToo: false, open: true }));
  canvas.addEventListener("topology:broken", ({ detail }) => {
    notice(`The canvas can’t show this topology (${detail?.message || "it failed"}). List and text do everything.`, [["Close", clear]]);
    look("list");
  });

  function toCanvas(focus) {
    tell("topology:show", { nodes: chosen.node ? [chosen.node] : [], edges: chosen.edge ? [chosen.edge] : [], focus });
  }

  // The way back from the panel by keyboard: Enter on the canvas led here.
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || view !== "canvas" || !(chosen.node || chosen.edge)) return;
    event.preventDefault();
    toCanvas(true);
  });

  // Coming and going ----------------------------------------------------------------------------------------------------

  addEventListener("beforeunload", (event) => {
    flush();
    if (queue.length || busy) event.preventDefault();
  });

  document.addEventListener("visibilitychange", catchUp);
  addEventListener("pageshow", (event) => event.persisted && catchUp());

  // Another tab may have changed the draft while this one was not looked at.
  async function catchUp() {
    if (document.hidden || queue.length || busy || paused || dirty.size) return;
    const response = await fetch(root.dataset.state, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!response?.ok) return;
    const now = await response.json();
    if (now.version === state.version || queue.length || busy || dirty.size) return;
    accept(now, { from: "other" });
    settled();
  }

  function unsent() {
    const stored = JSON.parse(localStorage.getItem(key) || "null");
    if (!stored || stored.draft !== state.draft) return void localStorage.removeItem(key);
    notice("This browser holds changes that were never saved.", [
      ["Do them now", () => {
        clear();
        for (const [place, job] of stored.jobs.entries()) send(place ? job : { ...job, version: stored.version });
      }],
      ["Forget them", () => {
        localStorage.removeItem(key);
        clear();
      }],
    ]);
  }

  function byId(id) {
    return document.getElementById(id);
  }

  document.documentElement.classList.add("studio-live");
  customElements.whenDefined("topology-canvas").then(() => requestAnimationFrame(() => {
    if (chosen.node || chosen.edge) tell("topology:show", { nodes: chosen.node ? [chosen.node] : [], edges: chosen.edge ? [chosen.edge] : [], focus: false });
  }));
  unsent();
  if (view === "text") textReady();
  if (innerWidth < 600 && view === "canvas" && !new URLSearchParams(location.search).has("view")) look("list");
}

// htmx is a script of its own that comes after this one.
if (root) document.addEventListener("DOMContentLoaded", start, { once: true });
