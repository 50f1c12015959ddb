// shapes.js: the table of all shapes, and one of them with every config that was measured on it.
let chosenShape = -1;

function drawShapes() {
  const at = (name) => (i) => columns[name][i];
  const figure = (name, key, column, text, tone) => ({ name, key, figure: true, value: at(column), text, tone });
  sortableTable(section("shapes"), {
    name: "shapes", rows: everyShape, sort: 4, down: true, hint: "words, or served<1.05 m=64",
    menus: [
      { words: "Served by", options: [["", "any"], ["kernel", "our kernel"], ["vendor", "a searched vendor config"], ["lt_tuned", "tuned cuBLASLt"]], test: (i, value) => columns.served_by[i] === value },
      { words: "Our kernels", options: [["", "any"], ["win", "win"], ["tie", "tie"], ["loss", "lose"]], test: (i, value) => columns.raw_outcome[i] === value },
    ],
    click: (i) => chooseShape(i, true),
    columns: [
      { name: "shape", key: "shape", css: "nowrap", value: label },
      figure("m", "m", "m"), figure("n", "n", "n"), figure("k", "k", "k"),
      figure("tuned \u00b5s", "us", "lt_us", microseconds),
      { name: "\u00d7 floor", key: "floor", figure: true, value: (i) => columns.lt_us[i] / columns.floor_us[i], text: d3.format(".2f") },
      figure("raw", "raw", "raw", ratio, aboveOne), figure("raw (foreign)", "raw_foreign", "raw_foreign", ratio, aboveOne),
      figure("served", "served", "served", ratio, aboveOne), figure("served (foreign)", "served_foreign", "served_foreign", ratio, aboveOne),
      { name: "served by", css: "config mono", value: (i) => configText(columns.served_config[i]) },
      { name: "our best", css: "config mono", value: (i) => configText(columns.raw_config[i]) },
      { name: "follower (serves back to back)", css: "config mono", value: (i) => configText(columns.follower[i]) },
    ],
  });
}

// Those that no other config beats in both settings, the best back to back first.
function frontOf(configs) {
  const front = [];
  let best = -Infinity;
  for (const c of configs.filter((c) => c.chained && c.foreign).sort((a, b) => b.chained - a.chained || b.foreign - a.foreign))
    if (c.foreign > best) { front.push(c); best = c.foreign; }
  return front;
}

let shapeBox = null;
function drawShapePicker() {
  const box = section("shape");
  add(box, "p", { class: "soft" }, "Click a mark, a cell or a row above, or name a shape.");
  const controls = add(box, "div", { class: "controls" });
  const words = add(controls, "label", {}, "Shape");
  const input = add(words, "input", { list: "names", size: 20, "aria-label": "Shape" });
  const names = add(controls, "datalist", { id: "names" });
  for (const i of everyShape) add(names, "option", { value: label(i) });
  const byName = new Map(everyShape.map((i) => [label(i), i]));
  input.addEventListener("change", () => { if (byName.has(input.value)) chooseShape(byName.get(input.value), false); });
  shapeBox = add(box, "div");
  shapeBox.input = input;
}

function chooseShape(i, go) {
  chosenShape = i;
  tip.hidden = true;
  shapeBox.input.value = label(i);
  showShape(i);
  for (const redraw of drawnShapes) redraw();
  if (go) section("shape").scrollIntoView();
}

function showShape(i) {
  shapeBox.textContent = "";
  const configs = configsOf(i);
  const front = frontOf(configs);
  add(shapeBox, "h3", {}, `${columns.name[i]}, ${columns.kind[i]}`);
  const loss = lossOf.get(i);
  add(shapeBox, "p", {}, `${d3.format(",.2f")(columns.gflop[i])} GFLOP, ${bytes(columns.mib[i])} to move once${columns.hot[i] ? ", in L2" : ""}. Tuned cuBLASLt takes ${microseconds(columns.lt_us[i])} \u00b5s, ` +
    `${d3.format(".2f")(columns.lt_us[i] / columns.floor_us[i])} times the impossible floor of ${microseconds(columns.floor_us[i])} \u00b5s. Served: ${ratio(columns.served[i])}, by ${columns.served_by[i]}.` +
    (loss ? ` Behind by: ${loss.cause} (${loss.words}).` : ""));
  legend(shapeBox, [["ours", "our configs"], ["vendor", "cuBLASLt\u2019s configs"], ["library", "Pareto front", "bar"]]);
  const placed = configs.filter((c) => c.chained && c.foreign);
  if (placed.length > 0)
    plot(shapeBox, "Ratio between foreign kernels against ratio back to back, a mark for each config measured in both", 360, (svg, width, height) => {
      const padded = (name) => { const [low, high] = d3.extent(placed, (c) => c[name]); return [Math.min(low, 0.99) * 0.99, Math.max(high, 1.01) * 1.01]; };
      const x = across(d3.scaleLinear().domain(padded("chained")), width);
      const y = upward(d3.scaleLinear().domain(padded("foreign")), height);
      axes(svg, x, y, { xWords: "back to back, times faster than tuned cuBLASLt", yWords: "between foreign kernels", xFormat: d3.format(".2f"), yFormat: d3.format(".2f") });
      svg.append("line").attr("class", "one").attr("x1", x(1)).attr("x2", x(1)).attr("y1", y.range()[0]).attr("y2", y.range()[1]);
      svg.append("line").attr("class", "one").attr("x1", x.range()[0]).attr("x2", x.range()[1]).attr("y1", y(1)).attr("y2", y(1));
      svg.append("path").attr("class", "path library").style("stroke-width", 1.4).attr("d", d3.line().x((c) => x(c.chained)).y((c) => y(c.foreign)).curve(d3.curveStepAfter)(front));
      const dots = svg.append("g").selectAll("circle").data(placed).enter().append("circle").attr("class", (c) => "config " + (c.vendor ? "vendor" : "ours") + (front.includes(c) ? " full" : " dot")).attr("r", 4.5).attr("cx", (c) => x(c.chained)).attr("cy", (c) => y(c.foreign));
      explain(dots, (c) => `${c.config}\nback to back ${ratio(c.chained)}, between foreign kernels ${ratio(c.foreign)}`);
    });
  const microsecondsOf = (c) => (c.chained ? columns.lt_us[i] / c.chained : null);
  sortableTable(shapeBox, {
    name: "configs", rows: configs, sort: 1, down: true, hint: "words, or ratio>1.1",
    menus: [{ words: "Whose", options: [["", "all"], ["ours", "ours"], ["vendor", "cuBLASLt\u2019s"]], test: (c, value) => c.vendor === (value === "vendor") }],
    columns: [
      { name: "config", css: "config mono", value: (c) => c.config },
      { name: "back to back", key: "ratio", figure: true, value: (c) => c.chained, text: ratio, tone: aboveOne },
      { name: "between foreign kernels", key: "foreign", figure: true, value: (c) => c.foreign, text: ratio, tone: aboveOne },
      { name: "\u00b5s", key: "us", figure: true, value: microsecondsOf, text: microseconds },
      { name: "stage", css: "nowrap", value: (c) => (c.final ? "final" : "screened") },
      { name: "front", css: "nowrap", value: (c) => (front.includes(c) ? "on it" : "") },
    ],
  });
  add(shapeBox, "p", { class: "note" }, "Microseconds are tuned cuBLASLt\u2019s over the paired ratio, so that runs at different clocks can be compared.");
}
