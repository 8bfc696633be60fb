// <topology-canvas>: holds the canvas for as long as it stands in a page. It speaks with the page by events alone.
import { mount, unmount } from "svelte";
import Canvas from "./Canvas.svelte";
import { Editor } from "./editor.js";
import "@xyflow/svelte/dist/base.css";
import "icons.css";
import "./canvas.css";

let number = 0;

class TopologyCanvas extends HTMLElement {
  #drawn = null;
  #editor = null;
  #heard = null;

  connectedCallback() {
    if (this.#drawn) return;
    try {
      this.#begin();
    } catch (error) {
      this.#broken(error);
    }
  }

  /** Moved within the page, as htmx does with what it preserves: everything stays as it is. */
  connectedMoveCallback() {}

  disconnectedCallback() {
    // Elsewhere a move is a removal and an insertion: only what is still gone a moment later is torn down.
    queueMicrotask(() => !this.isConnected && this.#end());
  }

  #begin() {
    number += 1;
    this.#editor = new Editor(this);
    this.#editor.load(JSON.parse(document.getElementById("studio-state").textContent));
    this.replaceChildren();
    const props = { editor: this.#editor, label: this.getAttribute("aria-label") ?? "Canvas", flowId: `canvas-${number}` };
    this.#drawn = mount(Canvas, { target: this, props });
    this.#listen();
    this.dispatchEvent(new CustomEvent("topology:ready", { bubbles: true }));
  }

  #listen() {
    this.#heard = new AbortController();
    const { signal } = this.#heard;
    const editor = this.#editor;
    const hear = (type, does) =>
      this.addEventListener(
        `topology:${type}`,
        (event) => {
          if (event.target !== this) return;
          try {
            does(event.detail ?? {});
          } catch (error) {
            this.#broken(error);
          }
        },
        { signal },
      );
    // Whole states are the page's own objects, which it goes on changing: the canvas keeps a copy.
    hear("answer", (detail) => editor.answer(structuredClone(detail)));
    hear("refused", (detail) => editor.refused(structuredClone(detail)));
    hear("show", (detail) => editor.show(detail));
    hear("dry-run", (detail) => editor.paint(detail.edges));
    hear("run", (detail) => editor.light(detail.nodes, detail.edges));
  }

  #end() {
    this.#heard?.abort();
    if (this.#drawn) unmount(this.#drawn);
    this.#drawn = this.#editor = this.#heard = null;
  }

  #broken(error) {
    console.error(error);
    this.dispatchEvent(new CustomEvent("topology:broken", { bubbles: true, detail: { message: error.message } }));
  }
}

customElements.define("topology-canvas", TopologyCanvas);
