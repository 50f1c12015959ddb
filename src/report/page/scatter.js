// scatter.js: the plots with a mark for each shape: speed over time, distance from the floor, and
// the roofline.
const drawnShapes = [];  // to draw again when another shape is chosen
// At least a factor of four wide, so that one shape alone has ticks beside it.
const timeDomain = (values) => {
  const [low, high] = d3.extent(values);
  const margin = Math.max(1.15, 2 / Math.sqrt(high / low));
  return [low / margin, high * margin];
};

function drawSpeed() {
  const box = section("speed");
  add(box, "p", { class: "soft" }, "A mark is a shape. Above the line it is faster than tuned cuBLASLt; bars are geometric means of the classes above. Click a mark to see every config that was measured on it.");
  const controls = add(box, "div", { class: "controls" });
  let measure = "raw";
  choice(controls, "Show", Object.entries(measures).map(([value, m]) => [value, m.words]), (value) => { measure = value; redraw(); });
  const edges = [0, 3, 5, 10, 30, 100, 1000, Infinity];
  const redraw = plot(box, "Speed over tuned cuBLASLt against its time, a mark for each shape", 420, (svg, width, height) => {
    const shapes = everyShape.filter((i) => columns[measure][i] !== null);
    if (shapes.length === 0) { svg.append("text").attr("x", 0).attr("y", 20).text("No such measurements in this table."); return; }
    const times = columns.lt_us, ratios = columns[measure];
    const x = across(logScale(...timeDomain(times)), width);
    const y = upward(logScale(Math.min(0.9, d3.min(shapes, (i) => ratios[i]) / 1.03), Math.max(1.2, d3.max(shapes, (i) => ratios[i]) * 1.05)), height);
    const yTicks = [0.25, 0.33, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 4, 6].filter((t) => t >= y.domain()[0] && t <= y.domain()[1]);
    axes(svg, x, y, { xWords: "tuned cuBLASLt, \u00b5s a launch", yWords: "times faster than tuned cuBLASLt", yTicks });
    svg.append("line").attr("class", "one").attr("x1", x.range()[0]).attr("x2", x.range()[1]).attr("y1", y(1)).attr("y2", y(1));
    const tone = measures[measure].tone;
    shapeDots(svg, shapes, (i) => x(times[i]), (i) => y(ratios[i]), tone);
    for (let bucket = 0; bucket + 1 < edges.length; ++bucket) {
      const inside = shapes.filter((i) => times[i] >= edges[bucket] && times[i] < edges[bucket + 1]);
      if (inside.length === 0) continue;
      const mean = Math.exp(d3.mean(inside, (i) => Math.log(ratios[i])));
      const left = x(Math.max(edges[bucket], x.domain()[0])), right = x(Math.min(edges[bucket + 1], x.domain()[1]));
      svg.append("line").attr("class", "path " + tone).attr("x1", left + 2).attr("x2", right - 2).attr("y1", y(mean)).attr("y2", y(mean));
      if (right - left > 34) svg.append("text").attr("class", "strong").attr("x", (left + right) / 2).attr("y", y(mean) - 6).attr("text-anchor", "middle").text(d3.format(".2f")(mean));
    }
  });
  drawnShapes.push(redraw);
}

