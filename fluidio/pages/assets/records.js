// The records page: files and their damage, columns, samples.
const totals = data.totals;

function tiles() {
  const names = Object.entries(totals.compressors).map(([name, count]) => `${whole(count)} ${name}`).join(", ");
  const content = Object.keys(totals.content).join(", ");
  const unpacked = totals.payload_bytes ? `${bytes(totals.payload_bytes)} unpacked` : "on disk";
  return h("div", { class: "tiles" },
    tile(whole(totals.records), totals.verified ? "records, all read" : "records, as the headers say"),
    tile(whole(totals.files), totals.files === 1 ? "file" : "files"),
    tile(bytes(totals.size), unpacked),
    tile(whole(totals.chunks), `${totals.chunks === 1 ? "chunk" : "chunks"}${names ? ` (${names})` : ""}`),
    tile(content || "nothing", `content, dialect ${totals.dialects.join(", ") || "unknown"}`),
    totals.damage
      ? tile(whole(totals.damage), `${totals.damage === 1 ? "place" : "places"} damaged in ${plural(totals.damaged_files, "file")}`, "bad")
      : tile("none", totals.verified ? "damage" : "damage seen in the headers", "good"));
}

// -- the map of the files ------------------------------------------------------------------------------------------

function strip(map, largest) {
  const width = 1000, long = Math.max(12, (map.size / largest) * width), each = long / Math.max(1, map.cells.length);
  const most = Math.max(...map.cells, 1);
  const cells = map.cells.map((count, n) => tipped(
    s("rect", { x: n * each, y: 0, width: Math.max(0.5, each - (each > 6 ? 1.5 : 0)), height: 18, fill: "var(--c0)", "fill-opacity": 0.25 + 0.6 * (count / most) }),
    `${plural(count, "record")} begin here\nbytes ${whole((n * map.size) / map.cells.length)} to ${whole(((n + 1) * map.size) / map.cells.length)}`));
  const damage = map.damage.map(([start, stop, kind, problem]) => {
    const x = (start / map.size) * long;
    return tipped(s("rect", { x: Math.min(x, long - 5), y: 0, width: Math.max(5, ((stop - start) / map.size) * long), height: 18, fill: "var(--bad)", tabindex: 0, "data-damage": kind }),
      `${kind} at byte ${whole(start)}, ${bytes(stop - start)}\n${problem}`);
  });
  const told = `${map.path}: ${map.damage.length} damaged`;
  return h("div", { class: "strip" },
    h("div", { class: "name mono", title: map.path }, map.path.split("/").pop()),
    s("svg", { viewBox: `0 0 ${width} 18`, preserveAspectRatio: "none", role: "img", "aria-label": told }, s("rect", { width: long, height: 18, fill: "var(--sunk)" }), ...cells, ...damage),
    h("div", { class: "num soft count" }, map.damage.length ? h("span", { class: "tag bad" }, `${map.damage.length} damaged`) : bytes(map.size)));
}

function filesSection() {
  const largest = Math.max(...data.maps.map((map) => map.size), 1);
  const left = totals.files - data.maps.length;
  const rows = data.files.map((file) => h("tr", {},
    h("td", { class: "mono" }, file.path), h("td", { class: "num" }, whole(file.records)), h("td", { class: "num" }, whole(file.chunks)),
    h("td", { class: "num" }, bytes(file.size)), h("td", {}, Object.keys(file.compressors).join(", ")), h("td", {}, file.content),
    h("td", {}, file.damage.length ? file.damage.slice(0, 20).map((each) => h("div", {}, h("span", { class: "tag bad" }, each.kind),
      each.chunk === null ? "" : `chunk ${each.chunk} at byte ${whole(each.offset || 0)}: `, each.problem)) : "none")));
  const table = h("div", { class: "scroll" }, h("table", { class: "files" },
    h("thead", {}, h("tr", {}, ["file", "records", "chunks", "size", "packed by", "content", "damage"].map((name, n) => h("th", { class: n > 0 && n < 4 ? "num" : "" }, name)))),
    h("tbody", {}, rows)));
  const beyond = totals.files - data.files.length;
  return section("Files",
    "Each strip is a file from its first byte to its last; a darker cell has more records, red is damage.",
    h("div", { class: "panel" }, data.maps.map((map) => strip(map, largest)),
      left > 0 && h("p", { class: "soft" }, `${plural(left, "more file")} without damage are not drawn.`)),
    h("details", { open: totals.files <= 3 }, h("summary", {}, "The same as a table"), table,
      beyond > 0 && h("p", { class: "soft" }, `${plural(beyond, "more file")} are left out; fluidio inspect lists them.`)),
    totals.notes.map((note) => h("p", { class: "soft" }, note)));
}

