// chart.js: what every plot shares: it fills its box, is drawn again when the box changes, and
// has axes, a grid and words for those who cannot see it.
function plot(parent, words, height, draw) {
  const box = add(parent, "div", { class: "plot" });
  let drawn = 0;
  const redraw = () => {
    const width = Math.max(260, Math.floor(box.clientWidth));
    drawn = width;
    box.textContent = "";
    const tall = typeof height === "function" ? height(width) : Math.round(width < 560 ? height * 0.85 : height);
    const svg = d3.select(box).append("svg").attr("viewBox", [0, 0, width, tall].join(" "))
      .attr("role", "img").attr("aria-label", words);
    draw(svg, width, tall);
  };
  // In the next frame: drawing inside the callback would change what is being observed.
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (Math.abs(box.clientWidth - drawn) > 1 && box.clientWidth >= 260) redraw();
  })).observe(box);
  redraw();
  return redraw;
}

// Plain numbers at 1, 2 and 5 of each decade, or fewer where a decade has little room.
function logTicks(scale, room) {
  const [low, high] = scale.domain();
  const decade = room / Math.log10(high / low);
  const steps = decade > 150 ? [1, 2, 5] : decade > 90 ? [1, 3] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const step of steps) {
      const tick = step * Math.pow(10, power);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  return ticks;
}
const plain = (x) => (x >= 1000 ? d3.format(",")(x) : d3.format("~r")(x));

// Those ticks that leave each other room; 1, where everything is compared, is kept before others.
function apart(ticks, place, room) {
  const kept = [];
  for (const tick of ticks.slice().sort((a, b) => (b === 1) - (a === 1)))
    if (kept.every((other) => Math.abs(place(other) - place(tick)) >= room)) kept.push(tick);
  return kept;
}

function axes(svg, x, y, options) {
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  const xTicks = apart(options.xTicks || (x.base ? logTicks(x, right - left) : x.ticks(Math.max(3, Math.floor((right - left) / 90)))), x, 34);
  const yTicks = apart(options.yTicks || (y.base ? logTicks(y, bottom - top) : y.ticks(6)), y, 15);
  const grid = svg.append("g").attr("class", "grid");
  grid.selectAll("line.h").data(yTicks).enter().append("line")
    .attr("x1", left).attr("x2", right).attr("y1", y).attr("y2", y);
  grid.selectAll("line.v").data(xTicks).enter().append("line").attr("class", "v")
    .attr("x1", x).attr("x2", x).attr("y1", bottom).attr("y2", top);
  const axis = svg.append("g").attr("class", "axis");
  axis.selectAll("text.x").data(xTicks).enter().append("text").attr("class", "x")
    .attr("x", x).attr("y", bottom + 18).attr("text-anchor", (tick) => (x(tick) > right - 8 ? "end" : "middle")).text(options.xFormat || plain);
  axis.selectAll("text.y").data(yTicks).enter().append("text").attr("class", "y")
    .attr("x", left - 8).attr("y", y).attr("dy", ".33em").attr("text-anchor", "end").text(options.yFormat || plain);
  axis.append("text").attr("x", right).attr("y", bottom + 37).attr("text-anchor", "end").text(options.xWords);
  axis.append("text").attr("x", 0).attr("y", 11).text(options.yWords);
}

const margin = { top: 30, right: 14, bottom: 46, left: 46 };
const across = (scale, width) => scale.range([margin.left, width - margin.right]);
const upward = (scale, height) => scale.range([height - margin.bottom, margin.top]);
const logScale = (low, high) => d3.scaleLog().domain([low, high]);

// A mark for each shape that has a place; clicking one shows all that was measured of it.
function shapeDots(svg, shapes, x, y, tone, radius) {
  const dots = svg.append("g").selectAll("circle").data(shapes).enter().append("circle")
    .attr("class", (i) => "dot " + tone + (i === chosenShape ? " chosen" : ""))
    .attr("cx", x).attr("cy", y).attr("r", radius || 3.4)
    .on("click", (i) => chooseShape(i, true));
  explain(dots, describeShape);
  return dots;
}
