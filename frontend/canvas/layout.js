// Places for nodes, by dagre.
import dagre from "@dagrejs/dagre";

/** Places {id: [x, y]} for `nodes` [{id, width, height}] and `edges` [{source, target, back, label}]. */
export function arranged(nodes, edges) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 44, ranksep: 72, edgesep: 18, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  edges.forEach((edge, number) => {
    if (edge.source === edge.target) return;
    // A line that leads back is handed over turned round, so that it's not dagre that chooses which one does.
    const [from, to] = edge.back ? [edge.target, edge.source] : [edge.source, edge.target];
    const label = edge.label && !edge.back ? { width: edge.label, height: 20, labelpos: "c" } : {};
    graph.setEdge(from, to, label, String(number));
  });
  dagre.layout(graph);
  return Object.fromEntries(
    nodes.map(({ id, width, height }) => {
      const { x, y } = graph.node(id);
      return [id, [Math.round(x - width / 2), Math.round(y - height / 2)]];
    }),
  );
}
