// The page around the analysis in WebAssembly: it asks in JSON, and draws the documents of `tripipe analyze`.
"use strict";

const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** The analysis: `ask` answers a request about a module, or throws the sentence that says why not. */
class Analyzer {
  static async load() {
    const analyzer = new Analyzer();
    analyzer.module = await WebAssembly.compile(bytesOf(WASM));
    await analyzer.begin();
    return analyzer;
  }

  async begin() {
    this.instance = undefined;
    this.instance = await WebAssembly.instantiate(this.module, {});
  }

  ask(request, module = new Uint8Array()) {
    if (!this.instance) throw new Error("the analysis starts again; try again in a moment");
    const { memory, tripipe_input: input, tripipe_answer: answer, tripipe_output: output } = this.instance.exports;
    const send = (isModule, bytes) => {
      const at = input(isModule, bytes.length) >>> 0;
      new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    };
    let length, text;
    try {
      send(0, new TextEncoder().encode(JSON.stringify(request)));
      send(1, module);
      length = answer();
      text = new TextDecoder().decode(new Uint8Array(memory.buffer, output() >>> 0, Math.abs(length)));
    } catch (error) {
      // After a trap its memory is not to be trusted.
      this.begin();
      throw new Error(`the analysis of this module failed (${error.message}); the command may say why`);
    }
    if (length < 0) throw new Error(text);
    return text;
  }
}

const at = (id) => document.getElementById(id);

/** An element with attributes and children. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value != null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child != null));
  return element;
}

function fill(select, groups, chosen) {
  select.replaceChildren();
  for (const [label, options] of groups) {
    const all = options.map(([value, text]) => make("option", { value }, text));
    select.append(...(label === "" ? all : [make("optgroup", { label }, ...all)]));
  }
  if (chosen != null) select.value = chosen;
}

/** Groups of a list by a key, in the list's order. */
function grouped(list, key) {
  const groups = new Map();
  for (const item of list) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return [...groups];
}

