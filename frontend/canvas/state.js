// The canvas's copy of the document: a whole state, and the answers that change it.

/** The state after an answer: a new object where something changed, the old parts where nothing did. */
export function answered(state, answer) {
  if (answer.document) return { ...state, ...answer };
  const { patch = {}, ...rest } = answer;
  return { ...state, ...rest, document: patched(state.document, patch, state.keys, answer.keys ?? state.keys) };
}

function patched(document, patch, before, after) {
  const next = { ...document };
  for (const [key, value] of Object.entries(patch.top ?? {})) put(next, key, value);
  if (patch.nodes || patch.node_order) next.nodes = ordered(merged(document.nodes, patch.nodes), patch.node_order);
  if (patch.layout) next.layout = merged(document.layout, patch.layout);
  if (patch.edges || patch.keys) next.edges = edgesAfter(document.edges, patch.edges ?? {}, before, after);
  return next;
}

function put(into, key, value) {
  if (value === null) delete into[key];
  else into[key] = value;
}

function merged(old, changes) {
  const next = { ...old };
  for (const [key, value] of Object.entries(changes ?? {})) put(next, key, value);
  return next;
}

function ordered(entries, order) {
  if (!order) return entries;
  return Object.fromEntries(order.filter((id) => id in entries).map((id) => [id, entries[id]]));
}

function edgesAfter(edges, changes, before, after) {
  const known = new Map((before ?? []).map((key, index) => [key, edges?.[index]]));
  return after.map((key) => changes[key] ?? known.get(key));
}
