// The program page: a layered graph, forward going down, backward beside it going up, updates at the right.
const WIDE = 196, TALL = 44, ROW = 90, GAP = 26, TOP = 64, SIDE = 30;
const COLUMNS = { reader: 0, forward: 0, backward: 1, update: 2 };
const NAMES = ["forward", "backward", "update"];
let program, expanded, nodes, edges, byKey, chosen = null, zoom = 1, hits = new Set(), shown = { backward: true, update: true };

const variable = (number) => { const [name, kind, shape, dtype, level] = program.vars[number]; return { name, kind, shape, dtype, level }; };
const dims = (shape) => (shape.length ? shape.map((dim) => (dim < 0 ? "?" : dim)).join("×") : "scalar");
const typed = (v) => (v.shape ? `${v.dtype} ${dims(v.shape)}${v.level ? `, LoD ${v.level}` : ""}` : v.kind === "reader" ? "reader" : v.dtype);
const values = (shape) => shape.reduce((product, dim) => product * Math.max(0, dim), 1);

// -- which nodes there are: ops, or the groups that stand for them ----------------------------------------------------------

function groupsOf(op) {
  const column = COLUMNS[op.role];
  return op.path.map((_, n) => `${column}/${op.path.slice(0, n + 1).join("/")}`);
}

function countGroups() {
  program.groupSizes = new Map();
  program.ops.forEach((op) => { op.groups = groupsOf(op); op.groups.forEach((key) => program.groupSizes.set(key, (program.groupSizes.get(key) || 0) + 1)); });
}

function visibleKey(op, number) {
  const closed = op.groups.find((key) => program.groupSizes.get(key) > 1 && !expanded.has(key));
  return closed || `op ${number}`;
}

function collect() {
  byKey = new Map();
  program.ops.forEach((op, number) => {
    if (op.role !== "reader" && op.role !== "forward" && !shown[op.role]) { op.node = null; return; }
    const key = visibleKey(op, number);
    let node = byKey.get(key);
    if (!node) {
      node = { key, first: number, ops: [], column: COLUMNS[op.role], role: op.role, before: new Set(), after: new Set(), group: !key.startsWith("op ") };
      byKey.set(key, node);
    }
    node.ops.push(number);
    op.node = node;
  });
  nodes = [...byKey.values()];
  const writers = new Map(), seen = new Map();
  edges = [];
  program.ops.forEach((op) => {
    for (const v of op.in) {
      const from = writers.get(v);
      if (from && op.node && from !== op.node) {
        const name = `${from.key}>${op.node.key}`, known = seen.get(name);
        if (known) known.vars.add(v);
        else { const edge = { from, to: op.node, vars: new Set([v]) }; seen.set(name, edge); edges.push(edge); }
      }
    }
    if (op.node) for (const v of op.out) writers.set(v, op.node);
  });
  for (const edge of edges) if (edge.from.first < edge.to.first) { edge.to.before.add(edge.from); edge.from.after.add(edge.to); }
  for (const node of nodes) {
    const weights = new Set();
    node.made = new Set();
    node.seconds = 0;
    for (const number of node.ops) {
      const op = program.ops[number];
      node.seconds += op.seconds || 0;
      if (node.column === 0) for (const v of op.in) if (program.vars[v][1] === "parameter") weights.add(v);
    }
    node.weights = [...weights];
    node.parameters = node.weights.reduce((sum, v) => sum + values(program.vars[v][2] || []), 0);
  }
  for (const edge of edges) if (edge.from.column === edge.to.column) edge.vars.forEach((v) => edge.from.made.add(v));
}

// -- where they are -------------------------------------------------------------------------------------------------------

