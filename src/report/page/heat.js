// heat.js: one measure over M and N for one K, as a grid of coloured and numbered cells. Colours mix
// the theme's own in CSS, on a logarithmic scale that is full at about 0.6 and 1.7.
function drawHeat() {
  const box = section("heat");
  add(box, "p", { class: "soft" }, "Green is faster than tuned cuBLASLt, orange slower, grey level. A cell is a shape; gaps were not measured.");
  const controls = add(box, "div", { class: "controls" });
  const numeric = (a, b) => a - b;
  const all = (name) => Array.from(new Set(columns[name])).sort(numeric);
  const ks = all("k"), ms = all("m"), ns = all("n");
  let measure = "raw", kind = kinds[0];
  // The K with most shapes to start with, the largest of equals in the middle of the list.
  const shapesWith = (k) => columns.k.filter((x) => x === k).length;
  let k = ks.slice().sort((a, b) => shapesWith(b) - shapesWith(a) || Math.abs(ks.indexOf(a) - ks.length / 2) - Math.abs(ks.indexOf(b) - ks.length / 2))[0];
  choice(controls, "Show", Object.entries(measures).map(([value, m]) => [value, m.words]), (value) => { measure = value; redraw(); });
  if (kinds.length > 1) choice(controls, "Of", kinds.map((x) => [x, x]), (value) => { kind = value; redraw(); });
  add(controls, "span", { class: "note" }, "K");
  if (ks.length <= 16) buttons(controls, "K", ks.map((x) => [x, String(x)]), k, (value) => { k = value; redraw(); });
  else choice(controls, "", ks.map((x) => [x, String(x)]), (value) => { k = Number(value); redraw(); }).value = k;
  const depth = (value) => Math.min(1, Math.abs(Math.log2(value)) * 1.3);
  const colour = (value) => {
    const share = depth(value);
    return `color-mix(in oklab, var(--${value >= 1 ? "win" : "loss"}) ${Math.round(100 * share)}%, var(--even))`;
  };
  const redraw = plot(box, "Speed over tuned cuBLASLt for each M and N at one K", (width) => {
    const rows = new Set(everyShape.filter((i) => columns.k[i] === k && columns.kind[i] === kind).map((i) => columns.m[i])).size;
    return 66 + Math.max(1, rows) * (rows > 24 ? 16 : Math.min(46, Math.max(22, width / 22)));
  }, (svg, width, height) => {
    const shapes = everyShape.filter((i) => columns.k[i] === k && columns.kind[i] === kind && columns[measure][i] !== null);
    const usedM = ms.filter((m) => shapes.some((i) => columns.m[i] === m)), usedN = ns.filter((n) => shapes.some((i) => columns.n[i] === n));
    const x = d3.scaleBand().domain(usedN).range([54, width - 4]).padding(0.05);
    const y = d3.scaleBand().domain(usedM).range([28, height - 38]).padding(0.06);
    const cells = svg.append("g").selectAll("rect").data(shapes).enter().append("rect").attr("class", "cell").attr("rx", 4)
      .attr("x", (i) => x(columns.n[i])).attr("y", (i) => y(columns.m[i])).attr("width", x.bandwidth()).attr("height", y.bandwidth())
      .style("fill", (i) => colour(columns[measure][i])).on("click", (i) => chooseShape(i, true));
    explain(cells, describeShape);
    const small = x.bandwidth() < 34;
    if (x.bandwidth() >= 22 && y.bandwidth() >= 12)
      svg.append("g").selectAll("text").data(shapes).enter().append("text").attr("class", (i) => (depth(columns[measure][i]) > 0.72 ? "cell-text deep" : "cell-text")).style("font-size", small ? "9.5px" : "12px")
        .attr("x", (i) => x(columns.n[i]) + x.bandwidth() / 2).attr("y", (i) => y(columns.m[i]) + y.bandwidth() / 2)
        .text((i) => d3.format(small ? ".1f" : ".2f")(columns[measure][i]));
    const size = (v) => (small && v >= 1024 ? d3.format("~r")(Math.round(v / 102.4) / 10) + "k" : v);
    const every = Math.ceil(usedN.length * 38 / Math.max(1, width - 58));
    svg.append("g").selectAll("text").data(usedN.filter((_, i) => i % every === 0)).enter().append("text").attr("text-anchor", "middle").attr("y", height - 22)
      .attr("x", (n) => x(n) + x.bandwidth() / 2).text(size);
    svg.append("g").selectAll("text").data(usedM).enter().append("text").attr("text-anchor", "end").attr("x", 46).attr("dy", ".33em")
      .attr("y", (m) => y(m) + y.bandwidth() / 2).text(size);
    svg.append("text").attr("x", width - 4).attr("y", height - 5).attr("text-anchor", "end").text("N");
    svg.append("text").attr("x", 46).attr("y", 14).attr("text-anchor", "end").text("M");
  });
}
