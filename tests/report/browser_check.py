#!/usr/bin/env python3
"""What only a browser can tell of the report: it draws without a complaint and without the network,
every plot has its marks, tables sort and filter, text fits wide and narrow, light and dark.

    tests/report/browser_check.py build/release/gemmsmith            # on the recorded grid
    tests/report/browser_check.py build/release/gemmsmith --large    # on 1000 shapes x 600 configs
    tests/report/browser_check.py build/release/gemmsmith --recording FILE --screenshots FOLDER

Exit code 0: all holds; 1: something does not (each named); 77: no browser, with the reason.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chromium import Page, Unavailable  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDING = ROOT / "data/recordings/h200/grid1000_f16_f32_tn.csv.zst"
CURVES = ROOT / "bench/search/results/random_0of5.csv"
MOST_BYTES = 15_000_000
MOST_DRAWING_MS = 2000
UNAVAILABLE = 77

failures = []


def expect(holds, words):
    if not holds:
        failures.append(words)
        print("FAILED:", words)


def expect_equal(found, wanted, words):
    expect(found == wanted, f"{words}: {found!r} instead of {wanted!r}")


# Reading the page as a user does; evaluated in it once.
HELPERS = """
window.check = {
  count: (selector) => document.querySelectorAll(selector).length,
  section: (id) => document.getElementById(id),
  cells: (id, column) => [...document.querySelectorAll(`#${id} tbody tr`)].map((row) => row.children[column].textContent),
  sort: (id, column) => document.querySelectorAll(`#${id} th button`)[column].click(),
  filter: (id, words) => { const box = document.querySelector(`#${id} input[type=search]`); box.value = words; box.dispatchEvent(new Event("input")); },
  pick: (id, menu, value) => { const box = document.querySelectorAll(`#${id} select`)[menu]; box.value = value; box.dispatchEvent(new Event("change")); },
  choose_k: (k) => {
    const button = [...document.querySelectorAll("#heat button")].find((b) => b.textContent === k);
    if (button) button.click(); else check.pick("heat", document.querySelectorAll("#heat select").length - 1, k);
  },
  status: (id) => document.querySelector(`#${id} [role=status]`).textContent,
  settle: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  // Texts of plots that leave their plot, or lie on another text of it.
  misplaced: () => {
    const found = [];
    for (const svg of document.querySelectorAll("svg")) {
      const frame = svg.getBoundingClientRect();
      const boxes = [...svg.querySelectorAll("text")].filter((t) => t.textContent).map((t) => [t, t.getBoundingClientRect()]);
      for (const [text, box] of boxes)
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
          found.push(`${svg.getAttribute("aria-label")}: '${text.textContent}' leaves the plot`);
      boxes.forEach(([a, one], i) => boxes.slice(i + 1).forEach(([b, two]) => {
        const across = Math.min(one.right, two.right) - Math.max(one.left, two.left);
        const down = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
        if (across > 1 && down > 4) found.push(`${svg.getAttribute("aria-label")}: '${a.textContent}' lies on '${b.textContent}'`);
      }));
    }
    return found;
  },
  // Elements that are wider than the window and in no box that scrolls.
  too_wide: () => [...document.querySelectorAll("body *")].filter((e) => {
    if (e.closest(".scroll") && !e.matches(".scroll") || e.closest("nav") || e.closest("svg") || e.hidden) return false;
    const box = e.getBoundingClientRect();
    return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1);
  }).map((e) => e.tagName + " " + (e.id || e.className) + " " + e.textContent.slice(0, 30)),
  // Contrast of two of the page's colours, as WCAG 2 defines it.
  contrast: (one, two) => {
    const probe = document.body.appendChild(document.createElement("i"));
    const light = (name) => {
      probe.style.color = `var(--${name})`;
      const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const values = [light(one), light(two)].sort((a, b) => b - a);
    probe.remove();
    return (values[0] + 0.05) / (values[1] + 0.05);
  },
}; true
"""


def check_marks(page, data):
    shapes = data["shapes"]
    total = len(shapes["name"])
    with_ours = sum(x is not None for x in shapes["raw"])
    count = lambda selector: page.evaluate(f"check.count({json.dumps(selector)})")  # noqa: E731
    expect_equal(count("#speed circle"), with_ours, "marks of the speed plot")
    expect_equal(count("#floor circle"), 2 * total, "marks of the floor plot")
    expect_equal(count("#roofline circle"), total, "marks of the roofline")
    expect_equal(count("#roofline path"), 3, "roofs")
    expect_equal(count("#fronts circle"), len(data["front"]) - 1, "marks of the kernel front")
    expect_equal(count("#scoreboard circle"), 4 * (len(data["buckets"]) + 1), "marks of the scoreboard")
    expect_equal(count("#losses rect"), len({loss["cause"] for loss in data["losses"]}), "bars of causes")
    expect_equal(count("#curves path.curve"), len(data["curves"]), "learning curves")
    expect_equal(count("#clocks circle"), 2 * sum(run["samples"] > 0 for run in data["runs"]), "marks of clocks and power")
    for k in sorted(set(shapes["k"])):
        page.evaluate(f"check.choose_k('{k}')")
        cells = sum(x == k and kind == shapes["kind"][0] for x, kind in zip(shapes["k"], shapes["kind"]))
        expect_equal(count("#heat rect"), cells, f"cells of the heat map at K = {k}")


def check_tables(page, data):
    shapes = data["shapes"]
    total = len(shapes["name"])
    page.evaluate("document.querySelector('#shapes .more').click()")
    cells = lambda column: page.evaluate(f"check.cells('shapes', {column})")  # noqa: E731
    expect_equal(len(cells(0)), total, "rows of the table of shapes")
    figure = lambda text: float(text.replace(",", ""))  # noqa: E731
    for column, name in ((1, "m"), (4, "lt_us"), (8, "served")):
        for _ in range(2):
            page.evaluate(f"check.sort('shapes', {column})")
            found = [figure(text) for text in cells(column)]
            down = page.evaluate(f"document.querySelectorAll('#shapes th')[{column}].getAttribute('aria-sort')") == "descending"
            expect(found == sorted(found, reverse=down), f"the table of shapes is not sorted by {name}")
            expect(max(found) == found[0 if down else -1], f"the largest {name} is not at its end")
    for words, wanted in (
            ("m=64", sum(m == 64 for m in shapes["m"])),
            ("served>1.2 k<=256", sum((s or 0) > 1.2 and k <= 256 for s, k in zip(shapes["served"], shapes["k"]))),
            (shapes["name"][0], sum(shapes["name"][0] in name for name in shapes["name"])),
            ("no such words", 0)):
        page.evaluate(f"check.filter('shapes', {json.dumps(words)})")
        expect_equal(page.evaluate("check.status('shapes')"), f"{wanted} of {total} shapes", f"shapes that match '{words}'")
        expect_equal(len(cells(0)), wanted, f"rows that match '{words}'")
    page.evaluate("check.filter('shapes', '')")
    page.evaluate("check.pick('shapes', 0, 'kernel')")
    expect_equal(len(cells(0)), sum(x == "kernel" for x in shapes["served_by"]), "rows served by a kernel of ours")
    page.evaluate("check.pick('shapes', 0, '')")
    cause = data["losses"][0]["cause"]
    page.evaluate(f"check.pick('losses', 0, {json.dumps(cause)})")
    of_cause = sum(loss["cause"] == cause for loss in data["losses"])
    expect_equal(page.evaluate("check.status('losses')").split()[0], str(of_cause), f"losses by {cause}")
    page.evaluate("check.pick('losses', 0, '')")


def check_one_shape(page, data, spaces):
    for shape in (0, len(data["shapes"]["name"]) - 1):
        page.evaluate(f"document.querySelectorAll('#speed circle')[{shape}].dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        name = page.evaluate("document.querySelector('#shape h3').textContent")
        expect(name == f"{data['shapes']['name'][shape]}, {data['shapes']['kind'][shape]}", f"clicking mark {shape} shows {name}")
        expect_equal(page.evaluate("check.status('shape')"), f"{len(spaces[shape]) // 3} configs", f"configs of {name}")
        both = sum(1 for i in range(0, len(spaces[shape]), 3) if spaces[shape][i + 1] and spaces[shape][i + 2])
        expect_equal(page.evaluate("check.count('#shape circle')"), both, f"marks of {name}")
        expect_equal(page.evaluate("check.count('#speed .chosen')"), 1, "chosen marks")


def check_fit(page, width, where):
    expect(page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), f"the page is wider than {width} pixels ({where})")
    for words in page.evaluate("check.misplaced()") + page.evaluate("check.too_wide()"):
        expect(False, f"{width} pixels, {where}: {words}")
    for one, two, least in (("ink", "card", 7), ("soft", "card", 4.5), ("win", "card", 3), ("loss", "card", 3), ("ours", "card", 3), ("served", "card", 3), ("vendor", "card", 3)):
        contrast = page.evaluate(f"check.contrast('{one}', '{two}')")
        expect(contrast >= least, f"{where}: {one} on {two} has contrast {contrast:.2f}, below {least}")


def check_page(path, screenshots, large):
    html = path.read_text()
    part = lambda name: json.loads(re.search(f'id="{name}">(.*?)</script>', html, re.S).group(1))  # noqa: E731
    data, spaces = part("data"), part("spaces")
    size = path.stat().st_size
    expect(size < MOST_BYTES, f"the file has {size} bytes")
    page = Page()
    drawings_ms = []
    try:
        for width in (1280, 390):
            for dark in (False, True):
                where = "dark" if dark else "light"
                page.show(path.as_uri(), width, dark=dark)
                page.evaluate(HELPERS)
                drawn_ms = page.evaluate("Number(document.documentElement.dataset.drawnMs)")
                print(f"{width} pixels, {where}: drawn after {drawn_ms} ms, {size / 1e6:.1f} MB")
                expect(drawn_ms > 0, "nothing was drawn")
                drawings_ms.append(drawn_ms)
                check_fit(page, width, where)
                if screenshots:
                    page.screenshot(screenshots / f"report_{width}_{where}.png", page.evaluate("document.body.scrollHeight"))
                if not dark and not large:
                    check_marks(page, data)
                    check_tables(page, data)
                    check_one_shape(page, data, spaces)
                    check_fit(page, width, "after clicking")
                for complaint in page.complaints():
                    expect(False, f"{width} pixels, {where}: {complaint}")
        # The fastest of them: a browser that has just started, or a busy machine, is not the page's.
        expect(min(drawings_ms) < MOST_DRAWING_MS, f"drawn after {drawings_ms} ms")
        page.show(path.as_uri(), 1280)
        page.media("print", dark=True)
        expect_equal(page.evaluate("getComputedStyle(document.querySelector('nav')).display"), "none", "the menu in print")
        expect_equal(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)", "the paper in print")
        expect(len(page.call("Page.printToPDF")["data"]) > 10000, "it does not print")
        # Narrower afterwards: plots follow their box.
        page.show(path.as_uri(), 1280)
        page.evaluate(HELPERS)
        page.call("Emulation.setDeviceMetricsOverride", width=390, height=900, deviceScaleFactor=1, mobile=False)
        page.evaluate("check.settle().then(check.settle)")
        check_fit(page, 390, "after narrowing")
        for complaint in page.complaints():
            expect(False, f"after narrowing: {complaint}")
    finally:
        page.close()


def write_large(folder):
    """1000 shapes x 600 configs, in a recording's format, with finals of one config a shape."""
    random.seed(1)
    sizes = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384)
    shapes = [(m, n, k) for m in sizes for n in sizes for k in sizes]
    configs = [f"sm90_ws:w{w}.m{m}.n{n}.s{s}.g{g}" for w in (1, 2) for m in (64, 128, 192, 256)
               for n in range(16, 256, 16) for s in (3, 5) for g in (1, 2, 4)][:600]
    path = folder / "large.csv"
    run = "20260101T000000.000Z-0001-tune"
    with open(path, "w") as file:
        file.write("m,n,k,batch,type,acc,layout,kind,config,status,setting,cache,stage,run,median_us,low_us,high_us,ratio,ratio_low,ratio_high,repeats_us,compile_s\n")
        for m, n, k in shapes:
            head = f"{m},{n},{k},1,f16,f32,tn"
            base = 2 + m * n * k / 4e8
            row = lambda kind, config, setting, stage, ratio: file.write(  # noqa: E731
                f"{head},{kind},{config},ok,{setting},cold,{stage},{run},{base / ratio:.5g},{base / ratio:.5g},{base / ratio:.5g},{ratio:.5g},{ratio - 0.001:.5g},{ratio + 0.001:.5g},,0\n")
            row("lt_tuned", "cublaslt:a66.t23.s35.g3", "chained", "final", 1)
            row("kernel", configs[0], "chained", "final", 1.0371)
            row("kernel", configs[0], "foreign", "final", 1.0213)
            for config in configs:
                row("kernel", config, "chained", "screen", random.uniform(0.5, 1.2))
                row("kernel", config, "foreign", "screen", random.uniform(0.5, 1.2))
    sidecar = RECORDING.with_name(RECORDING.name.replace(".csv.zst", ".json"))
    path.with_suffix(".json").write_text(json.dumps({"device": json.loads(sidecar.read_text())["device"], "runs": {}}))
    return path


def main():
    arguments = sys.argv[1:]
    large = "--large" in arguments
    value = lambda flag: arguments[arguments.index(flag) + 1] if flag in arguments else None  # noqa: E731
    screenshots = value("--screenshots") and pathlib.Path(value("--screenshots"))
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        recording = write_large(folder) if large else pathlib.Path(value("--recording") or RECORDING).absolute()
        page = folder / "report.html"
        program = os.path.abspath(arguments[0])
        subprocess.run([program, "report", "--recording", recording if large else os.path.relpath(recording, ROOT),
                        "--html", page, "--curves", os.path.relpath(CURVES, ROOT)], check=True, cwd=ROOT)
        try:
            check_page(page, screenshots, large)
        except Unavailable as error:
            print(f"unavailable: {error}")
            return UNAVAILABLE
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
