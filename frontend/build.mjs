// Builds the canvas of the topology editor into the static files of its app. `make` calls it; nothing of it is committed.
import * as esbuild from "esbuild";
import sveltePlugin from "esbuild-svelte";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";
import { icons } from "./icons.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
// Keys and focus are the stage's own (canvas/keyboard.js), and what is handed to a part of the canvas stays the same for its life.
const KNOWN = /^(a11y_|state_referenced_locally)/;

/** The library measures every node again once it is drawn, and takes its ports from the drawing; ours are given, at a size that is known. */
const asGiven = {
  markup({ content, filename }) {
    if (!filename.endsWith("NodeRenderer.svelte")) return undefined;
    if (!content.includes("force: true")) throw new Error("Svelte Flow's NodeRenderer has changed: see asGiven in build.mjs");
    return { code: content.replace("force: true", "force: false") };
  },
};

await esbuild.build({
  absWorkingDir: root,
  entryPoints: {
    canvas: join(here, "canvas/element.js"),
    layout: join(here, "canvas/layout-worker.js"),
  },
  outdir: join(root, "workbench/topologies/static/topologies/built"),
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  conditions: ["svelte", "browser"],
  mainFields: ["svelte", "browser", "module", "main"],
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
  plugins: [
    icons,
    sveltePlugin({
      preprocess: asGiven,
      // One style sheet beside the script: the content policy allows no style from anywhere else.
      compilerOptions: { css: "external", dev: false },
      filterWarnings: (warning) => !KNOWN.test(warning.code) && !/node_modules/.test(warning.filename ?? ""),
    }),
  ],
});
