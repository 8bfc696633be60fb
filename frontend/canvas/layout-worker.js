// The layout of a large topology takes seconds: here it holds up nobody's pointer.
import { arranged } from "./layout.js";

self.onmessage = ({ data }) => {
  self.postMessage({ number: data.number, places: arranged(data.nodes, data.edges) });
};