/** A cost as the reports write it: three digits, or the sum with its names. */
function cost(value) {
  if (typeof value !== "number") return value ?? "–";
  if (Number.isInteger(value)) return String(value);
  return value < 0.9995 ? value.toFixed(3) : value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

/** A sentence, in which what stands in backquotes is code. */
function sentence(text) {
  const whole = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
  return whole.split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/** The cost of what bounds a path: the largest of the columns it names. */
function bound(path) {
  const all = path.bound.split(", ").map((name) => path.columns[name]).filter((value) => value !== undefined);
  return all.find((value) => typeof value !== "number") ?? (all.length ? Math.max(...all) : undefined);
}

function table(caption, heads, rows, kind = "scroll") {
  const said = (content) => content?.textContent ?? content ?? "–";
  const isNumber = heads.map((_, index) => rows.every((row) => /^[-\d–.]/.test(said(row[index]))));
  const cell = (content, index) => {
    if (content instanceof Node && ["TD", "TH"].includes(content.nodeName)) return content;
    return make("td", { class: isNumber[index] ? "number" : null }, content ?? "–");
  };
  const head = heads.every((text) => text === "") ? null : make("tr", {}, ...heads.map((text, index) => make("th", { scope: "col", class: isNumber[index] ? "number" : null }, text)));
  const body = rows.map((row) => make("tr", { class: row.class }, ...row.map(cell)));
  return make("div", { class: kind, tabindex: 0 },
    make("table", {}, make("caption", {}, caption), head && make("thead", {}, head), make("tbody", {}, ...body)));
}

/** A value, with that of `before` in front of it if they differ. */
function changed(before, now) {
  const [old, text] = [cost(before), cost(now)];
  if (before === undefined || old === text) return make("td", { class: "number" }, text);
  const isWorse = typeof before === "number" && typeof now === "number" ? now > before : null;
  return make("td", { class: `number ${isWorse === null ? "" : isWorse ? "worse" : "better"}` }, make("span", { class: "before" }, `${old} → `), text);
}

function costs(analysis, before) {
  const heads = Object.keys(analysis.longest_path.columns);
  const paths = [["shortest path", "shortest_path"], ["longest path", "longest_path"], ["all code once", "total"]];
  const rows = paths.map(([name, key]) => [make("th", { scope: "row" }, name),
    ...heads.map((head) => changed(before?.[key].columns[head], analysis[key].columns[head])), analysis[key].bound]);
  return table("Cycles of each pipe for a work-item, or for a warp", ["path", ...heads, "bound"], rows);
}

function facts(analysis, before) {
  const { registers } = analysis;
  const old = before?.registers;
  const row = (name, now, earlier, most) => [make("th", { scope: "row" }, name), changed(earlier, now), most == null ? "" : `of ${most}`];
  const step = registers.next_step;
  const rows = [
    row("registers", registers.used, old?.used, registers.max),
    row("threads in a core", registers.threads, old?.threads, registers.max_threads),
    row("bytes spilled", registers.spill_bytes, old?.spill_bytes),
    row("bytes of stack", analysis.stack_bytes, before?.stack_bytes),
    row("bytes of local memory", analysis.local_bytes, before?.local_bytes),
  ];
  const also = (name, text) => rows.push([make("th", { scope: "row" }, name), "", text]);
  if (step) also("more threads", `${step.threads} with ${step.fewer} registers fewer`);
  if (registers.peak_line) also("most registers in use", `at line ${registers.peak_line}`);
  return table("Registers and memory of a work-item", ["", "", ""], rows);
}

function loops(analysis) {
  if (!analysis.loops.length) return null;
  const rows = analysis.loops.map((each) => [String(each.line ?? "–"), String(each.depth), String(each.trips ?? each.symbol ?? "–"),
    ...Object.values(each.iteration).map(cost)]);
  return table("Loops: cycles of one iteration", ["line", "depth", "trips", ...Object.keys(analysis.loops[0].iteration)], rows);
}

function accesses(analysis) {
  if (!analysis.accesses.length) return null;
  const rows = analysis.accesses.map((each) => [String(each.line ?? "–"), `${each.writes ? "store" : "load"} ${each.memory}`, each.space,
    String(each.bytes), each.stride_bytes == null ? each.stride_argument ?? "–" : String(each.stride_bytes), String(each.lines), percent(each.used)]);
  return table("Loads and stores: cache lines of a warp, and how much of them it uses", ["line", "access", "memory", "bytes", "stride", "lines", "used"], rows);
}

function advice(analysis) {
  if (!analysis.advice.length) return make("p", {}, "No advice.");
  const one = (each) => make("article", { class: "finding" },
    make("h3", {}, make("span", { class: `severity ${each.severity}` }, each.severity), ` ${each.code}`, each.line ? `, line ${each.line}` : ""),
    make("p", {}, ...sentence(each.message)), make("p", {}, ...sentence(each.fix)),
    each.gain == null ? null : make("p", {}, `It would save ${percent(each.gain)} of the cycles.`));
  return make("div", { class: "findings" }, ...analysis.advice.map(one));
}

/** The text of a file that line information names. */
function textOf(file) {
  const own = state.program.sources?.[file] ?? Object.entries(state.program.sources ?? {}).find(([name]) => file.endsWith(`/${name}`) || name.endsWith(`/${file}`))?.[1];
  return own ?? (state.program.sources ? undefined : LADDERS.sources[file] ?? LADDERS.sources[Object.keys(LADDERS.sources).find((name) => name.endsWith(`/${file}`))]);
}

/** How large a cost is beside others, for its colour: each name in a sum such as `12 + 7 n` counts as 16. */
function size(value) {
  if (typeof value === "number") return value;
  const term = (text) => text.trim().split(/ +/).reduce((product, part) => product * (Number.isNaN(Number(part)) ? 16 : Number(part)), 1);
  return (value ?? "0").split("+").map(term).reduce((sum, each) => sum + each, 0);
}

/** The lines of a file with the cost of each, or without its text those that cost something. */
function listing(analysis, file, lines) {
  const heads = Object.keys(analysis.longest_path.columns).filter((head) => lines.some((line) => line.columns[head] !== 0));
  const bounds = analysis.longest_path.bound.split(", ");
  const heat = (line) => Math.max(0, ...bounds.map((name) => size(line.columns[name])));
  const hottest = Math.max(...lines.map(heat), Number.MIN_VALUE);
  const noted = new Set(analysis.advice.filter((each) => each.file === file).map((each) => each.line));
  const text = textOf(file)?.split("\n");
  const numbers = text ? text.map((_, index) => index + 1) : lines.map((line) => line.line);
  const costly = new Map(lines.map((line) => [line.line, line]));
  const rows = numbers.map((number) => {
    const line = costly.get(number);
    const share = line ? Math.round((100 * heat(line)) / hottest) : 0;
    const code = make("code", line ? { class: "heat", style: `--heat: ${share}%` } : {}, text?.[number - 1] ?? "");
    const cells = heads.map((head) => make("td", { class: "number" }, line && line.columns[head] !== 0 ? cost(line.columns[head]) : ""));
    const row = [make("td", { class: "number" }, String(number)), ...cells, make("td", { class: "source" }, code)];
    row.class = noted.has(number) ? "noted" : null;
    return row;
  });
  const caption = `${file}: cycles of each line${noted.size ? "; the numbers of lines with advice are coloured" : ""}`;
  const drawn = table(caption, ["line", ...heads, "source"], rows, "scroll listing");
  // A narrow screen shows what bounds.
  const minor = heads.map((head, index) => (bounds.includes(head) ? -1 : index + 1));
  for (const row of drawn.querySelectorAll("tr")) for (const index of minor) row.children[index]?.classList.add("minor");
  return drawn;
}

function verdict(analysis) {
  const cycles = bound(analysis.longest_path);
  const said = cycles === undefined ? "" : `: ${cost(cycles)} cycles on its longest path`;
  const { threads, max_threads: most, spill_bytes: spilled } = analysis.registers;
  return `${analysis.kernel} is bound by ${analysis.longest_path.bound} on ${analysis.gpu}${said}; ${threads} of ${most} threads fit a core${spilled ? `, and ${spilled} bytes are spilled` : ""}.`;
}

function beside(all) {
  const rows = all.map((each) => {
    const row = [make("th", { scope: "row" }, each.gpu), each.longest_path.bound, cost(bound(each.longest_path)), String(each.registers.used),
      `${each.registers.threads} of ${each.registers.max_threads}`, String(each.registers.spill_bytes), String(each.advice.length)];
    return row;
  });
  return table("GPUs side by side: the longest path", ["GPU", "bound", "cycles there", "registers", "threads", "spilled", "advice"], rows, "scroll listing");
}

/** What the command says of a module that it cannot optimise. */
const AS_WRITTEN = "the optimisations of a driver: clang with llvm-spirv is not installed";

const state = { program: null, gpus: [], analyzer: null };

/** The numbers that the page has for the launch. */
function whatIf() {
  const inputs = [...at("integers").querySelectorAll("input")].filter((input) => input.value !== "");
  const local = at("local").value.trim();
  return {
    arguments: Object.fromEntries(inputs.map((input) => [input.name, Number(input.value)])),
    local: local === "" ? [] : local.split(",").map(Number),
  };
}

function analyze(gpus, launch = { arguments: {}, local: [] }) {
  const request = { ask: "analyze", program: state.program.file, kernel: at("kernel").value, gpus, left_out: state.program.left_out, ...launch };
  return state.analyzer.ask(request, state.program.module).trim().split("\n").map((line) => JSON.parse(line));
}

/** The command that says the same. */
function command(gpu, launch) {
  const given = Object.entries(launch.arguments).map(([name, value]) => ` --arg ${name}=${value}`).join("");
  const local = launch.local.length ? ` --local ${launch.local.join(",")}` : "";
  return `tripipe analyze ${state.program.file} -k ${at("kernel").value} -g "${gpu}"${given}${local}`;
}

function draw() {
  at("failure").textContent = "";
  const [gpu, other, launch] = [at("gpu").value, at("other").value, whatIf()];
  try {
    const [analysis] = analyze([gpu], launch);
    const isChanged = launch.local.length > 0 || Object.keys(launch.arguments).length > 0;
    const before = isChanged ? analyze([gpu])[0] : undefined;
    const others = other === "" ? [] : analyze(other === "all" ? state.gpus.map((each) => each.name) : [gpu, other], launch);
    const files = grouped(analysis.lines, (line) => line.file);
    at("result").replaceChildren(...[
      make("p", { class: "verdict" }, verdict(analysis)),
      isChanged ? make("p", { class: "about" }, "What changes with these numbers stands behind an arrow.") : null,
      make("div", { class: "columns" }, costs(analysis, before), facts(analysis, before)),
      others.length ? beside(others) : null,
      make("h2", {}, "Advice"), advice(analysis),
      make("h2", {}, "Source"), ...files.map(([file, lines]) => listing(analysis, file, lines)),
      make("h2", {}, "Loops and memory"), loops(analysis), accesses(analysis),
      ...analysis.left_out.map((sentence) => make("p", { class: "about" }, `Left out: ${sentence}.`)),
    ].filter((child) => child !== null));
    for (const list of document.querySelectorAll(".listing")) {
      const first = list.querySelector(".heat")?.closest("tr");
      list.scrollTop = Math.max(0, (first?.offsetTop ?? 0) - 6 * (first?.offsetHeight ?? 0));
    }
    at("command").textContent = command(gpu, launch);
  } catch (error) {
    at("failure").textContent = error.message;
    at("result").replaceChildren();
  }
}

function choose(program) {
  state.program = program;
  at("failure").textContent = "";
  try {
    state.kernels = JSON.parse(state.analyzer.ask({ ask: "kernels" }, program.module));
  } catch (error) {
    state.kernels = [];
    at("failure").textContent = error.message;
  }
  fill(at("kernel"), [["", state.kernels.map((kernel) => [kernel.name, kernel.name])]]);
  if (state.kernels.length) chooseKernel();
  else at("result").replaceChildren();
}

function chooseKernel() {
  const kernel = state.kernels.find((each) => each.name === at("kernel").value);
  const input = (name) => make("label", {}, `${name} `, make("input", { type: "number", step: 1, name }));
  at("integers").replaceChildren(...kernel.integers.map(input));
  at("local").value = "";
  at("local").disabled = kernel.required_local_size !== null;
  draw();
}

function chooseLadder() {
  const { key, left_out, module } = LADDERS.programs[at("program").value];
  choose({ file: `crates/ladders/spirv/${key}.spv`, left_out, module: bytesOf(module) });
}

async function chooseFiles() {
  const files = [...at("files").files];
  const module = files.find((file) => file.name.endsWith(".spv"));
  if (!module) {
    at("failure").textContent = "Choose a .spv file; a browser has no compiler for OpenCL C.";
    return;
  }
  const texts = files.filter((file) => file !== module).map(async (file) => [file.name, await file.text()]);
  choose({ file: module.name, left_out: AS_WRITTEN, module: new Uint8Array(await module.arrayBuffer()), sources: Object.fromEntries(await Promise.all(texts)) });
}

async function start() {
  state.analyzer = await Analyzer.load();
  state.gpus = JSON.parse(state.analyzer.ask({ ask: "gpus" }));
  const named = (gpu) => [gpu.name, gpu.name];
  const families = grouped(state.gpus, (gpu) => gpu.family).map(([family, gpus]) => [family, gpus.map(named)]);
  fill(at("gpu"), families, "Mali-G77");
  fill(at("other"), [["", [["", "no other GPU"], ["all", "all GPUs"]]], ...families]);
  const programs = LADDERS.programs.map((program, index) => ({ ...program, index }));
  const groups = grouped(programs, (program) => program.name);
  fill(at("program"), groups.map(([name, all]) => [name, all.map(({ index, options }) => [index, `${name} ${options}`.trim()])]));
  at("program").value = programs.findIndex((program) => program.name === "gemm/naive.cl");
  at("program").addEventListener("change", chooseLadder);
  at("kernel").addEventListener("change", chooseKernel);
  at("files").addEventListener("change", chooseFiles);
  for (const id of ["gpu", "other", "local", "integers"]) at(id).addEventListener("change", draw);
  at("choice").addEventListener("submit", (event) => event.preventDefault());
  chooseLadder();
}

const started = start().catch((error) => {
  at("failure").textContent = `This browser cannot run the analysis: ${error.message}`;
  at("result").replaceChildren();
});