// A level of the forward part takes as many rows as the backward part needs beside it, so that the two stay side by side.
function ranks() {
  const ofPath = new Map(), forward = nodes.filter((each) => each.column === 0), backward = nodes.filter((each) => each.column === 1);
  for (const node of forward) {
    node.level = 0;
    for (const from of node.before) if (from.column === 0) node.level = Math.max(node.level, from.level + 1);
  }
  for (const node of forward) {
    const after = [...node.after].filter((each) => each.column === 0);
    if (![...node.before].some((each) => each.column === 0) && after.length) node.level = Math.max(node.level, Math.min(...after.map((each) => each.level)) - 1);
    for (const number of node.ops) { const path = program.ops[number].path.join("/"); if (path) ofPath.set(path, Math.max(ofPath.get(path) ?? 0, node.level)); }
  }
  const bottom = forward.reduce((most, each) => Math.max(most, each.level), 0), rows = new Array(bottom + 1).fill(1);
  for (const node of backward) {
    const before = [...node.before].filter((each) => each.column === 1);
    const ceiling = before.reduce((least, each) => Math.min(least, each.level), bottom);
    const wanted = node.ops.reduce((most, number) => Math.max(most, ofPath.get(program.ops[number].path.join("/")) ?? -1), -1);
    node.level = wanted < 0 ? ceiling : Math.min(wanted, ceiling);
    node.depth = before.reduce((most, each) => (each.level === node.level ? Math.max(most, each.depth + 1) : most), 0);
    rows[node.level] = Math.max(rows[node.level], node.depth + 1);
  }
  const starts = [0];
  rows.forEach((count, level) => starts.push(starts[level] + count));
  for (const node of forward) node.rank = starts[node.level] + rows[node.level] - 1;
  for (const node of backward) node.rank = starts[node.level] + rows[node.level] - 1 - node.depth;
  const taken = new Set();
  for (const node of nodes.filter((each) => each.column === 2)) {
    let rank = [...node.before].reduce((most, each) => (each.column === 1 ? Math.max(most, each.rank) : each.column === 2 ? Math.max(most, each.rank + 1) : most), 0);
    while (taken.has(rank)) rank += 1;
    taken.add(rank);
    node.rank = rank;
  }
}

function place() {
  const rows = new Map();
  for (const node of nodes) {
    const key = `${node.column} ${node.rank}`;
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(node);
  }
  const widest = [0, 0, 0];
  for (const row of rows.values()) widest[row[0].column] = Math.max(widest[row[0].column], row.length);
  const lefts = [], widths = widest.map((count) => (count ? count * (WIDE + GAP) - GAP : 0));
  let x = SIDE;
  widths.forEach((width, column) => { lefts[column] = x; x += width ? width + 92 : 0; });
  const total = x - 50;
  const ordered = [...rows.values()].sort((a, b) => a[0].rank - b[0].rank);
  for (const row of ordered) {
    const column = row[0].column, middle = lefts[column] + widths[column] / 2;
    const centre = (node) => { const xs = [...node.before].filter((each) => each.column === column && each.x !== undefined).map((each) => each.x); return xs.length ? xs.reduce((a, b) => a + b, 0) / xs.length : middle; };
    row.forEach((node) => { node.pull = centre(node); });
    row.sort((a, b) => a.pull - b.pull || a.first - b.first);
    row.forEach((node, n) => { node.x = middle + (n - (row.length - 1) / 2) * (WIDE + GAP); node.y = TOP + node.rank * ROW; });
  }
  return { width: Math.max(total, 320), height: TOP + (nodes.reduce((most, node) => Math.max(most, node.rank), 0) + 1) * ROW, lefts, widths };
}

