// fronts.js: what speed costs: kernels to ship, over the whole table. (The front between the two
// settings is a shape's own: shapes.js.)
function drawFronts() {
  const box = section("fronts");
  const front = data.front;
  const last = front[front.length - 1];
  add(box, "p", { class: "soft" }, "Speed against the number of distinct compiled kernels that a table ships, tuned cuBLASLt serving where none of them is faster. Each step adds the kernel that gains most.");
  if (front.length < 2) { add(box, "p", { class: "note" }, "No kernel of ours is faster than tuned cuBLASLt here."); return; }
  plot(box, "Geometric mean speed against the number of kernels", 320, (svg, width, height) => {
    const x = across(d3.scaleLinear().domain([0, last[0]]), width);
    const y = upward(d3.scaleLinear().domain([1, last[1]]).nice(), height);
    axes(svg, x, y, { xWords: "distinct kernels", yWords: "times faster than tuned cuBLASLt, back to back", yFormat: d3.format(".2f"), xTicks: x.ticks(Math.min(last[0], width < 560 ? 5 : 10)).filter(Number.isInteger) });
    svg.append("path").attr("class", "path ours").attr("d", d3.line().x((p) => x(p[0])).y((p) => y(p[1])).curve(d3.curveStepAfter)(front));
    const dots = svg.append("g").attr("class", "ours").selectAll("circle").data(front.slice(1)).enter().append("circle").attr("class", "front full").attr("r", 3.2).attr("cx", (p) => x(p[0])).attr("cy", (p) => y(p[1]));
    explain(dots, (p) => `${p[0]} kernel${p[0] > 1 ? "s" : ""}: ${digits3(p[1])}\u00d7\nadded: ${p[2]}`);
  });
  const share = (part) => front.find((p) => Math.log(p[1]) >= part * Math.log(last[1]));
  add(box, "p", { class: "note" }, `${share(0.5)[0]} kernels bring half of the gain of ${last[0]}, ${share(0.9)[0]} bring nine tenths. Screened figures count here as well, so this is what a table could promise; the scoreboard says what a re-test found.`);
  add(box, "p", { class: "note" }, "The front between back to back and between foreign kernels is drawn for one shape at a time, at the end of the page. There is none for energy and workspace: measurements do not record them (power is sampled over whole runs, below).");
}
