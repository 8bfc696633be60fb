// From a key press to what it does. The stage hears it before the library does, whose own keys would change the document
// without a command.
import { actionOf } from "./keys.js";

const DIRECTION = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

export function keyboard(editor, open) {
  const does = {
    walk: (event) => editor.walk(DIRECTION[event.key]),
    edges: () => editor.toEdges(),
    search: open.search,
    enter: () => editor.enter(),
    leave: () => editor.leave(),
    open: () => (editor.pending ? editor.connectTo(editor.at?.node) : editor.open(editor.at ?? {})),
    toggle: () => editor.toggle(),
    stream: (event) => editor.streamSelect(event.key === "ArrowRight"),
    extend: (event) => editor.extend(DIRECTION[event.key]),
    all: () => editor.selectAll(),
    escape: () => stop(),
    add: open.add,
    connect: () => editor.beginConnect(),
    reconnect: () => editor.beginReconnect(),
    rename: () => editor.current != null && !editor.readonly && (editor.renaming = editor.current),
    start: () => editor.mark("start"),
    end: () => editor.mark("end"),
    nudge: (event) => editor.nudge(DIRECTION[event.key], event.shiftKey),
    duplicate: () => editor.duplicate(),
    delete: () => editor.remove(),
    layout: () => editor.readonly || editor.layout(),
    undo: () => editor.ask("undo"),
    redo: () => editor.ask("redo"),
    fit: () => editor.flow?.fit(),
    "fit-selection": () => editor.flow?.fit(editor.concerned.nodes),
    actual: () => editor.flow?.actual(),
    "zoom-in": () => editor.flow?.zoomIn(),
    "zoom-out": () => editor.flow?.zoomOut(),
    help: open.help,
  };

  function stop() {
    if (open.close()) return;
    if (editor.pending) {
      const { from, into, edge } = editor.pending;
      editor.pending = null;
      editor.focus(edge != null ? { edge } : { node: from ?? into });
    } else editor.select({});
  }

  return (event) => {
    if (event.target.closest("input, textarea, select, button, [contenteditable]")) return;
    const action = actionOf(event);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    does[action](event);
  };
}