function curve({ from, to }) {
  if (from.column === to.column) {
    const up = to.y < from.y, y1 = up ? from.y : from.y + TALL, y2 = up ? to.y + TALL : to.y, span = Math.abs(to.rank - from.rank);
    if (span <= 1) { const bend = (y2 - y1) / 2; return `M${from.x} ${y1}C${from.x} ${y1 + bend} ${to.x} ${y2 - bend} ${to.x} ${y2}`; }
    const out = Math.min(78, 16 + 5 * span), x1 = from.x + WIDE / 2, x2 = to.x + WIDE / 2, far = Math.max(x1, x2) + out;
    return `M${x1} ${from.y + TALL / 2}C${far} ${from.y + TALL / 2} ${far} ${to.y + TALL / 2} ${x2} ${to.y + TALL / 2}`;
  }
  const right = to.x > from.x, x1 = from.x + (right ? WIDE / 2 : -WIDE / 2), x2 = to.x + (right ? -WIDE / 2 : WIDE / 2), bend = (x2 - x1) / 2;
  return `M${x1} ${from.y + TALL / 2}C${x1 + bend} ${from.y + TALL / 2} ${x2 - bend} ${to.y + TALL / 2} ${x2} ${to.y + TALL / 2}`;
}

// -- drawing what is in the window ----------------------------------------------------------------------------------------

const view = h("div", { class: "view", tabindex: 0, role: "application", "aria-label": "graph of the program; arrow keys move, Enter opens and closes" });
const mini = h("canvas", { class: "mini noprint", "aria-hidden": "true" });
const detail = h("aside", { class: "panel detail", "aria-live": "polite" });
let size, longest;

function cut(text, most) { return text.length > most ? `${text.slice(0, most - 1)}…` : text; }

function labels(node) {
  const ops = node.ops.map((number) => program.ops[number]);
  if (!node.group) {
    const out = ops[0].out.length ? variable(ops[0].out[0]).name : "";
    return ops[0].type === "data" ? [out, "fed"] : [ops[0].type, out];
  }
  const kinds = [...new Set(ops.map((op) => op.type))];
  return [node.key.slice(2), `${ops.length} ops: ${kinds.join(", ")}`];
}

function drawNode(node) {
  const [name, kind] = labels(node), x = node.x - WIDE / 2;
  const heat = program.timed && longest ? node.seconds / longest : 0;
  const made = [...node.made];
  const told = made.length ? typed(variable(made[0])) + (made.length > 1 ? ` + ${made.length - 1}` : "") : "";
  const parts = [
    node.group && s("rect", { class: "back", x: x + 4, y: node.y + 4, width: WIDE, height: TALL, rx: 7 }),
    s("rect", { class: "box", x, y: node.y, width: WIDE, height: TALL, rx: 7 }),
    s("rect", { x, y: node.y + 6, width: 4, height: TALL - 12, rx: 2, fill: `var(--${node.role})` }),
    s("text", { class: "name", x: x + 14, y: node.y + 19 }, cut((node.group ? "▸ " : "") + name, 22)),
    s("text", { class: "kind", x: x + 14, y: node.y + 35 }, cut(kind, 27)),
    heat > 0 && s("rect", { x: x + 4, y: node.y + TALL - 4, width: Math.max(1, heat * (WIDE - 8)), height: 3, fill: "var(--c1)" }),
    node.parameters > 0 && s("text", { class: "parameters", x: x + 2, y: node.y - 6 }, `${whole(node.parameters)} parameters`),
    told && node.column === 0 && s("text", { class: "shape", x: node.x + 8, y: node.y + TALL + 16 }, cut(told, 22)),
  ];
  const marks = `node${node.group ? " group" : ""}${chosen === node.key ? " chosen" : ""}${node.ops.some((n) => hits.has(n)) ? " hit" : ""}`;
  return s("g", { class: marks, "data-key": node.key, "data-role": node.role, onclick: () => choose(node), ondblclick: () => toggle(node) }, ...parts.filter(Boolean));
}

