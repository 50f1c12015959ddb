// clocks.js: what the card did while each run measured.
function drawClocks() {
  const box = section("clocks");
  const runs = data.runs.filter((r) => r.samples > 0);
  if (runs.length === 0) { add(box, "p", { class: "soft" }, "No run of this table sampled clocks or power."); return; }
  add(box, "p", { class: "soft" }, "Lowest to highest sample of each run, the dot its median. Every ratio on this page is paired in one process, so a moving clock moves both sides.");
  const short = (run) => run.id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)\d\d\.\d+Z-[0-9a-f]+-/, "$2-$3 $4:$5 ");
  const pair = add(box, "div", { class: "split" });
  for (const [figure, words, tone, limit] of [["sm_clock_mhz", "SM clock, MHz", "ours", null], ["power_w", "power, W", "vendor", d3.max(runs, (r) => r.power_limit_w)]]) {
    const half = add(pair, "div");
    const shown = runs.filter((r) => r[figure][2] > 0);
    plot(half, words + " of each run", () => 62 + 24 * shown.length, (svg, width, height) => {
      const left = 118;
      const x = d3.scaleLinear().domain([0, d3.max(shown, (r) => r[figure][2]) * 1.03]).range([left, width - 20]);
      svg.append("text").attr("x", 0).attr("y", 12).attr("class", "strong").text(words);
      const ticks = x.ticks(5);
      const grid = svg.append("g").attr("class", "grid");
      grid.selectAll("line").data(ticks).enter().append("line").attr("x1", x).attr("x2", x).attr("y1", 24).attr("y2", height - 24);
      svg.append("g").selectAll("text").data(ticks).enter().append("text").attr("x", x).attr("y", height - 8).attr("text-anchor", "middle").text(d3.format(","));
      if (limit) svg.append("line").attr("class", "roof reached").attr("x1", x(limit)).attr("x2", x(limit)).attr("y1", 20).attr("y2", height - 24);
      const rows = svg.append("g").attr("class", tone).selectAll("g").data(shown).enter().append("g").attr("transform", (_, i) => `translate(0,${38 + 24 * i})`);
      rows.append("text").attr("dy", ".35em").text(short);
      rows.append("line").attr("class", "path").style("stroke-opacity", 0.45).style("stroke-width", 7).attr("x1", (r) => x(r[figure][0])).attr("x2", (r) => x(r[figure][2]));
      rows.append("circle").attr("class", "run full").attr("r", 4.5).attr("cx", (r) => x(r[figure][1]));
      explain(rows, (r) => `${r.id}\n${words}: ${r[figure].map((v) => d3.format(",.0f")(v)).join(" \u2013 ")} (low, median, high)`);
    });
  }
  const samples = d3.sum(runs, (r) => r.samples), capped = d3.sum(runs, (r) => r.power_capped), hot = d3.sum(runs, (r) => r.heat_throttled);
  add(box, "p", { class: "note" }, `${d3.format(",")(samples)} samples; in ${d3.format(",")(capped)} the power cap held the clock down, in ${d3.format(",")(hot)} heat did. Dashed: the power limit.`);
  sortableTable(box, {
    name: "runs", rows: data.runs, sort: 0, down: false, hint: "words, or samples>100",
    columns: [
      { name: "run", css: "config mono", value: (r) => r.id }, { name: "started", css: "nowrap", value: (r) => r.started },
      { name: "shapes", key: "shapes", figure: true, value: (r) => r.problems },
      { name: "samples", key: "samples", figure: true, value: (r) => r.samples },
      { name: "power-capped", key: "capped", figure: true, value: (r) => r.power_capped },
      { name: "heat", key: "heat", figure: true, value: (r) => r.heat_throttled },
      { name: "highest \u00b0C", key: "celsius", figure: true, value: (r) => r.temperature_c[2] },
      { name: "empty kernel \u00b5s", key: "empty", figure: true, value: (r) => r.empty_us, text: digits3 },
      { name: "command", css: "config mono", value: (r) => r.command },
    ],
  });
}
