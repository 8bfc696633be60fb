// The keyboard of the canvas, as one table: what the keys do, and what the sheet of keys says.

const CTRL = "Ctrl";

/** [group, [[keys, action, words], …]]; the first pattern that fits a key press names the action. */
export const KEYS = [
  [
    "Go",
    [
      ["ArrowLeft ArrowRight ArrowUp ArrowDown", "walk", "to the node, or the edge, in that direction"],
      ["e", "edges", "to the edges of this node; ↑ ↓ go through them, ← → back to a node"],
      ["/ Ctrl+f", "search", "search nodes"],
      ["o", "enter", "open the nested topology"],
      ["u", "leave", "back out of it"],
      ["Enter", "open", "what is set of this node or edge; Esc leads back"],
    ],
  ],
  [
    "Select",
    [
      ["Space", "toggle", "select, or no longer"],
      ["Shift+ArrowLeft Shift+ArrowRight", "stream", "all before, all after this node"],
      ["Shift+ArrowUp Shift+ArrowDown", "extend", "the next node as well"],
      ["Ctrl+a", "all", "everything"],
      ["Escape", "escape", "nothing; stops what was begun"],
    ],
  ],
  [
    "Change",
    [
      ["n Insert", "add", "add a node, connected to the one selected"],
      ["c", "connect", "connect: go to the other node, then Enter"],
      ["r", "reconnect", "lead this edge to another node, then Enter"],
      ["F2", "rename", "write another label"],
      ["s", "start", "begin here, or no longer"],
      ["f", "end", "finish here, or no longer"],
      ["Ctrl+ArrowLeft Ctrl+ArrowRight Ctrl+ArrowUp Ctrl+ArrowDown", "nudge", "move; with Shift further"],
      ["Ctrl+Shift+ArrowLeft Ctrl+Shift+ArrowRight Ctrl+Shift+ArrowUp Ctrl+Shift+ArrowDown", "nudge", ""],
      ["Ctrl+d", "duplicate", "duplicate"],
      ["Delete Backspace", "delete", "delete"],
      ["l", "layout", "arrange all"],
    ],
  ],
  [
    "Clipboard and history",
    [
      ["Ctrl+c Ctrl+x Ctrl+v", "clipboard", "copy, cut, paste, between topologies and windows too"],
      ["Ctrl+z", "undo", "undo"],
      ["Ctrl+Shift+z Ctrl+y", "redo", "redo"],
    ],
  ],
  [
    "View",
    [
      ["1", "fit", "all of it"],
      ["2", "fit-selection", "what is selected"],
      ["0", "actual", "natural size"],
      ["+ =", "zoom-in", "larger"],
      ["-", "zoom-out", "smaller"],
      ["?", "help", "this sheet"],
    ],
  ],
];

const TABLE = new Map(KEYS.flatMap(([, rows]) => rows.flatMap(([keys, action]) => keys.split(" ").map((key) => [key, action]))));

/** The action of a key press, or undefined. The browser's own copy, cut and paste are left to their events. */
export function actionOf(event) {
  const control = event.ctrlKey || event.metaKey;
  if (event.altKey) return undefined;
  const plain = event.key === " " ? "Space" : event.key.length === 1 ? letter(event, control) : event.key;
  const shift = event.shiftKey && (event.key.length > 1 || control) ? "Shift+" : "";
  const action = TABLE.get(`${control ? `${CTRL}+` : ""}${shift}${plain}`);
  return action === "clipboard" ? undefined : action;
}

function letter(event, control) {
  return control || !event.shiftKey ? event.key.toLowerCase() : event.key;
}

const SIGNS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", Delete: "Del" };

/** Keys as they are written on the sheet: [["Ctrl", "←"], …]. */
export function written(keys) {
  return keys.split(" ").map((key) => (key === "+" ? ["+"] : key.split("+").map((part) => SIGNS[part] ?? (part.length === 1 ? part.toUpperCase() : part))));
}