function draw(everything) {
  const box = everything ? { top: -1e9, bottom: 1e9, left: -1e9, right: 1e9 }
    : { top: view.scrollTop / zoom - 300, bottom: (view.scrollTop + view.clientHeight) / zoom + 300, left: view.scrollLeft / zoom - 400, right: (view.scrollLeft + view.clientWidth) / zoom + 400 };
  const inside = (node) => node.y + ROW > box.top && node.y < box.bottom && node.x + WIDE > box.left && node.x - WIDE < box.right;
  const crosses = (edge) => Math.min(edge.from.y, edge.to.y) < box.bottom && Math.max(edge.from.y, edge.to.y) + TALL > box.top;
  const lines = [], lit = [];
  for (const edge of edges) {
    const bright = chosen !== null && (edge.from.key === chosen || edge.to.key === chosen);
    const far = edge.from.column !== edge.to.column || Math.abs(edge.from.rank - edge.to.rank) > 8;
    const hidden = edge.from.column !== edge.to.column && Math.abs(edge.from.rank - edge.to.rank) > 2;
    if (!crosses(edge) || (hidden && !bright)) continue;
    (bright ? lit : lines).push(s("path", { class: `edge${far ? " far" : ""}${bright ? " lit" : ""}`, d: curve(edge), "marker-end": "url(#arrow)" }));
  }
  const titles = NAMES.map((name, n) => size.widths[n] ? s("text", { class: "column", x: size.lefts[n], y: 30, style: `fill:var(--${name})` }, name) : null);
  const arrow = s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" })));
  if (!nodes.length) { view.replaceChildren(h("p", { class: "empty" }, program.ops.length ? "Everything is hidden." : "This program has no ops.")); return; }
  view.replaceChildren(s("svg", { class: "draw", width: size.width * zoom, height: size.height * zoom, viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": `${nodes.length} nodes` },
    arrow, ...titles.filter(Boolean), ...lines, ...lit, ...nodes.filter(inside).map(drawNode)));
}

function drawMini() {
  const tall = Math.min(320, Math.max(60, view.clientHeight - 24)), wide = 74;
  mini.style.display = size.height * zoom > view.clientHeight * 1.3 ? "" : "none";
  mini.width = wide * 2; mini.height = tall * 2; mini.style.height = `${tall}px`;
  const context = mini.getContext("2d"), sx = mini.width / size.width, sy = mini.height / size.height;
  for (const node of nodes) { context.fillStyle = colour(`--${node.role}`); context.fillRect((node.x - WIDE / 2) * sx, node.y * sy, Math.max(2, WIDE * sx), Math.max(1, Math.min(6, TALL * sy))); }
  context.strokeStyle = colour("--text"); context.lineWidth = 2;
  context.strokeRect((view.scrollLeft / zoom) * sx, (view.scrollTop / zoom) * sy, Math.min(mini.width, (view.clientWidth / zoom) * sx), (view.clientHeight / zoom) * sy);
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(false); drawMini(); });
}
view.addEventListener("scroll", redraw);
themeWatchers.push(redraw);
addEventListener("resize", redraw);
addEventListener("beforeprint", () => draw(nodes.length <= 1500));
addEventListener("afterprint", () => draw(false));
function miniGo(event) {
  const box = mini.getBoundingClientRect();
  view.scrollTop = ((event.clientY - box.top) / box.height) * size.height * zoom - view.clientHeight / 2;
  view.scrollLeft = ((event.clientX - box.left) / box.width) * size.width * zoom - view.clientWidth / 2;
}
mini.addEventListener("mousedown", (event) => { miniGo(event); event.preventDefault(); });
mini.addEventListener("mousemove", (event) => { if (event.buttons) miniGo(event); });

function arrange() {
  collect();
  ranks();
  size = place();
  longest = nodes.reduce((most, node) => Math.max(most, node.seconds), 0);
  draw(false);
  drawMini();
}

// -- choosing, opening, closing -------------------------------------------------------------------------------------------

function reveal(node) {
  const x = node.x * zoom, y = node.y * zoom;
  if (y < view.scrollTop + 20 || y + TALL * zoom > view.scrollTop + view.clientHeight - 20) view.scrollTop = y - view.clientHeight / 2;
  if (x - (WIDE / 2) * zoom < view.scrollLeft || x + (WIDE / 2) * zoom > view.scrollLeft + view.clientWidth) view.scrollLeft = x - view.clientWidth / 2;
}

function choose(node) {
  chosen = node.key;
  reveal(node);
  tell(node);
  draw(false);
}