// -- columns ---------------------------------------------------------------------------------------------------------

function facts(told) {
  const pairs = [["least", told.least], ["most", told.most], ["mean", told.mean], ["std", told.std], ["median", told.median]].filter((pair) => pair[1] !== undefined);
  return h("dl", {}, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, figure(value))]));
}

function distribution(told, label, title) {
  if (!told) return null;
  return [h("h4", {}, title),
    told.counts ? histogram(told.counts, told.least, told.most, label, told.whole) : h("p", { class: "soft" }, told.least === undefined ? "nothing finite" : `always ${figure(told.least)}`),
    told.counts && facts(told),
    told.not_finite ? h("span", { class: "tag warn" }, `${whole(told.not_finite)} not finite`) : null];
}

function topValues(column) {
  if (!column.top) return column.examples ? column.examples.map((text) => h("div", { class: "clip soft" }, text)) : null;
  const most = column.top[0][1];
  return [h("h4", {}, `${plural(column.distinct, "different text")}`), column.top.map(([text, count]) => h("div", { class: "top-row" },
    h("span", { title: text }, text || "(empty)"), h("i", { style: `width:${(90 * count) / most}px` }), h("span", { class: "num soft" }, whole(count))))];
}

function columnsSection() {
  const all = data.drawn >= totals.records;
  const hint = all ? `From all ${whole(data.drawn)} records.` : `From ${whole(data.drawn)} records of chunks that lie evenly over the files; counts of records above are of all.`;
  if (!data.columns.length) return section("Columns", null, h("div", { class: "panel empty" }, "No record could be read as tensors, samples or text."));
  return section("Columns", hint, h("div", { class: "cards" }, data.columns.map((column) => h("div", { class: "card", "data-column": column.name },
    h("h3", { class: "mono" }, column.name), h("div", { class: "kind" }, column.kind, column.thinned ? "; every few values of large tensors" : ""),
    distribution(column.values, "values", "values"), distribution(column.lengths, "records", "lengths"), topValues(column)))),
    data.unreadable ? h("p", { class: "soft" }, `${plural(data.unreadable, "record")} could not be read as tensors or as samples.`) : null);
}

// -- samples -----------------------------------------------------------------------------------------------------------

const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function shade(level) {
  const at = (level / 255) * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2), part = at - low;
  return RAMP[low].map((from, n) => from + (RAMP[low + 1][n] - from) * part);
}

