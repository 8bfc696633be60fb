// How wide words are, and words cut to a width: measured once for each text.

let context;
const widths = new Map();
export const FONT = "11.5px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

export function widthOf(text) {
  let width = widths.get(text);
  if (width === undefined) {
    context ??= document.createElement("canvas").getContext("2d");
    context.font = FONT;
    width = context.measureText(text).width;
    if (widths.size > 5000) widths.clear();
    widths.set(text, width);
  }
  return width;
}

/** The beginning of a text that fits, with … where something is left out. */
export function fitted(text, room) {
  if (widthOf(text) <= room) return text;
  const letters = Array.from(text.slice(0, 200));
  let count = Math.min(letters.length, Math.ceil((letters.length * room) / widthOf(text)) + 2);
  while (count > 1 && widthOf(`${letters.slice(0, count).join("")}…`) > room) count -= 1;
  return `${letters.slice(0, count).join("")}…`;
}