function toggle(node) {
  if (node.group) expanded.add(node.key);
  else {
    const op = program.ops[node.ops[0]], open = op.groups.filter((key) => expanded.has(key));
    if (!open.length) return;
    expanded.delete(open[open.length - 1]);
  }
  const first = node.first;
  arrange();
  choose(program.ops[first].node);
}

function openAll() {
  for (const [key, count] of program.groupSizes) if (count > 1) expanded.add(key);
  chosen = null;
  arrange();
}
function closeAll() { expanded = new Set(); chosen = null; arrange(); }

function listed(numbers) {
  return h("ul", {}, numbers.slice(0, 40).map((v) => { const found = variable(v); return h("li", {}, h("span", { class: "mono" }, found.name), " ", h("span", { class: "soft" }, typed(found), found.kind === "value" ? "" : ` · ${found.kind}`)); }), numbers.length > 40 && h("li", { class: "soft" }, `and ${numbers.length - 40} more`));
}

function siteOf(op) {
  if (op.site === undefined) return null;
  const [file, line, inside, text] = program.sites[op.site];
  return [h("dt", {}, "built by"), h("dd", { "data-site": "" }, `${file}:${line}`, inside === "<module>" ? "" : `, in ${inside}`, text && h("code", {}, text))];
}

function tell(node) {
  const ops = node.ops.map((number) => program.ops[number]), [name, kind] = labels(node);
  const made = new Set(ops.flatMap((op) => op.out)), used = [...new Set(ops.flatMap((op) => op.in))].filter((v) => !made.has(v) || !node.group);
  const attrs = node.group ? [] : Object.entries(ops[0].attrs), sites = node.group ? ops.find((op) => op.site !== undefined) : ops[0];
  const total = program.ops.reduce((sum, op) => sum + (op.seconds || 0), 0), can = node.group || ops[0].groups.some((key) => expanded.has(key));
  detail.replaceChildren(...[
    h("h3", {}, name), h("div", { class: "soft" }, kind),
    can && h("p", { class: "noprint", style: "margin-top:8px" }, h("button", { onclick: () => toggle(node) }, node.group ? "open" : "close its group")),
    h("dl", {}, h("dt", {}, "part"), h("dd", {}, h("span", { class: "dot", style: `background:var(--${node.role})` }), node.role, ops[0].path.length ? ` · ${ops[0].path.join(" / ")}` : ""),
      node.seconds > 0 && [h("dt", {}, "time"), h("dd", {}, `${seconds(node.seconds)}, ${percent(node.seconds / total)} of all ops`, node.group ? "" : `, ${plural(ops[0].runs, "run")}`)],
      node.parameters > 0 && [h("dt", {}, "parameters"), h("dd", {}, `${whole(node.parameters)} values in ${plural(node.weights.length, "tensor")}`)],
      sites && siteOf(sites),
      h("dt", {}, "inputs"), h("dd", {}, used.length ? listed(used) : "none"),
      h("dt", {}, "outputs"), h("dd", {}, made.size ? listed([...made]) : "none"),
      attrs.length > 0 && [h("dt", {}, "attributes"), h("dd", {}, h("ul", {}, attrs.map(([key, value]) => h("li", {}, key, " = ", h("span", { class: "mono" }, value)))))]),
  ].filter(Boolean));
}

function move(dx, dy) {
  const here = byKey.get(chosen);
  if (!here) { if (nodes.length) choose(nodes[0]); return; }
  let best = null, least = Infinity;
  for (const node of nodes) {
    const ax = node.x - here.x, ay = node.y - here.y, along = ax * dx + ay * dy, aside = Math.abs(ax * dy) + Math.abs(ay * dx);
    if (node === here || along <= 1) continue;
    const cost = along + 2 * aside + (node.column === here.column || dx ? 0 : 4000);
    if (cost < least) { least = cost; best = node; }
  }
  if (best) choose(best);
}
view.addEventListener("keydown", (event) => {
  const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
  if (step) { event.preventDefault(); move(...step); }
  if ((event.key === "Enter" || event.key === " ") && byKey.get(chosen)) { event.preventDefault(); toggle(byKey.get(chosen)); }
});

