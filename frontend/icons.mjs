// The icons of the canvas: one path each, 24 by 24. The build makes masks of them, so that an icon costs no element and takes
// the colour of its text.
export const TYPES = {
  agent: "M12 4v3M8 7h8a3 3 0 0 1 3 3v5a3 3 0 0 1-3 3H8a3 3 0 0 1-3-3v-5a3 3 0 0 1 3-3zM9.5 11.5v1.5M14.5 11.5v1.5M2.5 11.5v3M21.5 11.5v3",
  router: "M4 12h5M9 12l4-6h6M9 12l4 6h6M16.5 3.5L19 6l-2.5 2.5M16.5 15.5L19 18l-2.5 2.5",
  vote: "M5 13v7h14v-7M8 10l3 3 5.5-7M3 13h4M17 13h4",
  human: "M12 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM5 20c.6-4 3.400-6 7-6s6.400 2 7 6",
  python: "M8 8l-4.500 4 4.500 4M16 8l4.500 4-4.500 4M13.500 5l-3 14",
  tool: "M14.500 6.500a4 4 0 0 0-5 5L4 17l3 3 5.500-5.500a4 4 0 0 0 5-5l-2.500 2.500-2.500-.5-.5-2.500z",
  topology: "M4 5h6v5H4zM14 14h6v5h-6zM10 7.500h4a3 3 0 0 1 3 3V14",
  literal: "M6 6h12M12 6v13M9 19h6",
  passthrough: "M4 12h15M13.500 6.500L19 12l-5.500 5.500",
  loop_counter: "M4.500 12a7.500 7.500 0 1 1 2.500 5.600M4 19v-4.500h4.500M11 9.500l1.500-1V15",
  loop_timer: "M12 8v4.500l3 2M12 20a7.500 7.500 0 1 0 0-15 7.500 7.500 0 0 0 0 15zM9.500 2.500h5",
  other: "M12 3.500l7.500 4.250v8.500L12 20.500l-7.500-4.250v-8.500z",
};

export const TOOLS = {
  add: "M12 5v14M5 12h14",
  undo: "M8 5L4 9l4 4M4 9h10a5 5 0 0 1 0 10h-4",
  redo: "M16 5l4 4-4 4M20 9H10a5 5 0 0 0 0 10h4",
  layout: "M4 4h6v5H4zM14 4h6v5h-6zM14 15h6v5h-6zM10 6.500h4M12 6.500v11h2",
  snap: "M4 4v0M12 4v0M20 4v0M4 12v0M12 12v0M20 12v0M4 20v0M12 20v0M20 20v0",
  box: "M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M9 9h6v6H9z",
  out: "M5 12h14",
  in: "M12 5v14M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500L20 20",
  help: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 17.500v.2",
  close: "M6 6l12 12M18 6L6 18",
  connect: "M5 12a2 2 0 1 0 0-.1M7.500 12H19M14.500 7.500L19 12l-4.500 4.500",
  rename: "M5 19l1-4L16.500 4.500l3 3L9 18zM4 21h16",
  start: "M8 5.500v13l10-6.500z",
  end: "M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM12 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  enter: "M4 4h16v16H4zM9 15l6-6M10 9h5v5",
  duplicate: "M9 9h11v11H9zM5 15H4V4h11v1",
  delete: "M4 7h16M10 4h4M6.500 7l1 13h9l1-13M10.500 11v5.500M13.500 11v5.500",
  "align-left": "M4 4v16M8 7h11v3H8zM8 14h6v3H8z",
  "align-centre": "M12 4v16M6 7h12v3H6zM8.500 14h7v3h-7z",
  "align-right": "M20 4v16M5 7h11v3H5zM10 14h6v3h-6z",
  "align-top": "M4 4h16M7 8v11h3V8zM14 8v6h3V8z",
  "align-middle": "M4 12h16M7 6v12h3V6zM14 8.500v7h3v-7z",
  "align-bottom": "M4 20h16M7 5v11h3V5zM14 10v6h3v-6z",
  "align-across": "M4 4v16M20 4v16M9 8h6v8H9z",
  "align-down": "M4 4h16M4 20h16M8 9h8v6H8z",
};

const mask = (path) =>
  `url("data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#000" stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round"><path d="${path}"/></svg>`,
  ).replaceAll("'", "%27")}")`;

const rules = (icons, selector) => Object.entries(icons).map(([name, path]) => `${selector(name)}{--icon:${mask(path)}}`);

/** As an esbuild plugin: `import "icons.css"`. */
export const icons = {
  name: "icons",
  setup(build) {
    build.onResolve({ filter: /^icons\.css$/ }, () => ({ path: "icons.css", namespace: "icons" }));
    build.onLoad({ filter: /.*/, namespace: "icons" }, () => ({
      loader: "css",
      contents: [...rules(TYPES, (name) => `.tc-${name}`), ...rules(TOOLS, (name) => `.tc-i-${name}`)].join("\n"),
    }));
  },
};
