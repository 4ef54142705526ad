// The run page: advice, curves, the pipeline, profile, environment.
const measured = data.measured;

function callouts() {
  const tone = { source: "warn", decoding: "warn", queue: "warn", outside: "warn", step: "good", balanced: "good" }[data.advice.kind] || "";
  const sentence = data.advice.text.charAt(0).toUpperCase() + data.advice.text.slice(1);
  const parts = sentence.split("`").map((part, n) => (n % 2 ? h("span", { class: "mono" }, part) : part));
  return [
    data.error && h("div", { class: "callout bad", role: "alert" }, "The run ended with an error.", h("small", {}, data.error)),
    !data.error && data.status ? h("div", { class: "callout bad" }, data.status === 130 ? "The run was interrupted (Ctrl-C)." : `The script ended with status ${data.status}; its error stands in the terminal.`) : null,
    h("div", { class: `callout ${tone}`, "data-advice": data.advice.kind }, parts, "."),
  ];
}

function tiles() {
  const took = data.seconds || 1e-9, dropped = Object.values(data.dropped).reduce((a, b) => a + b, 0);
  return h("div", { class: "tiles" }, tile(whole(data.steps), data.steps ? `steps, ${figure(data.steps / took)} each second` : "steps"), data.epochs ? tile(whole(data.epochs), data.epochs === 1 ? "epoch" : "epochs") : null,
    data.records ? tile(whole(data.records), `records, ${whole(data.records / took)} each second`) : null, tile(seconds(data.seconds), "from the first step to the last"),
    data.memory ? tile(bytes(data.memory), "most memory seen") : null, dropped ? tile(whole(dropped), `left out by ${Object.keys(data.dropped).map(shortName).join(", ")}`, "bad") : null);
}

function curves() {
  const names = Object.keys(data.curves);
  if (!names.length) return null;
  const drawn = h("div", { class: "charts" });
  const paint = (logarithmic) => drawn.replaceChildren(...names.map((name) => {
    const curve = data.curves[name], bad = curve.not_finite ? `, ${whole(curve.not_finite)} not finite` : "";
    const note = `last ${figure(curve.last)}${bad}${curve.stride > 1 ? `; band: least to most of ${curve.stride} steps` : ""}`;
    return chart(name, note, [{ name, x: curve.step, y: curve.mean, low: curve.least, high: curve.most }], { marks: data.epoch_ends, wide: names.length === 1, logarithmic });
  }));
  const scale = h("button", { "aria-pressed": "false", title: "logarithmic (l)", onclick: () => { const on = scale.getAttribute("aria-pressed") !== "true"; scale.setAttribute("aria-pressed", String(on)); paint(on); } }, "log scale");
  keys.l = () => scale.click();
  paint(false);
  return section("What was fetched", null, h("div", { class: "bar" }, h("span", { class: "soft" }, data.epoch_ends.length ? "Over steps; dotted lines are ends of epochs." : "Over steps."), h("span", { class: "grow" }), h("span", { class: "noprint" }, scale)), drawn);
}

// -- the pipeline ------------------------------------------------------------------------------------------------------------

function pipe() {
  const byName = Object.fromEntries(measured.queues.map((queue) => [queue.name, queue]));
  const names = data.chain.length ? data.chain : measured.queues.map((queue) => queue.name);
  const worst = measured.queues.find((queue) => queue.starved >= 0.05);
  const stages = names.map((name) => {
    const queue = byName[name];
    return h("div", { class: `stage${worst && worst.name === name && measured.waiting >= 0.1 ? " hot" : ""}` }, h("b", {}, shortName(name)),
      queue ? [h("span", {}, `waited for ${percent(queue.starved)}`), h("span", {}, `idle or blocked ${percent(queue.blocked / Math.max(1, queue.threads))}`), queue.threads > 0 && h("span", {}, plural(queue.threads, "thread"))] : h("span", {}, "no queue"));
  });
  stages.push(h("div", { class: "stage" }, h("b", {}, "program"), h("span", {}, `computes ${percent(measured.computing)}`), h("span", {}, `${seconds(measured.step_seconds)} a step`)));
  return h("div", { class: "pipe" }, stages.flatMap((stage, n) => (n ? [h("i", { "aria-hidden": "true" }, "→"), stage] : [stage])));
}

// At most 120 points, and where it can be five steps or more for each: a step or two for each draw a comb.
function coarser(time) {
  const used = Math.max(1, ...Object.values(time.lanes).map((values) => values.length)), five = Math.ceil((5 * data.seconds) / Math.max(1, data.steps) / time.width);
  const many = Math.max(Math.ceil(used / 120), Math.min(five, Math.ceil(used / 12)));
  const merged = (values, join) => { const out = []; for (let n = 0; n < values.length; n += many) out.push(values.slice(n, n + many).reduce(join)); return out; };
  const each = (lanes, join) => Object.fromEntries(Object.entries(lanes).map(([name, values]) => [name, merged(values, join)]));
  return { width: time.width * many, lanes: each(time.lanes, (a, b) => a + b), peaks: each(time.peaks, (a, b) => Math.max(a, b)) };
}

