// table.js: tables that sort by any column and are narrowed by words, by comparisons such as
// "served<0.99", and by menus. Only the rows that are shown exist as elements.
//
// A column: {name, key (for comparisons), value(row), text(value), figure, css}.
const kFewRows = window.innerWidth < 600 ? 10 : 25;

function sortableTable(parent, options) {
  const state = { column: options.sort, down: options.down !== false, words: "", all: false };
  const controls = add(parent, "div", { class: "controls" });
  const filterBox = add(controls, "label", {}, "Filter");
  const filter = add(filterBox, "input", {
    type: "search", placeholder: options.hint || "words, or raw<0.9", "aria-label": "Filter " + options.name, size: 26,
  });
  for (const menu of options.menus || []) choice(controls, menu.words, menu.options, (value) => { menu.value = value; show(); });
  const total = add(controls, "span", { class: "note", role: "status" });
  const scroll = add(parent, "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.name });
  const table = add(scroll, "table");
  const head = add(add(table, "thead"), "tr");
  const body = add(table, "tbody");
  const more = add(parent, "button", { type: "button", class: "more" });

  options.columns.forEach((column, place) => {
    const cell = add(head, "th", { scope: "col", class: column.figure ? "figure" : "" });
    const button = add(cell, "button", { type: "button" }, column.name);
    button.addEventListener("click", () => {
      state.down = state.column === place ? !state.down : Boolean(column.figure);
      state.column = place;
      show();
    });
  });

  // Every word must be found in the row's text; a comparison must hold for its figure.
  function matcher(words) {
    const tests = words.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
      const parts = word.match(/^([a-z_]+)(<=|>=|<|>|=)(-?[\d.]+)$/);
      const column = parts && options.columns.find((c) => c.key === parts[1]);
      if (!column) return (row) => rowText(row).includes(word);
      const bar = Number(parts[3]);
      const holds = { "<": (x) => x < bar, ">": (x) => x > bar, "<=": (x) => x <= bar, ">=": (x) => x >= bar, "=": (x) => x === bar }[parts[2]];
      return (row) => { const x = column.value(row); return x !== null && holds(x); };
    });
    return (row) => tests.every((test) => test(row));
  }
  const texts = new Map();
  function rowText(row) {
    if (!texts.has(row)) texts.set(row, options.columns.map((c) => String(c.value(row))).join(" ").toLowerCase());
    return texts.get(row);
  }

  function show() {
    const matches = matcher(state.words);
    const found = options.rows.filter((row) => matches(row) && (options.menus || []).every((menu) => !menu.value || menu.test(row, menu.value)));
    const value = options.columns[state.column].value;
    const sign = state.down ? -1 : 1;
    // What is not there comes last, whichever way is up.
    found.sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
    });
    [...head.children].forEach((cell, place) => {
      if (place === state.column) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    const shown = state.all ? found : found.slice(0, kFewRows);
    const rows = document.createDocumentFragment();
    for (const row of shown) {
      const line = add(rows, "tr", options.click ? { class: "link", tabindex: "0" } : {});
      for (const column of options.columns) {
        const x = column.value(row);
        const css = [column.figure ? "figure" : column.css || "", column.tone ? column.tone(x) : ""].join(" ").trim();
        add(line, "td", css ? { class: css } : {}, column.text ? column.text(x, row) : x === null ? "\u2013" : x);
      }
      if (!options.click) continue;
      line.addEventListener("click", () => options.click(row));
      line.addEventListener("keydown", (event) => { if (event.key === "Enter") options.click(row); });
    }
    body.replaceChildren(rows);
    total.textContent = found.length === options.rows.length ? `${found.length} ${options.name}` : `${found.length} of ${options.rows.length} ${options.name}`;
    more.hidden = found.length <= kFewRows;
    more.textContent = state.all ? `Show the first ${kFewRows}` : `Show all ${found.length}`;
  }
  filter.addEventListener("input", () => { state.words = filter.value; show(); });
  more.addEventListener("click", () => { state.all = !state.all; show(); });
  show();
}
const aboveOne = (x) => (x === null ? "" : x >= data.rules.least_gain ? "up" : x < data.rules.lost_below ? "down" : "");
