// scoreboard.js: the geometric means by how long tuned cuBLASLt takes, as marks and as the table.
function drawTiles() {
  const all = data.overall;
  const tiles = [
    ["ours", ratio(all.raw) + "\u00d7", `our kernels alone, back to back; ${ratio(all.raw_foreign)} between foreign kernels`],
    ["served", ratio(all.served) + "\u00d7", `what a plan table serves, back to back; ${ratio(all.served_foreign)} between foreign kernels`],
    ["", `${all.served_wins} / ${all.served_losses}`, `shapes served that win / lose when tested again, of ${all.shapes}`],
    ["", `${all.raw_wins} / ${all.raw_losses}`, "shapes where our kernels win / lose in both settings / either"],
  ];
  for (const [tone, figure, words] of tiles) {
    const tile = add(section("tiles"), "div", { class: "tile " + tone });
    add(tile, "b", {}, figure);
    add(tile, "span", {}, words);
  }
}

function drawScoreboard() {
  const box = section("scoreboard");
  add(box, "p", { class: "soft" }, "Tuned cuBLASLt's time over ours, paired in the same run: above 1 is faster. Geometric means of the shapes whose tuned cuBLASLt time falls into each class. Filled: launches follow each other; ring: between foreign kernels.");
  legend(box, [["ours", "our kernels alone", "full"], ["served", "served: the winner, else tuned cuBLASLt", "full"], ["library", "between foreign kernels", "ring"]]);
  const buckets = data.buckets.concat([data.overall]);
  const name = (bucket) => bucket.name.replace(" us", " \u00b5s").replace(/-/g, "\u2013");
  const values = [];
  for (const bucket of buckets)
    for (const measure of Object.keys(measures))
      if (bucket[measure] !== null) values.push({ bucket, measure, x: bucket[measure] });
  plot(box, "Geometric mean speed over tuned cuBLASLt in each class of time", () => 52 + 40 * buckets.length, (svg, width, height) => {
    const left = 96;
    const x = d3.scaleLinear().domain([Math.min(0.95, d3.min(values, (v) => v.x)), Math.max(1.1, d3.max(values, (v) => v.x))]).nice().range([left, width - margin.right]);
    const y = d3.scalePoint().domain(buckets.map((b) => b.name)).range([34, height - 48]).padding(0.4);
    const grid = svg.append("g").attr("class", "grid");
    const ticks = x.ticks(width < 560 ? 4 : 8);
    grid.selectAll("line").data(ticks).enter().append("line").attr("x1", x).attr("x2", x).attr("y1", 18).attr("y2", height - 40);
    svg.append("g").selectAll("text").data(ticks).enter().append("text").attr("x", x).attr("y", height - 24).attr("text-anchor", "middle").text(d3.format(".2f"));
    svg.append("text").attr("x", width - margin.right).attr("y", height - 6).attr("text-anchor", "end").text("times faster than tuned cuBLASLt");
    svg.append("line").attr("class", "one").attr("x1", x(1)).attr("x2", x(1)).attr("y1", 14).attr("y2", height - 40);
    const rows = svg.append("g").selectAll("g").data(buckets).enter().append("g").attr("transform", (b) => `translate(0,${y(b.name)})`);
    rows.append("text").attr("x", 0).attr("dy", "-.1em").attr("class", "strong").text((b) => (b.name === "all" ? "all shapes" : name(b)));
    rows.append("text").attr("x", 0).attr("dy", "1.05em").text((b) => b.shapes + " shapes");
    for (const [measure, shift] of [["raw", -6], ["served", 6]]) {
      const pair = rows.filter((b) => b[measure] !== null).append("g").attr("class", measures[measure].tone).attr("transform", `translate(0,${shift})`);
      pair.append("line").attr("class", "path").attr("x1", (b) => x(b[measure])).attr("x2", (b) => x(b[measure + "_foreign"] || b[measure]));
      pair.filter((b) => b[measure + "_foreign"] !== null).append("circle").attr("class", "mean ring").attr("r", 4.6).attr("cx", (b) => x(b[measure + "_foreign"]));
      pair.append("circle").attr("class", "mean full").attr("r", 5).attr("cx", (b) => x(b[measure]));
      explain(pair, (b) => `${name(b)}: ${measures[measure].words} ${ratio(b[measure])}, between foreign kernels ${ratio(b[measure + "_foreign"])}`);
    }
  });
  const scroll = add(box, "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scoreboard" });
  const table = add(scroll, "table", { id: "means" });
  const head = add(add(table, "thead"), "tr");
  const titles = ["tuned cuBLASLt\u2019s time", "shapes", "raw", "raw (foreign)", "ours and vendor", "(foreign)", "served", "served (foreign)", "raw wins/losses", "served wins/losses"];
  titles.forEach((title, i) => add(head, "th", { scope: "col", class: i ? "figure" : "" }, title));
  const body = add(table, "tbody");
  for (const b of buckets) {
    const line = add(body, "tr", b.name === "all" ? { class: "total" } : {});
    const cells = [name(b), b.shapes, ratio(b.raw), ratio(b.raw_foreign), ratio(b.best), ratio(b.best_foreign), ratio(b.served), ratio(b.served_foreign), `${b.raw_wins}/${b.raw_losses}`, `${b.served_wins}/${b.served_losses}`];
    cells.forEach((text, i) => add(line, "td", { class: i ? "figure" : "nowrap" }, text));
  }
  const all = data.overall;
  add(box, "p", { class: "note" }, `Served over the other baselines, back to back: cublas ${ratio(all.over_cublas)}, cublas_autotune ${ratio(all.over_cublas_autotune)}, lt_first ${ratio(all.over_lt_first)}. A win: in both settings the 95 % interval is above 1 and the gain at least 1 %; a loss: in either, the whole interval is below ${data.rules.lost_below}.` +
    (data.not_retested ? ` ${data.not_retested} shapes were not tested again in a fresh process: their figures are those they were chosen by, which flatters them.` : "") +
    (data.failed ? ` ${data.failed} rows have no result.` : ""));
}
