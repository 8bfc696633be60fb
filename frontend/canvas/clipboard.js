// What is copied and pasted: JSON in plain text, so that it goes from window to window and into any editor.

export const FRAGMENT = "workbench.fragment/1";
const TOPOLOGY = /^workbench\.topology\/\d+$/;

/** The text of a selection: its nodes, the edges among them, and where they stand. */
export function fragmentText(document, boxes, ids) {
  const chosen = new Set(ids.filter((id) => id in (document.nodes ?? {})));
  const nodes = Object.fromEntries([...chosen].map((id) => [id, document.nodes[id]]));
  const edges = (document.edges ?? []).filter((edge) => chosen.has(edge?.from) && chosen.has(edge?.to));
  const layout = Object.fromEntries([...chosen].map((id) => [id, [boxes.get(id).x, boxes.get(id).y]]));
  return JSON.stringify({ format: FRAGMENT, nodes, edges, layout }, null, 2);
}

/** What can be pasted of a text: a fragment or a whole topology; null if it is neither. */
export function fragmentOf(text) {
  if (!text.includes("workbench.")) return null;
  try {
    const said = JSON.parse(text);
    const fits = said && typeof said === "object" && (said.format === FRAGMENT || TOPOLOGY.test(said.format));
    return fits && said.nodes && typeof said.nodes === "object" ? said : null;
  } catch {
    return null;
  }
}