function drawn(cell, side) {
  const [rows, columns] = cell.grid, scale = Math.max(1, Math.floor(side / Math.max(rows, columns)));
  const canvas = h("canvas", { class: "picture", width: columns, height: rows, role: "img", "aria-label": `heat map of ${cell.shape.join(" × ")} values`, style: `width:${columns * scale}px;height:${Math.max(rows * scale, 6)}px;max-width:100%` });
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), raw = atob(cell.pixels);
  for (let n = 0; n < rows * columns; n += 1) {
    const [red, green, blue] = cell.colours ? [0, 1, 2].map((k) => raw.charCodeAt(3 * n + k)) : shade(raw.charCodeAt(n));
    image.data.set([red, green, blue, 255], 4 * n);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function lod(cell) {
  return cell.lod ? cell.lod.map((level, n) => h("div", { class: "values" }, `LoD ${n}: [${level.join(", ")}${cell.lod_sizes[n] > level.length ? ", …" : ""}]`)) : null;
}

function show(cell, large) {
  if (!cell) return "";
  if (cell.as === "number") return h("span", { class: "num" }, figure(cell.value));
  if (cell.as === "picture") return h("div", {}, cell.src ? h("img", { src: cell.src, alt: cell.note }) : null, h("span", { class: "soft" }, `${cell.note}, ${bytes(cell.size)}`));
  if (cell.as === "bytes") return h("div", {}, h("div", { class: "clip values" }, cell.value), h("span", { class: "soft" }, bytes(cell.size)));
  if (cell.as === "tensor") {
    const some = large ? cell.first : cell.first.slice(0, 6);
    const text = `[${some.map(figure).join(" ")}${cell.size > some.length ? " …" : ""}]`;
    const about = `${cell.dtype} (${cell.shape.join(", ")})${cell.grid ? `, ${figure(cell.low)} to ${figure(cell.high)}` : ""}`;
    return h("div", { class: "map-cell" }, cell.pixels ? drawn(cell, large ? 320 : 64) : null, h("div", {}, h("div", { class: "soft" }, about), lod(cell), h("div", { class: "values" }, text)));
  }
  return h("div", {}, h("div", { class: cell.as === "other" ? "clip values" : "clip" }, cell.value === "" ? h("span", { class: "soft" }, "(empty)") : cell.value),
    cell.length ? h("span", { class: "soft" }, `… ${whole(cell.length)} characters`) : null, lod(cell));
}

const words = (sample) => Object.values(sample.cells).map((cell) => (cell.as === "tensor" ? cell.first.join(" ") : String(cell.value ?? cell.note ?? ""))).join(" ") + ` ${sample.file} ${sample.record}`;

function samplesSection() {
  const names = [...new Set(data.samples.flatMap((sample) => Object.keys(sample.cells)))].slice(0, 30);
  const haystacks = data.samples.map((sample) => words(sample).toLowerCase());
  const size = 10;
  let start = 0, found = data.samples.map((_, n) => n);
  const body = h("tbody"), told = h("span", { class: "soft", role: "status" });
  const back = h("button", { onclick: () => go(-size) }, "‹ previous"), next = h("button", { onclick: () => go(size) }, "next ›");
  const dialog = h("dialog", {});
  const filter = h("input", { type: "search", placeholder: "filter: cat, or label=3", "aria-label": "filter samples", oninput: () => search(filter.value) });

  function search(text) {
    const column = /^\s*([^=<>]+?)\s*(<=|>=|=|<|>)\s*(.+?)\s*$/.exec(text), needle = text.trim().toLowerCase();
    const byColumn = column && names.includes(column[1]);
    found = data.samples.map((_, n) => n).filter((n) => (byColumn ? fits(data.samples[n].cells[column[1]], column[2], column[3]) : haystacks[n].includes(needle)));
    start = 0;
    fill();
  }
  function fits(cell, sign, wanted) {
    if (!cell) return false;
    const value = cell.as === "tensor" ? cell.first[0] : cell.value;
    if (sign === "=") return String(value) === wanted || (wanted !== "" && Number(value) === Number(wanted));
    const a = Number(value), b = Number(wanted);
    return sign === "<" ? a < b : sign === ">" ? a > b : sign === "<=" ? a <= b : a >= b;
  }
  function go(by) {
    if (start + by < 0 || start + by >= found.length) return;
    start += by;
    fill();
  }
  function open(sample) {
    dialog.replaceChildren(h("h3", {}, `Record ${whole(sample.record)}`), h("p", { class: "soft mono" }, `${sample.file}, ${bytes(sample.bytes)}`),
      h("dl", { class: "open" }, Object.entries(sample.cells).map(([name, cell]) => [h("dt", { class: "mono" }, name), h("dd", {}, show(cell, true))])),
      h("form", { method: "dialog" }, h("button", { autofocus: true }, "close")));
    dialog.showModal();
  }
  function fill() {
    body.replaceChildren(...found.slice(start, start + size).map((n) => {
      const sample = data.samples[n];
      const row = h("tr", { tabindex: 0, "aria-label": `record ${sample.record}`, onclick: () => open(sample), onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); open(sample); } } },
        h("td", { class: "where num", title: sample.file }, whole(sample.record)), names.map((name) => h("td", {}, show(sample.cells[name]))));
      return row;
    }));
    if (!found.length) body.append(h("tr", {}, h("td", { colspan: names.length + 1, class: "empty" }, "No sample matches.")));
    told.textContent = found.length ? `${start + 1} to ${Math.min(start + size, found.length)} of ${plural(found.length, "sample")}` : "";
    back.disabled = start === 0;
    next.disabled = start + size >= found.length;
  }
  keys["/"] = () => filter.focus();
  keys.ArrowLeft = () => go(-size);
  keys.ArrowRight = () => go(size);
  fill();
  return section("Samples", "Records drawn evenly from the files. Enter or a click opens one.",
    h("div", { class: "bar noprint" }, filter, told, h("span", { class: "grow" }), back, next),
    h("div", { class: "panel scroll samples" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { class: "num" }, "no."), names.map((name) => h("th", {}, name)))), body)),
    h("p", { class: "hint noprint" }, h("kbd", {}, "/"), " filter \u2003", h("kbd", {}, "←"), " ", h("kbd", {}, "→"), " page \u2003", h("kbd", {}, "Enter"), " open \u2003", h("kbd", {}, "t"), " light or dark"), dialog);
}

build(`fluidio records · ${plural(totals.files, "file")}`, data.title, tiles(), filesSection(), columnsSection(), data.samples.length ? samplesSection() : null);