// -- search -----------------------------------------------------------------------------------------------------------------

const results = h("ul", { role: "listbox", hidden: true });
const field = h("input", { type: "search", placeholder: "search ops, variables, lines", "aria-label": "search", oninput: () => search(field.value) });
let found = [], at = 0;
function search(text) {
  const needle = text.trim().toLowerCase();
  found = needle ? program.ops.map((_, n) => n).filter((n) => program.ops[n].words.includes(needle)) : [];
  hits = new Set(found);
  at = 0;
  fillResults();
  draw(false);
}
function fillResults() {
  results.hidden = !field.value.trim() || document.activeElement !== field;
  const some = found.slice(0, 60);
  results.replaceChildren(...some.map((n, row) => {
    const op = program.ops[n];
    return h("li", { role: "option", "aria-selected": String(row === at), onmousedown: (event) => { event.preventDefault(); goTo(n); } }, op.type, " ", h("span", {}, op.out.length ? variable(op.out[0]).name : "", ` · ${op.role}`));
  }), h("li", { class: "soft" }, found.length ? (found.length > 60 ? `and ${found.length - 60} more` : `${plural(found.length, "op")}`) : "nothing"));
  const lit = results.children[at];
  if (lit) lit.scrollIntoView({ block: "nearest" });
}
function goTo(number) {
  const op = program.ops[number];
  if (shown[op.role] === false) shown[op.role] = true;
  op.groups.forEach((key) => { if (program.groupSizes.get(key) > 1) expanded.add(key); });
  arrange();
  choose(program.ops[number].node);
  results.hidden = true;
  view.focus();
}
field.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); at = Math.max(0, Math.min(Math.min(found.length, 60) - 1, at + (event.key === "ArrowDown" ? 1 : -1))); fillResults(); }
  if (event.key === "Enter" && found.length) { event.preventDefault(); goTo(found[at]); }
});
field.addEventListener("blur", () => { results.hidden = true; });
field.addEventListener("focus", fillResults);

// -- the page ---------------------------------------------------------------------------------------------------------------

function zoomBy(factor) {
  const middle = (view.scrollTop + view.clientHeight / 2) / zoom;
  zoom = Math.max(0.15, Math.min(2, zoom * factor));
  draw(false);
  view.scrollTop = middle * zoom - view.clientHeight / 2;
  drawMini();
}

function tables() {
  const kinds = new Map(), weights = [];
  for (const op of program.ops) {
    const row = kinds.get(op.type) || { type: op.type, role: op.role, count: 0, seconds: 0 };
    row.count += 1; row.seconds += op.seconds || 0;
    kinds.set(op.type, row);
  }
  const rows = [...kinds.values()].sort((a, b) => b.seconds - a.seconds || b.count - a.count), all = rows.reduce((sum, row) => sum + row.seconds, 0);
  program.vars.forEach((v) => { if (v[1] === "parameter") weights.push(v); });
  weights.sort((a, b) => values(b[2]) - values(a[2]));
  return h("div", { class: "two" },
    h("div", { class: "panel" }, h("table", { class: "kinds" }, h("thead", {}, h("tr", {}, h("th", {}, "op"), h("th", { class: "num" }, "ops"), program.timed && h("th", { class: "num" }, "time"), program.timed && h("th", {}, "share"))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, h("span", { class: "dot", style: `background:var(--${row.role})` }), row.type), h("td", { class: "num" }, whole(row.count)), program.timed && h("td", { class: "num" }, seconds(row.seconds)), program.timed && h("td", {}, h("span", { class: "share", style: `width:${all ? (110 * row.seconds) / all : 0}px` }), percent(all ? row.seconds / all : 0))))))),
    weights.length > 0 && h("div", { class: "panel" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "parameter"), h("th", {}, "shape"), h("th", { class: "num" }, "values"))),
      h("tbody", {}, weights.slice(0, 400).map((v) => h("tr", {}, h("td", { class: "mono" }, v[0]), h("td", { class: "mono" }, `${v[3]} ${dims(v[2])}`), h("td", { class: "num" }, whole(values(v[2]))))), weights.length > 400 && h("tr", {}, h("td", { colspan: 3, class: "soft" }, `and ${weights.length - 400} more`))))));
}

