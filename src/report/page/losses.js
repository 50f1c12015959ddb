// losses.js: where our best kernel is behind, grouped by what the configs say about why.
const lossOf = new Map(data.losses.map((loss) => [loss.shape, loss]));

function drawLosses() {
  const box = section("losses");
  if (data.losses.length === 0) { add(box, "p", { class: "soft" }, "None: no shape's best kernel of ours is more than 1 % behind tuned cuBLASLt."); return; }
  add(box, "p", { class: "soft" }, `${data.losses.length} of ${count} shapes, where our best kernel is below ${data.rules.lost_below} of tuned cuBLASLt in either setting. The cause is the first rule in which our config is clearly worse than the library\u2019s, derived from shape, tiles, waves, split and traffic: a lead to follow, not a measurement.`);
  const causes = d3.nest().key((l) => l.cause).entries(data.losses)
    .map(({ key: cause, values: list }) => ({ cause, total: list.length, mean: Math.exp(d3.mean(list, (l) => Math.log(Math.min(columns.raw[l.shape], columns.raw_foreign[l.shape])))) }))
    .sort((a, b) => b.total - a.total);
  plot(box, "Number of losses of each cause", () => 12 + 30 * causes.length, (svg, width) => {
    const left = width < 560 ? 142 : 178;
    const x = d3.scaleLinear().domain([0, d3.max(causes, (c) => c.total)]).range([left, width - 118]);
    const rows = svg.append("g").selectAll("g").data(causes).enter().append("g").attr("transform", (_, i) => `translate(0,${4 + 30 * i})`);
    rows.append("text").attr("class", "strong").attr("y", 15).text((c) => c.cause);
    rows.append("rect").attr("class", "cause").attr("x", left).attr("y", 3).attr("height", 17).attr("rx", 3).attr("width", (c) => x(c.total) - left).style("fill", "var(--loss)").style("fill-opacity", 0.75);
    rows.append("text").attr("y", 16).attr("x", (c) => x(c.total) + 7).text((c) => `${c.total}, mean ${ratio(c.mean)}`);
  });
  sortableTable(box, {
    name: "losses", rows: data.losses, sort: 2, down: false, hint: "words, or raw<0.9",
    menus: [{ words: "Cause", options: [["", "all"]].concat(causes.map((c) => [c.cause, c.cause])), test: (loss, cause) => loss.cause === cause }],
    click: (loss) => chooseShape(loss.shape, true),
    columns: [
      { name: "shape", key: "shape", css: "nowrap", value: (l) => label(l.shape) },
      { name: "tuned \u00b5s", key: "us", figure: true, value: (l) => columns.lt_us[l.shape], text: microseconds },
      { name: "raw", key: "raw", figure: true, value: (l) => columns.raw[l.shape], text: ratio, tone: aboveOne },
      { name: "raw (foreign)", key: "raw_foreign", figure: true, value: (l) => columns.raw_foreign[l.shape], text: ratio, tone: aboveOne },
      { name: "cause", css: "nowrap", value: (l) => l.cause },
      { name: "why", css: "words", value: (l) => l.words },
      { name: "served", key: "served", figure: true, value: (l) => columns.served[l.shape], text: ratio, tone: aboveOne },
      { name: "our best", css: "config mono", value: (l) => configText(columns.raw_config[l.shape]) },
      { name: "compared with", css: "config mono", value: (l) => l.theirs },
    ],
  });
}
