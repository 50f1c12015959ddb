// curves.js: how near each search strategy comes to the recorded best, by measurements spent.
const searcherNames = {
  policy: "policy (PPO)", listwise: "policy without RL", boosted: "gradient-boosted ranker", boosted_refit: "boosted, corrected by results",
  knn: "nearest shapes", global_top: "global top list", analytic: "analytic ranker", evolutionary: "evolutionary", genetic: "genetic",
  annealing: "annealing", local: "local search", tpe: "TPE (Optuna)", random: "random", shuffled: "policy, shuffled labels",
};
const searcherTones = { policy: "served", boosted: "vendor", analytic: "ours" };

function drawCurves() {
  const box = section("curves");
  if (data.curves.length === 0) {
    const p = add(box, "p", { class: "soft" }, "None were given to this page: ");
    add(p, "code", {}, "--curves bench/search/results/random_0of5.csv");
    return;
  }
  const splits = Array.from(new Set(data.curves.map((c) => c.split)));
  const searcher = (curve) => searcherNames[curve.searcher] || curve.searcher;
  let split = splits[0];
  const chosen = () => data.curves.filter((c) => c.split === split);
  add(box, "p", { class: "soft" }, "The gap to the recorded best on held-out shapes after so many measurements: lower is better. Geometric means; the band is the policy\u2019s 95 % interval. Point at a line for its name. Gaps below 0.001 % are drawn there.");
  const controls = add(box, "div", { class: "controls" });
  if (splits.length > 1) choice(controls, "Held out", splits.map((s) => [s, s]), (value) => { split = value; redraw(); table(); });
  else add(controls, "span", { class: "note" }, "Held out: " + split);
  legend(box, [["served", "policy (PPO)", "bar"], ["vendor", "gradient-boosted ranker", "bar"], ["ours", "analytic ranker", "bar"], ["library", "others", "bar"]].filter(([tone]) => tone === "library" || data.curves.some((c) => searcherTones[c.searcher] === tone)));
  const gap = (share) => Math.max(1e-5, 1 - share);
  const redraw = plot(box, "Gap to the recorded best against measurements", 380, (svg, width, height) => {
    const curves = chosen();
    const numbers = Array.from(new Set([].concat(...curves.map((c) => c.points.map((p) => p[0]))))).sort((a, b) => a - b);
    const gaps = [].concat(...curves.map((c) => c.points.map((p) => gap(p[1]))));
    const x = across(logScale(numbers[0], Math.max(numbers[0] + 1, numbers[numbers.length - 1])), width);
    const y = upward(logScale(d3.min(gaps) / 1.2, d3.max(gaps) * 1.2), height);
    x.range([margin.left + 14, width - margin.right]);
    axes(svg, x, y, { xWords: "configs measured", yWords: "gap to the recorded best", xTicks: numbers, yFormat: (g) => d3.format("~r")(100 * g) + " %" });
    const line = d3.line().x((p) => x(p[0])).y((p) => y(gap(p[1])));
    for (const c of curves.filter((c) => c.searcher === "policy"))
      svg.append("path").attr("class", "served").style("fill", "var(--c)").style("fill-opacity", 0.16).attr("d", d3.area().x((p) => x(p[0])).y0((p) => y(gap(p[2]))).y1((p) => y(gap(p[3])))(c.points));
    const order = curves.slice().sort((a, b) => Boolean(searcherTones[a.searcher]) - Boolean(searcherTones[b.searcher]));
    const lines = svg.append("g").selectAll("path").data(order).enter().append("path").attr("class", (c) => "curve path " + (searcherTones[c.searcher] || "library"))
      .style("stroke-width", (c) => (searcherTones[c.searcher] ? 2.6 : 1.3)).style("stroke-opacity", (c) => (searcherTones[c.searcher] ? 1 : 0.55)).attr("d", (c) => line(c.points));
    explain(lines, (c) => searcher(c) + "\n" + c.points.map((p) => `${p[0]}: ${d3.format(".4f")(p[1])}`).join("\n"));
  });
  const scroll = add(box, "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Learning curves" });
  function table() {
    scroll.textContent = "";
    const curves = chosen();
    const numbers = curves[0].points.map((p) => p[0]);
    const element = add(scroll, "table");
    const head = add(add(element, "thead"), "tr");
    add(head, "th", { scope: "col" }, "share of the recorded best after");
    for (const n of numbers) add(head, "th", { scope: "col", class: "figure" }, n);
    const body = add(element, "tbody");
    for (const c of curves.slice().sort((a, b) => b.points[0][1] - a.points[0][1])) {
      const row = add(body, "tr");
      add(row, "td", { class: "nowrap" }, searcher(c));
      for (const n of numbers) { const p = c.points.find((q) => q[0] === n); add(row, "td", { class: "figure" }, p ? d3.format(".4f")(p[1]) : "\u2013"); }
    }
  }
  table();
}
