// What every page uses: elements (text is always set as text, never as markup), figures, axes, the theme, the tip.
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;

function element(space, tag, attributes, children) {
  const made = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" && !space) made.value = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}
const h = (tag, attributes, ...children) => element(null, tag, attributes, children);
const s = (tag, attributes, ...children) => element("http://www.w3.org/2000/svg", tag, attributes, children);

// -- figures ------------------------------------------------------------------------------------------------------

const NOT_FINITE = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const number = (value) => (typeof value === "string" ? NOT_FINITE[value] : value === null ? NaN : value);
const whole = (value) => Math.round(value).toLocaleString("en-US");
const amount = (value) => (value < 1e9 ? whole(value) : `${figure(value / 1e9)} billion`);
const plural = (count, word, words) => `${whole(count)} ${count === 1 ? word : words || word + "s"}`;

function figure(value) {
  const v = number(value);
  if (v === undefined || Number.isNaN(v)) return "nan";
  if (!Number.isFinite(v)) return v > 0 ? "inf" : "-inf";
  const size = Math.abs(v);
  if (Number.isInteger(v) && size < 1e7) return v.toLocaleString("en-US");
  if (size >= 1e7 || (size > 0 && size < 1e-3)) return v.toExponential(2).replace("e+", "e");
  return Number(v.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 7 });
}

function bytes(value) {
  let v = value;
  for (const unit of ["bytes", "KB", "MB", "GB"]) {
    if (v < 1000 || unit === "GB") return unit === "bytes" ? `${whole(v)} bytes` : `${v.toFixed(1)} ${unit}`;
    v /= 1000;
  }
}

function seconds(value) {
  if (value === 0) return "0 s";
  if (value < 1e-3) return `${(value * 1e6).toFixed(value < 1e-5 ? 1 : 0)} µs`;
  if (value < 1) return `${Number((value * 1e3).toPrecision(3))} ms`;
  if (value < 120) return `${Number(value.toPrecision(3))} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 120) return `${minutes} min ${Math.round(value - 60 * minutes)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) found.push(Number((n * step).toPrecision(12)));
  return found;
}

// -- the tip that follows the pointer and the keyboard's focus ------------------------------------------------------

const tip = h("div", { id: "tip", role: "status" });
function showTip(text, x, y) {
  tip.textContent = text;
  tip.className = "on";
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(6, y - box.height - 10) : y + 18}px`;
}
const hideTip = () => { tip.className = ""; };
function tipped(node, text) {
  const say = typeof text === "function" ? text : () => text;
  node.addEventListener("mousemove", (event) => showTip(say(event), event.clientX, event.clientY));
  node.addEventListener("mouseleave", hideTip);
  node.addEventListener("focus", () => { const box = node.getBoundingClientRect(); showTip(say(null), box.left, box.bottom); });
  node.addEventListener("blur", hideTip);
  return node;
}

// -- the frame of a page ---------------------------------------------------------------------------------------------

function setTheme(name) { root.dataset.theme = name; }
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const themeWatchers = [];
function toggleTheme() {
  setTheme(root.dataset.theme === "dark" ? "light" : "dark");
  themeWatchers.forEach((watch) => watch());
}
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

function tile(value, label, kind) {
  return h("div", { class: `tile ${kind || ""}` }, h("b", {}, value), h("span", {}, label));
}

function section(title, hint, ...children) {
  return h("section", {}, h("h2", {}, title), hint && h("p", { class: "hint" }, hint), ...children);
}

function build(kicker, title, ...parts) {
  const theme = h("button", { class: "quiet noprint", onclick: toggleTheme, title: "light or dark (t)", "aria-label": "light or dark" }, "◐");
  document.getElementById("page").replaceChildren(
    h("header", { class: "top" }, h("div", {}, h("div", { class: "kicker" }, kicker), h("h1", {}, title)), theme),
    ...parts.filter(Boolean),
    h("footer", {}, `Made by fluidio ${data.fluidio} on ${data.made}. This page holds its data and loads nothing.`),
  );
  document.body.append(tip);
  document.body.dataset.ready = "yes";
}

// Keys work everywhere but in fields; a page adds its own.
const keys = { t: toggleTheme };
document.addEventListener("keydown", (event) => {
  const inField = event.target.closest && event.target.closest("input, select, textarea");
  if (event.key === "Escape") { hideTip(); if (inField) { event.target.blur(); return; } }
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = keys[event.key];
  if (action) { event.preventDefault(); action(event); }
});

// -- a histogram -------------------------------------------------------------------------------------------------------

function histogram(counts, low, high, label, isWhole) {
  const width = 320, height = 84, base = 64, most = Math.max(...counts, 1);
  const each = width / counts.length;
  const bars = counts.map((count, n) => {
    const tall = count ? Math.max(1.5, (count / most) * (base - 4)) : 0;
    const from = low + ((high - low) * n) / counts.length, to = low + ((high - low) * (n + 1)) / counts.length;
    return tipped(
      s("g", {}, s("rect", { x: n * each, y: 0, width: each, height: base, fill: "transparent" }),
        s("rect", { x: n * each + 0.5, y: base - tall, width: Math.max(0.8, each - 1), height: tall, fill: "var(--c0)" })),
      isWhole ? `${figure(low + n)}: ${whole(count)} ${label}` : `${whole(count)} ${label}\nfrom ${figure(from)} to ${figure(to)}`);
  });
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `distribution of ${label} from ${figure(low)} to ${figure(high)}` },
    ...bars, s("line", { class: "axis", x1: 0, x2: width, y1: base, y2: base }),
    s("text", { x: 0, y: height - 4 }, figure(low)),
    s("text", { x: width, y: height - 4, "text-anchor": "end" }, figure(high)));
}
