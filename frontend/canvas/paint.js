// Boxes and lines on a 2D surface: what the small map and the view from afar have in common.

const TONES = {
  agent: "--tc-map-agent",
  router: "--tc-map-warn",
  human: "--tc-map-warn",
  vote: "--tc-map-violet",
  topology: "--tc-map-violet",
  python: "--tc-map-good",
  tool: "--tc-map-good",
};

/** A surface of this size on the page, with as many dots as the screen has, and its context. */
export function prepared(surface, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (surface.width !== wide || surface.height !== high) [surface.width, surface.height] = [wide, high];
  const context = surface.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, ratio };
}

/** Every node as a box in the colour of its type, or of what is wrong with it. */
export function paintNodes(context, colours, nodes, least = 0) {
  for (const { position, width, height, data, selected } of nodes) {
    const tone = selected ? "--tc-map-chosen" : data.card.errors ? "--tc-map-bad" : (TONES[data.card.type] ?? "--tc-map-plain");
    context.fillStyle = colours.getPropertyValue(tone);
    context.fillRect(position.x, position.y, width, Math.max(height, least));
  }
}
