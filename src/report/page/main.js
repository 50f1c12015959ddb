// main.js: draws every section once, and says how long that took.
function drawFrame() {
  section("title").textContent = `${count} shape${count === 1 ? "" : "s"} on ${data.device.name}`;
  document.title = section("title").textContent + " \u2013 gemmsmith";
  section("subtitle").textContent = `${kinds.join(", ")}. ${d3.format(",")(data.rows)} measurements of ${d3.format(",")(data.configs.length)} configs, against tuned cuBLASLt in the same runs. ${data.device.fingerprint}. From ${data.source}`;
  for (const part of document.querySelectorAll("main section")) {
    const item = add(section("contents"), "li");
    add(item, "a", { href: "#" + part.id }, part.dataset.short);
  }
  section("footer").textContent = `Made by: ${data.command}. Plots are drawn with D3 ${d3.version} (Mike Bostock, BSD-3-Clause; its licence is in this file).`;
  const theme = section("theme");
  const isDark = () => (document.documentElement.dataset.theme || (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; name(); });
  name();
}

drawFrame();
drawTiles();
drawScoreboard();
drawShapePicker();
drawSpeed();
drawFloor();
drawHeat();
drawRoofline();
drawFronts();
drawLosses();
drawCurves();
drawClocks();
drawShapes();
chooseShape(d3.scan(everyShape, (a, b) => (columns.served[b] || 0) - (columns.served[a] || 0)), false);
document.documentElement.dataset.drawnMs = Math.round(performance.now());