function drawFloor() {
  const box = section("floor");
  const empty = data.device.empty_us ? `, and an empty kernel\u2019s period of ${digits3(data.device.empty_us)} \u00b5s` : "";
  add(box, "p", { class: "soft" }, `How many times its floor a shape takes. The impossible floor is what no kernel can beat: FLOP at every SM\u2019s peak and highest clock, bytes that cannot be in L2 at the memory\u2019s theoretical rate${empty}. The expected floor uses the rates that an H200 reached on random data, power limit included; launches that overlap can be below it.`);
  const controls = add(box, "div", { class: "controls" });
  let floor = "floor_us";
  buttons(controls, "Floor", [["floor_us", "Impossible floor"], ["expected_us", "Expected floor"]], floor, (value) => { floor = value; redraw(); });
  legend(box, [["library", "tuned cuBLASLt"], ["served", "served"]]);
  const redraw = plot(box, "Time over the floor against the floor, two marks for each shape", 400, (svg, width, height) => {
    const floors = columns[floor];
    const over = (times) => (i) => times[i] / floors[i];
    const all = everyShape.map(over(columns.lt_us)).concat(everyShape.map(over(columns.served_us)));
    const x = across(logScale(...timeDomain(floors)), width);
    const y = upward(logScale(Math.min(0.9, d3.min(all)), Math.max(2, d3.max(all) * 1.05)), height);
    const yTicks = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 50, 100].filter((t) => t >= y.domain()[0] && t <= y.domain()[1]);
    axes(svg, x, y, { xWords: "floor, \u00b5s", yWords: "times the floor", yTicks });
    svg.append("line").attr("class", "one").attr("x1", x.range()[0]).attr("x2", x.range()[1]).attr("y1", y(1)).attr("y2", y(1));
    for (const [times, tone] of [[columns.lt_us, "library"], [columns.served_us, "served"]])
      shapeDots(svg, everyShape, (i) => x(floors[i]), (i) => y(times[i] / floors[i]), tone, 3);
  });
  drawnShapes.push(redraw);
  const near = (limit) => everyShape.filter((i) => columns.served_us[i] <= limit * columns.floor_us[i]).length;
  add(box, "p", { class: "note" }, `Of ${count} shapes ${near(1.25)} are served within 1.25 times the impossible floor and ${near(2)} within 2 times.`);
}

function drawRoofline() {
  const box = section("roofline");
  const roofs = data.roofs;
  add(box, "p", { class: "soft" }, `Rate against FLOP a byte that must move once. Whole lines: theoretical peaks (${d3.format(",.0f")(roofs.peak_tflops)} TFLOP/s, ${d3.format(".2f")(roofs.peak_memory_tbs)} TB/s); dashed: what an H200 reached, scaled to this card (${d3.format(",.0f")(roofs.reached_tflops)} TFLOP/s under the power limit, ${d3.format(".2f")(roofs.reached_memory_tbs)} TB/s of memory, ${d3.format(".1f")(roofs.reached_l2_tbs)} TB/s of L2). Rings: operands that stay in L2, which memory does not bound.`);
  legend(box, [["served", "served"], ["served", "served, operands in L2", "ring"]]);
  const intensity = (i) => columns.gflop[i] * 1e9 / (columns.mib[i] * 1048576);
  const rate = (i) => 1000 * columns.gflop[i] / columns.served_us[i];  // a GFLOP a microsecond is a PFLOP/s
  const redraw = plot(box, "Roofline: rate against arithmetic intensity, a mark for each shape", 420, (svg, width, height) => {
    const x = across(logScale(...timeDomain(everyShape.map(intensity))), width);
    const [low, high] = x.domain();
    const y = upward(logScale(d3.min(everyShape, rate) / 1.3, roofs.peak_tflops * 1.6), height);
    axes(svg, x, y, { xWords: "FLOP a byte", yWords: "TFLOP/s" });
    const roof = (flops, memory, css) => {
      const points = [[low, low * memory], [flops / memory, flops], [high, flops]];
      if (flops / memory <= low) points.splice(0, 2, [low, flops]);
      const shown = points.map(([a, b]) => [x(Math.min(high, Math.max(low, a))), y(Math.max(y.domain()[0], Math.min(b, flops)))]);
      svg.append("path").attr("class", css).attr("d", d3.line()(shown));
    };
    roof(roofs.peak_tflops, roofs.peak_memory_tbs, "roof");
    roof(roofs.reached_tflops, roofs.reached_memory_tbs, "roof reached");
    roof(roofs.reached_tflops, roofs.reached_l2_tbs, "roof reached");
    const name = (flops, words, shift) => svg.append("text").attr("x", x.range()[1]).attr("y", y(flops) + shift).attr("text-anchor", "end").text(words);
    name(roofs.peak_tflops, d3.format(",.0f")(roofs.peak_tflops) + " TFLOP/s, peak", -6);
    name(roofs.reached_tflops, d3.format(",.0f")(roofs.reached_tflops) + " reached", 30);
    const dots = shapeDots(svg, everyShape, (i) => x(intensity(i)), (i) => y(rate(i)), "served");
    dots.filter((i) => columns.hot[i] === 1).classed("ring", true).classed("dot", false);
    explain(dots, (i) => describeShape(i) + `\n${d3.format(",.0f")(rate(i))} TFLOP/s at ${d3.format(",.1f")(intensity(i))} FLOP a byte`);
  });
  drawnShapes.push(redraw);
}
