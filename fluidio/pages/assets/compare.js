// The page that compares runs.
const runs = data.runs;

function verdicts() {
  return data.compared.map((other) => {
    const parted = other.partings.filter((each) => each.step !== null).sort((a, b) => a.step - b.step)[0];
    const pair = `${runs[0].name} and ${other.name}`;
    if (!other.partings.length) return h("div", { class: "callout warn" }, `${pair} have no fetched variable in common.`);
    if (!parted) {
      const compared = Math.min(...other.partings.map((each) => Math.min(...each.counts)));
      return h("div", { class: "callout good", "data-verdict": "agree" }, `${pair} agree within ${data.rtol} over ${plural(compared, "step")}.`);
    }
    return h("div", { class: "callout bad", "data-verdict": "part" }, `${pair} diverge at step ${whole(parted.step)}.`,
      h("small", {}, `${parted.name}: ${number(parted.values[0])} and ${number(parted.values[1])}${Number.isFinite(number(parted.largest)) ? `; the largest difference is ${figure(parted.largest)} of the value, at step ${whole(parted.largest_step)}` : ""}`));
  });
}

function curvesSection() {
  const pairs = data.compared.flatMap((other, n) => other.partings.map((each) => ({ ...each, other: runs[n + 1] })));
  const names = [...new Set(pairs.map((pair) => pair.name))];
  const drawn = h("div", { class: "charts" });
  const paint = (logarithmic) => drawn.replaceChildren(...names.flatMap((name) => {
    const mine = pairs.filter((pair) => pair.name === name), curve = runs[0].curves[name];
    const line = (run, shown, dash) => ({ name: run.name, x: shown.step, y: shown.mean, low: shown.least, high: shown.most, dash });
    const lines = [line(runs[0], curve), ...mine.map((pair) => line(pair.other, pair.other.curves[pair.other_name], "5 3"))];
    const differences = mine.map((pair) => ({ name: pair.other.name, x: pair.difference.step, y: pair.difference.most || pair.difference.mean, colour: "--bad" }));
    return [chart(name, `last ${lines.map((_, n) => figure((n ? mine[n - 1].other.curves[mine[n - 1].other_name] : curve).last)).join(" and ")}`, lines, { logarithmic }),
      chart(`difference of ${name}`, "relative, logarithmic", differences, { logarithmic: true })];
  }));
  const scale = h("button", { "aria-pressed": "false", onclick: () => { const on = scale.getAttribute("aria-pressed") !== "true"; scale.setAttribute("aria-pressed", String(on)); paint(on); } }, "log scale");
  keys.l = () => scale.click();
  paint(false);
  return section("What was fetched", null, h("div", { class: "bar noprint" }, h("span", { class: "grow" }), scale), drawn);
}

function speed() {
  const timed = runs.filter((run) => run.seconds && run.steps), watched = runs.filter((run) => run.measured);
  if (!timed.length) return null;
  const rows = [["steps", (run) => whole(run.steps)], ["time", (run) => seconds(run.seconds)], ["steps each second", (run) => figure(run.steps / run.seconds)], ["records each second", (run) => (run.records ? whole(run.records / run.seconds) : "")], ["a step computes", (run) => (run.measured ? seconds(run.measured.step_seconds) : "")], ["most memory", (run) => (run.memory ? bytes(run.memory) : "")]];
  return section("Speed", null, h("div", { class: "panel scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, ""), timed.map((run) => h("th", { class: "num" }, run.name)))),
    h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("td", { class: "soft" }, name), timed.map((run) => h("td", { class: "num" }, value(run)))))))),
  h("div", { class: "two", style: "margin-top:14px" }, watched.map((run) => h("div", { class: "panel" }, h("h3", {}, run.name), shareBar(run.measured), h("p", { class: "soft", style: "margin:10px 0 0" }, run.advice.replaceAll("`", ""))))));
}

function profiles() {
  const timed = runs.filter((run) => run.profile && run.profile.length);
  if (timed.length < 2) return null;
  const each = timed.map((run) => Object.fromEntries(run.profile.map((row) => [row.type, row.seconds / row.runs])));
  const types = [...new Set(timed.flatMap((run) => run.profile.map((row) => row.type)))].slice(0, 40);
  return section("Time of one run of an op", null, h("div", { class: "panel scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "op"), timed.map((run) => h("th", { class: "num" }, run.name)))),
    h("tbody", {}, types.map((type) => h("tr", {}, h("td", {}, type), each.map((costs) => h("td", { class: "num" }, costs[type] === undefined ? "" : seconds(costs[type])))))))));
}

function environments() {
  const told = runs.filter((run) => run.environment), names = [...new Set(told.flatMap((run) => Object.keys(run.environment)))];
  if (!told.length) return null;
  const differ = (name) => new Set(told.map((run) => String(run.environment[name]))).size > 1;
  return section("Environment", "Where the runs differ comes first.", h("div", { class: "panel scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, ""), told.map((run) => h("th", {}, run.name)))),
    h("tbody", {}, names.sort((a, b) => differ(b) - differ(a)).map((name) => h("tr", {}, h("td", { class: "soft" }, name, differ(name) ? h("span", { class: "tag warn", style: "margin-left:8px" }, "differs") : ""), told.map((run) => h("td", { class: "mono" }, String(run.environment[name] ?? "")))))))));
}

build(`fluidio compare · ${plural(runs.length, "run")}`, data.title, ...verdicts(), curvesSection(), speed(), profiles(), environments());
