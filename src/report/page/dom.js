// dom.js: elements, numbers as people read them, and the tooltip. Text is set as text, never as
// markup: config names and commands come from files.
function add(parent, tag, attributes, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
  return element;
}
const section = (id) => document.getElementById(id);

const digits3 = d3.format(".3f");
const ratio = (x) => (x === null || x === undefined ? "\u2013" : digits3(x));
const microseconds = (x) => (x === null ? "\u2013" : x < 100 ? d3.format(".2f")(x) : d3.format(",.0f")(x));
const bytes = (mib) => (mib < 1 ? d3.format(".0f")(mib * 1024) + " KiB" : d3.format(",.1f")(mib) + " MiB");

function legend(parent, items) {
  const box = add(parent, "div", { class: "legend" });
  for (const [tone, words, shape] of items) {
    const item = add(box, "span", { class: tone });
    add(item, "i", { class: shape || "" });
    item.appendChild(document.createTextNode(words));
  }
}

function choice(parent, words, options, change) {
  const box = add(parent, "label", {}, words);
  const select = add(box, "select");
  for (const [value, text] of options) add(select, "option", { value }, text);
  select.addEventListener("change", () => change(select.value));
  return select;
}

function buttons(parent, words, options, chosen, change) {
  const group = add(parent, "span", { class: "group", role: "group", "aria-label": words });
  for (const [value, text] of options) {
    const button = add(group, "button", { type: "button", "aria-pressed": value === chosen }, text);
    button.addEventListener("click", () => {
      for (const other of group.children) other.setAttribute("aria-pressed", other === button);
      change(value);
    });
  }
}

const tip = add(document.body, "div", { class: "tip", hidden: "" });
function explain(marks, words) {
  const place = () => {
    const event = d3.event;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
    const y = event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 10 : event.clientY + 18;
    tip.style.left = Math.max(8, x) + "px";
    tip.style.top = y + "px";
  };
  marks.on("mouseenter", (d) => { tip.textContent = words(d); tip.hidden = false; place(); })
    .on("mousemove", place)
    .on("mouseleave", () => { tip.hidden = true; });
}

function describeShape(i) {
  return `${label(i)}\ntuned cuBLASLt ${microseconds(columns.lt_us[i])} \u00b5s` +
    `\nour kernels ${ratio(columns.raw[i])}, between foreign kernels ${ratio(columns.raw_foreign[i])}` +
    `\nserved ${ratio(columns.served[i])}, between foreign kernels ${ratio(columns.served_foreign[i])}`;
}