function tilesOf() {
  const count = (role) => program.ops.filter((op) => op.role === role).length, time = program.ops.reduce((sum, op) => sum + (op.seconds || 0), 0);
  return h("div", { class: "tiles" }, tile(whole(program.ops.filter((op) => op.type !== "data").length), "ops"), tile(amount(program.parameter_values), `parameter values in ${plural(program.parameters, "tensor")}`),
    tile(whole(count("forward")), "forward"), tile(whole(count("backward")), "backward"), tile(whole(count("update")), "update"), program.timed && tile(seconds(time), "in ops, by the profile"), program.blocks > 1 && tile(whole(program.blocks), "blocks"));
}

const head = h("div", {}), below = h("div", {});
function select(number) {
  program = data.programs[number];
  if (!program.groupSizes) {
    countGroups();
    program.ops.forEach((op) => { op.words = [op.type, ...op.path, ...op.out.map((v) => program.vars[v][0]), ...op.in.map((v) => program.vars[v][0]), op.site === undefined ? "" : `${program.sites[op.site][0]}:${program.sites[op.site][1]}`].join(" ").toLowerCase(); });
  }
  expanded = new Set(); chosen = null; hits = new Set(); field.value = "";
  tabs.querySelectorAll("button").forEach((button, n) => button.setAttribute("aria-pressed", String(n === number)));
  head.replaceChildren(tilesOf());
  below.replaceChildren(tables());
  detail.replaceChildren(h("p", { class: "soft", style: "margin:0" }, "Choose an op to see its variables, attributes and the line that built it."));
  zoom = 1;
  arrange();
  zoom = Math.max(0.72, Math.min(1, view.clientWidth / size.width));
  draw(false);
  view.scrollTo(0, 0);
}

const tabs = h("div", { class: "bar", style: data.programs.length > 1 ? "margin:0" : "display:none" }, data.programs.length > 1 && data.programs.map((each, n) => h("button", { onclick: () => select(n) }, each.name)));
const side = (role) => h("button", { "aria-pressed": "true", onclick: (event) => { shown[role] = !shown[role]; event.target.setAttribute("aria-pressed", String(shown[role])); arrange(); } }, role);
keys["/"] = () => field.focus();
keys["+"] = () => zoomBy(1.25);
keys["-"] = () => zoomBy(0.8);
keys.e = openAll;
keys.c = closeAll;

build("fluidio program", data.title, head,
  section("Graph", null,
    h("div", { class: "bar noprint" }, tabs, h("div", { class: "results" }, field, results), h("span", { class: "grow" }), side("backward"), side("update"), h("button", { onclick: openAll }, "open all"), h("button", { onclick: closeAll }, "close all"),
      h("button", { onclick: () => zoomBy(0.8), "aria-label": "smaller" }, "−"), h("button", { onclick: () => zoomBy(1.25), "aria-label": "larger" }, "+")),
    h("div", { class: "work" }, h("div", { class: "graph" }, view, mini), detail),
    h("p", { class: "hint noprint", style: "margin-top:10px" }, h("kbd", {}, "/"), " search \u2003", h("kbd", {}, "arrows"), " move \u2003", h("kbd", {}, "Enter"), " open or close \u2003", h("kbd", {}, "e"), " ", h("kbd", {}, "c"), " open or close all \u2003", h("kbd", {}, "+"), " ", h("kbd", {}, "−"), " zoom")),
  section("Ops and parameters", null, below));
select(0);
