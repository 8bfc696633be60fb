// Drawing a line by hand: from a port or from an end of a selected line to a node. A tap on a port instead of a drag waits for
// a tap on the other node; a line dropped on nothing asks what to add there.

const FAR = 5;

export function drawing(editor, ondropped) {
  let line = $state.raw(null);
  let held = null;

  function down(event) {
    const port = event.target.closest?.(".tc-port, .tc-grip");
    if (!port || event.button !== 0 || editor.readonly) return;
    const begun = port.classList.contains("tc-grip") ? grip(port) : portOf(port);
    if (!begun) return;
    held = { ...begun, x: event.clientX, y: event.clientY, pointer: event.pointerId, moved: false };
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.setPointerCapture(event.pointerId);
  }

  function portOf(port) {
    const id = port.closest(".svelte-flow__node").dataset.id;
    const box = editor.boxNow(id);
    const into = port.classList.contains("tc-in");
    const from = { x: into ? box.x : box.x + box.width, y: box.y + box.height / 2 };
    return { begin: into ? { into: id } : { from: id }, from, backwards: into };
  }

  function grip({ dataset }) {
    const edge = editor.view.edges.find((each) => each.key === dataset.edge);
    if (!edge) return null;
    const kept = editor.boxNow(dataset.end === "to" ? edge.source : edge.target);
    const from = { x: dataset.end === "to" ? kept.x + kept.width : kept.x, y: kept.y + kept.height / 2 };
    return { begin: { edge: edge.key, end: dataset.end }, from, backwards: dataset.end === "from" };
  }

  function move(event) {
    if (!held || event.pointerId !== held.pointer) return;
    if (!held.moved && Math.hypot(event.clientX - held.x, event.clientY - held.y) < FAR) return;
    held.moved = true;
    line = { from: held.from, to: editor.flow.screenToFlow({ x: event.clientX, y: event.clientY }), backwards: held.backwards };
    light(nodeAt(event));
  }

  function up(event) {
    if (!held || event.pointerId !== held.pointer) return;
    const { begin, moved } = held;
    const target = nodeAt(event);
    end();
    if (!moved) {
      // The click that follows this would choose the very node it begins at.
      setTimeout(() => (editor.pending = begin));
      return;
    }
    editor.pending = begin;
    if (target) editor.connectTo(target.dataset.id);
    else dropped(begin, event);
  }

  function dropped(begin, event) {
    editor.pending = null;
    if (begin.edge != null) return;
    const spot = { x: event.clientX, y: event.clientY };
    const { x, y } = editor.flow.screenToFlow(spot);
    ondropped({ ...begin, at: begin.from != null ? [x, y - 30] : [x - 208, y - 30], spot });
  }

  function cancel() {
    if (held) end();
  }

  function end() {
    held = null;
    line = null;
    light(null);
  }

  let lit = null;
  function light(node) {
    if (lit === node) return;
    lit?.classList.remove("tc-target");
    node?.classList.add("tc-target");
    lit = node;
  }

  function nodeAt({ clientX, clientY }) {
    const node = document.elementFromPoint(clientX, clientY)?.closest(".svelte-flow__node");
    return node && editor.host.contains(node) ? node : null;
  }

  function screen(x, y) {
    const stage = editor.host.querySelector(".svelte-flow").getBoundingClientRect();
    const view = editor.flow.view();
    return { x: stage.left + x * view.zoom + view.x, y: stage.top + y * view.zoom + view.y };
  }

  return {
    down,
    move,
    up,
    cancel,
    screen,
    get line() {
      return line;
    },
  };
}