function overTime() {
  const times = coarser(data.time), lanes = times.lanes, width = times.width, x = (values) => values.map((_, n) => Number(((n + 0.5) * width).toPrecision(6)));
  const speed = (values) => values.map((value) => value / width), found = [], last = (values) => values.slice(0, Math.max(1, values.length - 1));
  if (lanes.steps) found.push(chart("speed", "steps each second", [{ name: "steps/s", x: x(last(lanes.steps)), y: speed(last(lanes.steps)) }], { xname: "second", zero: true, height: 180 }));
  if (lanes.records) found.push(chart("records", "each second", [{ name: "records/s", x: x(last(lanes.records)), y: speed(last(lanes.records)), colour: "--c2" }], { xname: "second", zero: true, height: 180 }));
  if (lanes.wait) found.push(chart("waiting for data", "share of the time", [{ name: "waiting", x: x(lanes.wait), y: lanes.wait.map((value) => Math.min(1, value / width)), colour: "--bad" }], { xname: "second", zero: true, height: 180 }));
  if (lanes.copied) found.push(chart("copies to the GPU", "MB each second", [{ name: "MB/s", x: x(last(lanes.copied)), y: speed(last(lanes.copied)).map((value) => value / 1e6), colour: "--c2" }], { xname: "second", zero: true, height: 180 }));
  const depth = Object.keys(times.peaks).filter((name) => name !== "memory");
  if (depth.length) found.push(chart("queue depth", "most items seen at a wait", depth.map((name) => { const points = times.peaks[name].map((value, n) => [n, value]).filter(([, value]) => value >= 0); return { name: shortName(name), x: points.map(([n]) => Number(((n + 0.5) * width).toPrecision(6))), y: points.map(([, value]) => value) }; }), { xname: "second", zero: true, height: 180 }));
  if (times.peaks.memory) { const points = times.peaks.memory.map((value, n) => [n, value]).filter(([, value]) => value > 0); found.push(chart("memory", "MB of the process", [{ name: "memory", x: points.map(([n]) => Number(((n + 0.5) * width).toPrecision(6))), y: points.map(([, value]) => value / 1e6), colour: "--c3" }], { xname: "second", zero: true, height: 180 })); }
  return h("div", { class: "charts" }, found);
}

const TONES = { step: "--c0", steps: "--c0", failed: "--c4", wait: "--bad", starved: "--bad", blocked: "--strong-line", copy: "--c2" };
const MEANINGS = { step: "step", steps: "steps that were not watched one by one", failed: "a step that failed, or the end of the data", wait: "the program waits for data", starved: "waits for an item", blocked: "waits for room or work", copy: "a batch goes to the GPU" };

