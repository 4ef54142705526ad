// Line charts over steps and over time; shared by the pages about runs.
const SERIES = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5"];

// lines: [{name, x, y, low, high, colour, dash}]; options: {xname, yname, marks, logarithmic, height, zero}
function chart(title, note, lines, options) {
  const narrow = innerWidth < 640, width = narrow ? Math.max(280, innerWidth - 62) : options.wide ? 1180 : 600;
  const height = narrow ? 190 : options.height || (options.wide ? 260 : 220), left = 58, right = 12, top = 10, bottom = 30;
  const finite = (value) => Number.isFinite(value) && (!options.logarithmic || value > 0);
  const shape = options.logarithmic ? Math.log10 : (value) => value;
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const line of lines) {
    line.y = line.y.map(number); line.low = (line.low || line.y).map(number); line.high = (line.high || line.y).map(number);
    line.x.forEach((x, n) => {
      if (x < x0) x0 = x;
      if (x > x1) x1 = x;
      if (finite(line.low[n])) y0 = Math.min(y0, shape(line.low[n]));
      if (finite(line.high[n])) y1 = Math.max(y1, shape(line.high[n]));
    });
  }
  const caption = h("figcaption", {}, h("b", {}, title), h("span", {}, note));
  if (!(x1 >= x0) || !(y1 >= y0)) return h("figure", {}, caption, h("div", { class: "empty" }, "no finite number"));
  if (options.zero) y0 = Math.min(0, y0);
  if (y0 === y1) { y0 -= Math.abs(y0) * 0.1 || 1; y1 += Math.abs(y1) * 0.1 || 1; }
  if (x0 === x1) x1 = x0 + 1;
  const X = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right), Y = (y) => top + (1 - (shape(y) - y0) / (y1 - y0)) * (height - top - bottom);
  const parts = [];
  for (const tick of ticks(y0, y1, 5)) {
    const y = top + (1 - (tick - y0) / (y1 - y0)) * (height - top - bottom);
    parts.push(s("line", { class: "grid", x1: left, x2: width - right, y1: y, y2: y }), s("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, figure(options.logarithmic ? 10 ** tick : tick)));
  }
  for (const tick of ticks(x0, x1, narrow ? 4 : 6)) parts.push(s("text", { x: X(tick), y: height - 10, "text-anchor": X(tick) > width - 36 ? "end" : "middle" }, figure(tick)));
  for (const mark of (options.marks || []).filter((at) => at > x0 && at < x1)) parts.push(s("line", { x1: X(mark), x2: X(mark), y1: top, y2: height - bottom, stroke: "var(--strong-line)", "stroke-dasharray": "2 3" }));
  parts.push(s("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  lines.forEach((line, number) => {
    const colour = line.colour || SERIES[number % SERIES.length];
    if (line.low !== line.y && line.high.some((high, n) => high !== line.low[n])) {
      const up = [], down = [];
      line.x.forEach((x, n) => { if (finite(line.low[n]) && finite(line.high[n])) { up.push(`${X(x).toFixed(1)} ${Y(line.high[n]).toFixed(1)}`); down.unshift(`${X(x).toFixed(1)} ${Y(line.low[n]).toFixed(1)}`); } });
      if (up.length) parts.push(s("path", { d: `M${up.concat(down).join("L")}z`, fill: `var(${colour})`, opacity: 0.16 }));
    }
    let path = "", pen = false;
    line.x.forEach((x, n) => {
      if (!finite(line.y[n])) { pen = false; return; }
      path += `${pen ? "L" : "M"}${X(x).toFixed(1)} ${Y(line.y[n]).toFixed(1)}`;
      pen = true;
    });
    parts.push(s("path", { class: "line", d: path, fill: "none", stroke: `var(${colour})`, "stroke-width": 1.8, "stroke-linejoin": "round", "stroke-dasharray": line.dash }));
    if (line.x.length === 1 && finite(line.y[0])) parts.push(s("circle", { cx: X(line.x[0]), cy: Y(line.y[0]), r: 3, fill: `var(${colour})` }));
  });
  const cursor = s("line", { y1: top, y2: height - bottom, stroke: "var(--faint)", opacity: 0 });
  const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-label": `${title} from ${figure(x0)} to ${figure(x1)}` }, ...parts, cursor);
  let at = null;
  function say(x, clientX, clientY) {
    cursor.setAttribute("x1", X(x)); cursor.setAttribute("x2", X(x)); cursor.setAttribute("opacity", 1);
    const told = lines.map((line) => {
      let low = 0, high = line.x.length - 1;
      while (low < high) { const middle = (low + high + 1) >> 1; if (line.x[middle] <= x) low = middle; else high = middle - 1; }
      const range = line.low[low] !== line.high[low] ? ` (${figure(line.low[low])} to ${figure(line.high[low])})` : "";
      return `${lines.length > 1 ? `${line.name}: ` : ""}${figure(line.y[low])}${range}`;
    });
    showTip(`${options.xname || "step"} ${figure(x)}\n${told.join("\n")}`, clientX, clientY);
  }
  const toX = (clientX) => { const box = drawing.getBoundingClientRect(); return Math.max(x0, Math.min(x1, x0 + ((((clientX - box.left) / box.width) * width - left) / (width - left - right)) * (x1 - x0))); };
  const away = () => { hideTip(); cursor.setAttribute("opacity", 0); };
  const snap = (x) => (options.xname ? Number(x.toPrecision(4)) : Math.round(x));
  drawing.addEventListener("mousemove", (event) => { at = snap(toX(event.clientX)); say(at, event.clientX, event.clientY); });
  drawing.addEventListener("mouseleave", away);
  drawing.addEventListener("blur", away);
  drawing.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault(); event.stopPropagation();
    at = snap(Math.max(x0, Math.min(x1, (at ?? x0) + ((event.key === "ArrowRight" ? 1 : -1) * (x1 - x0)) / 50)));
    const box = drawing.getBoundingClientRect();
    say(at, box.left + (X(at) / width) * box.width, box.top + box.height / 2);
  });
  const legend = lines.length > 1 && h("div", { class: "legend" }, lines.map((line, n) => h("span", {}, h("span", { class: "dot", style: `background:var(${line.colour || SERIES[n % SERIES.length]})` }), line.name)));
  return h("figure", { "data-chart": title }, caption, drawing, legend);
}

const CALLED = { multi_file: "open_files", recordio_file: "open_recordio_file" };
function shortName(name) {
  const short = name.replace(/^create_/, "").replace(/^(?!py_)(.+?)_reader/, "$1").replace(/_0$/, "");
  return CALLED[short] || short;
}

function shareBar(measured) {
  const parts = [["computing", measured.computing, "--c0"], ["waiting for data", measured.waiting, "--bad"], ["between steps", measured.outside, "--strong-line"]];
  return [h("div", { class: "shares", role: "img", "aria-label": parts.map(([name, share]) => `${name} ${percent(share)}`).join(", ") },
    parts.map(([name, share, tone]) => tipped(h("div", { style: `flex:${share} 0 0;background:var(${tone})` }), `${name}: ${percent(share)}`))),
  h("div", { class: "legend" }, parts.map(([name, share, tone]) => h("span", {}, h("span", { class: "dot", style: `background:var(${tone})` }), `${name} ${percent(share)}`)))];
}
