// data.js: the figures, as the program wrote them.
const data = JSON.parse(document.getElementById("data").textContent);
const columns = data.shapes;
const count = columns.name.length;
const everyShape = d3.range(count);
const configText = (place) => (place < 0 ? "" : data.configs[place]);

// Several types or layouts may be in one table; then a shape's name alone is not enough.
const kinds = Array.from(new Set(columns.kind));
const label = (i) => (kinds.length > 1 ? columns.name[i] + " " + columns.kind[i] : columns.name[i]);

// The measured configs of a shape, the fastest first. Long, so it is read when first asked for.
let spaces = null;
function configsOf(shape) {
  if (spaces === null) spaces = JSON.parse(document.getElementById("spaces").textContent);
  const flat = spaces[shape];
  const configs = [];
  for (let i = 0; i < flat.length; i += 3) {
    const config = configText(flat[i] >> 1);
    configs.push({
      config, final: (flat[i] & 1) === 1, vendor: config.startsWith("cublaslt:"),
      chained: flat[i + 1] / data.rules.ratio_units || null,
      foreign: flat[i + 2] / data.rules.ratio_units || null,
    });
  }
  return configs.sort((a, b) => (b.chained || 0) - (a.chained || 0));
}

const measures = {
  raw: { words: "our kernels, back to back", tone: "ours" },
  raw_foreign: { words: "our kernels, between foreign kernels", tone: "ours" },
  served: { words: "served, back to back", tone: "served" },
  served_foreign: { words: "served, between foreign kernels", tone: "served" },
};