function timeline() {
  const events = data.events;
  if (!events.length) return null;
  const lanes = [...new Set(events.map((event) => event[0]))].slice(0, 24);
  let from = events[0][2], to = Math.max(...events.map((event) => event[2] + event[3])), start = Math.min(...events.map((event) => event[2]));
  const whole0 = start, whole1 = to;
  from = Math.max(start, to - (60 * lanes.length * (to - start)) / events.length);
  const width = 1100, left = 150, row = 26, height = lanes.length * row + 34, holder = h("div", { class: "lanes panel", tabindex: 0, role: "application", "aria-label": "timeline; arrow keys move, plus and minus zoom" });
  function paint() {
    const X = (t) => left + ((t - from) / (to - from)) * (width - left - 8), parts = [];
    for (const tick of ticks(from, to, 8)) parts.push(s("line", { class: "grid", x1: X(tick), x2: X(tick), y1: 0, y2: lanes.length * row }), s("text", { x: X(tick), y: lanes.length * row + 20, "text-anchor": "middle" }, `${Number(tick.toPrecision(6))} s`));
    lanes.forEach((lane, n) => parts.push(s("text", { class: "lane", x: 0, y: n * row + 17 }, lane.length > 22 ? `${lane.slice(0, 21)}…` : lane), s("line", { class: "grid", x1: left, x2: width - 8, y1: n * row + 13, y2: n * row + 13 })));
    const order = { steps: 0, step: 0, failed: 0, copy: 0, blocked: 1, starved: 2, wait: 3 };
    for (const [lane, kind, at, length] of [...events].sort((a, b) => order[a[1].split(" ")[0]] - order[b[1].split(" ")[0]])) {
      const line = lanes.indexOf(lane);
      if (line < 0 || at + length < from || at > to) continue;
      const word = kind.split(" ")[0], x1 = Math.max(left, X(at)), x2 = Math.min(width - 8, X(at + length));
      parts.push(tipped(s("rect", { class: `event ${word}`, x: x1, y: line * row + (word === "step" ? 3 : 6), width: Math.max(0.8, x2 - x1), height: word === "step" ? 20 : 14, rx: 2, fill: `var(${TONES[word]})`, opacity: { step: 0.85, steps: 0.35 }[word] || 1 }),
        `${MEANINGS[word]}${kind.includes(" ") ? ` of ${shortName(kind.slice(word.length + 1))}` : ""}\n${seconds(length)} at ${at.toFixed(4)} s`));
    }
    holder.replaceChildren(s("svg", { viewBox: `0 0 ${width} ${height}`, style: "min-width:680px", role: "img", "aria-label": `${lanes.length} threads from ${from.toFixed(3)} to ${to.toFixed(3)} seconds` }, ...parts));
  }
  function change(scale, shift) {
    const middle = (from + to) / 2 + shift * (to - from), half = Math.min((whole1 - whole0) / 2, Math.max(1e-4, ((to - from) / 2) * scale));
    from = Math.max(whole0, Math.min(whole1 - 2 * half, middle - half)); to = from + 2 * half;
    hideTip(); paint();
  }
  holder.addEventListener("keydown", (event) => {
    const action = { ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25], "+": [0.6, 0], "-": [1.7, 0] }[event.key];
    if (action) { event.preventDefault(); event.stopPropagation(); change(...action); }
  });
  holder.addEventListener("wheel", (event) => { if (event.ctrlKey || event.shiftKey) { event.preventDefault(); change(event.deltaY > 0 ? 1.3 : 0.77, 0); } }, { passive: false });
  paint();
  const legend = [["step", "step"], ["wait", "waits for data or an item"], ["blocked", "waits for room or work"], ...(lanes.some((lane) => lane.startsWith("copies to ")) ? [["copy", "copy to a GPU"]] : [])];
  return [h("div", { class: "bar", style: "margin-top:18px" }, h("h3", {}, "Threads, the last moments"), h("span", { class: "grow" }), h("span", { class: "buttons noprint" }, h("button", { onclick: () => change(1, -0.25), "aria-label": "earlier" }, "‹"), h("button", { onclick: () => change(1, 0.25), "aria-label": "later" }, "›"), h("button", { onclick: () => change(1.7, 0), "aria-label": "zoom out" }, "−"), h("button", { onclick: () => change(0.6, 0), "aria-label": "zoom in" }, "+"))),
    holder, h("div", { class: "legend", style: "margin-top:8px" }, legend.map(([kind, text]) => h("span", {}, h("span", { class: "dot", style: `background:var(${TONES[kind]})` }), text)), h("span", {}, "nothing: the thread works"))];
}

// -- profile and environment -----------------------------------------------------------------------------------------------

function profile() {
  if (!data.profile.length) return null;
  const rows = data.profile.slice(0, 60).map((row) => h("tr", {}, h("td", {}, row.type), h("td", { class: "num" }, whole(row.runs)), h("td", { class: "num" }, seconds(row.seconds / row.runs)), h("td", { class: "nowrap" }, h("span", { class: "share", style: `width:${(innerWidth < 640 ? 50 : 120) * row.share}px` }), percent(row.share))));
  const ops = data.ops.slice(0, 40).map(([type, output, runs, took, site]) => h("tr", {}, h("td", {}, type, h("div", { class: "soft mono" }, output)), h("td", { class: "num" }, seconds(took / runs)), h("td", { class: "soft" }, site ? `${site[0].split("/").pop()}:${site[1]}` : "")));
  return section("Profile by op", "From the steps whose ops were timed; the others ran untouched.", h("div", { class: "two" },
    h("div", { class: "panel" }, h("table", { class: "profile" }, h("thead", {}, h("tr", {}, h("th", {}, "op"), h("th", { class: "num" }, "runs"), h("th", { class: "num" }, "each"), h("th", {}, "share"))), h("tbody", {}, rows))),
    h("div", { class: "panel" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "single ops"), h("th", { class: "num" }, "each"), h("th", {}, "built by"))), h("tbody", {}, ops)))));
}

function environment() {
  const rows = Object.entries(data.environment).map(([name, value]) => h("tr", {}, h("td", { class: "soft" }, name), h("td", { class: "mono" }, String(value))));
  return section("Environment", null, h("div", { class: "panel" }, h("table", {}, h("tbody", {}, rows, h("tr", {}, h("td", { class: "soft" }, "command"), h("td", { class: "mono" }, data.command.join(" ")))))));
}

build(`fluidio run · ${new Date(data.began * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`, data.title, ...callouts(), tiles(), curves(),
  data.steps > 0 && section("Where the time goes", null, shareBar(measured), h("div", { style: "height:18px" }), pipe(), overTime(), timeline()), profile(), environment());
