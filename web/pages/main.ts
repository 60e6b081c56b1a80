// The page: a kernel in an editor, and what the compiler makes of it beside.

import { Compiler, Failed } from "./compiler";
import { byId, element } from "./dom";
import { type Editor, type Problem, editor } from "./editor";
import { Fmm } from "./fmm";
import { Formats } from "./formats";
import { type Board, type Design, cost, drawing, verilog } from "./panes";
import { form } from "./run";
import { fragment, fromBase64, shared } from "./share";

interface About {
  version: string;
  kernels: { name: string; summary: string; text: string }[];
  targets: { name: string; mhz: number }[];
  boards: string[];
}

/** Data that the page holds itself where it is one file. */
const own = (id: string) => document.getElementById(id)?.textContent?.trim();

async function module(name: string): Promise<WebAssembly.Module> {
  const packed = own(name);
  if (packed) {
    const unpacked = new Blob([fromBase64(packed) as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  }
  return WebAssembly.compile(await (await fetch(name)).arrayBuffer());
}

function worker(): () => Worker {
  const source = own("worker");
  if (!source) return () => new Worker("worker.js");
  const address = URL.createObjectURL(new Blob([new TextDecoder().decode(fromBase64(source))], { type: "text/javascript" }));
  return () => new Worker(address);
}

/** Says something, until the next word of the same or of anything else. */
function notice(text: string, isBad = false, about = "") {
  const line = byId("notice");
  line.textContent = text;
  line.dataset.about = about;
  line.classList.toggle("bad", isBad);
}

/** The time of the last event of a name, for who measures the page. */
function mark(name: string) {
  performance.clearMarks(name);
  performance.mark(name);
}

/** The compilers, so that no work waits for that of another kind: of the language server, of designs and runs, and of estimates. */
interface Compilers {
  server: Compiler;
  builder: Compiler;
  estimator: () => Compiler;
}

/** The kernel that is shown, and the state of its design. */
class Playground {
  private name = "p2p_paper";
  private isSound = false;
  private isBusy = false;
  private isStale = false;
  private marks: (line: number) => void = () => {};
  private pins = "";
  private records: (() => Record<string, unknown>) | null = null;
  readonly editor: Editor;
  private readonly formats: Formats;

  /** Estimates what fills the boards, for the design that is shown. */
  private boards: () => void = () => {};
  private estimator: Compiler | null = null;

  constructor(private readonly about: About, private readonly compilers: Compilers, start: { name: string; text: string }) {
    this.name = start.name;
    this.editor = editor(byId("editor"), compilers.server, start.text, {
      found: (problems, isFirst) => this.found(problems, isFirst),
      moved: (line) => this.marks(line),
      failed: (why) => notice(why, true),
    });
    this.formats = new Formats({
      send: (request) => compilers.builder.call(request),
      kernel: () => this.kernel,
      options: () => this.options(),
      records: () => this.records?.() ?? {},
      take: (text) => this.editor.replace(text),
    });
    this.choices();
  }

  get kernel() {
    return { name: this.name, text: this.editor.view.state.doc.toString() };
  }

  open(name: string, text: string) {
    this.name = name;
    this.editor.replace(text);
  }

  private go = (line: number) => {
    this.editor.mark(line);
    this.marks(line);
  };

  private choices() {
    const examples = byId<HTMLSelectElement>("examples");
    examples.append(...this.about.kernels.map((k) => element("option", { value: k.name, title: k.summary }, k.name)));
    examples.value = this.name;
    examples.onchange = () => {
      const kernel = this.about.kernels.find((k) => k.name === examples.value);
      if (!kernel) return;
      history.replaceState(null, "", location.pathname + location.search);
      this.open(kernel.name, kernel.text);
      notice(kernel.summary);
    };
    byId("format").onclick = () => this.editor.format();
    byId("share").onclick = () => void this.share();
    byId("target").append(...this.about.targets.map((t) => element("option", {}, t.name)));
    const target = byId<HTMLSelectElement>("target");
    target.value = "generic";
    byId("options").onsubmit = (event) => event.preventDefault();
    byId("options").onchange = () => {
      byId<HTMLInputElement>("mhz").placeholder = String(this.about.targets.find((t) => t.name === target.value)?.mhz ?? 150);
      this.design();
    };
  }

  /** A pane is shown now. */
  chosen(pane: string) {
    if (pane === "cost") this.boards();
    if (pane === "formats" && this.isSound && this.records) void this.formats.show();
  }

  private async share() {
    try {
      history.replaceState(null, "", await fragment(this.kernel));
      const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
      notice(isCopied ? "The address of this page holds the kernel now, and is copied." : "The address of this page holds the kernel now.");
    } catch (why) {
      notice((why as Error).message, true);
    }
  }

  private found(problems: Problem[], isFirst: boolean) {
    if (isFirst) mark("diagnostics");
    const errors = problems.filter((p) => p.severity === "error").length;
    byId("count").textContent = problems.length > 0 ? `(${problems.length})` : "";
    const item = (p: Problem) => {
      const place = element("button", { class: "place", type: "button", click: () => this.goTo(p) }, `line ${p.line}`);
      const fixes = p.remedies.map((r) => element("button", { class: "fix", type: "button", click: () => r.apply() }, r.title));
      return element("li", {}, place, element("span", { class: p.severity }, `${p.severity} ${p.code} `), p.message, ...fixes);
    };
    const shown = problems.slice(0, 100).map(item);
    byId("problems").replaceChildren(...(shown.length > 0 ? shown : [element("li", { class: "soft" }, "There are none.")]));
    byId("problems").dataset.count = String(problems.length);
    this.isSound = errors === 0;
    this.stale(!this.isSound);
    if (this.isSound && isFirst) this.design();
  }

  private goTo(problem: Problem) {
    const { view } = this.editor;
    view.dispatch({ selection: { anchor: Math.min(problem.from, view.state.doc.length) }, scrollIntoView: true });
    view.focus();
  }

  private stale(isStale: boolean) {
    for (const id of ["drawing", "cost", "formats", "verilog"]) byId(id).classList.toggle("stale", isStale);
  }

  private options() {
    const number = (id: string) => {
      const text = byId<HTMLInputElement>(id).value;
      return text === "" ? undefined : Number(text);
    };
    const whole = (id: string) => Math.trunc(number(id) ?? 1);
    return { target: byId<HTMLSelectElement>("target").value, mhz: number("mhz"), pipelines: whole("pipelines"), ii: whole("ii") };
  }

  /** Makes the design of the kernel as it is now; while one is made, only the last one asked for follows. */
  private design() {
    if (this.isBusy) {
      this.isStale = true;
      return;
    }
    this.isBusy = true;
    void this.make().finally(() => {
      this.isBusy = false;
      if (this.isStale) {
        this.isStale = false;
        if (this.isSound) this.design();
      }
    });
  }

  /** Shows what fills the boards, unless the kernel has changed meanwhile. */
  private async estimate(kernel: { name: string; text: string }, design: Design) {
    this.boards = () => {};
    this.estimator ??= this.compilers.estimator();
    const rows: Board[] = [];
    for (const board of this.about.boards) {
      const none = { board, mhz: 0, pipelines: 0, pairs_per_second: 0, tables: 0, multipliers: 0 };
      rows.push(await this.estimator.call({ call: "board", kernel, board }).catch((why: Failed) => ({ ...none, missing: why.message })));
      if (kernel.text !== this.kernel.text) return;
      cost(design, rows, this.go);
    }
  }

  private async make() {
    const kernel = this.kernel;
    const isNow = () => kernel.text === this.kernel.text;
    try {
      const design: Design = await this.compilers.builder.call({ call: "design", kernel, options: this.options() });
      if (!isNow()) return;
      this.marks = drawing(design, this.go);
      cost(design, null, this.go);
      verilog(kernel.name, design);
      this.stale(false);
      if (byId("notice").dataset.about === "design") notice("");
      mark("design");
      document.documentElement.dataset.design = String(Number(document.documentElement.dataset.design ?? 0) + 1);
      const pins = await this.compilers.builder.call({ call: "pins", kernel });
      if (JSON.stringify(pins) !== this.pins) {
        this.pins = JSON.stringify(pins);
        this.records = form(pins, (request) => this.compilers.builder.call({ ...request, kernel: this.kernel }), this.go);
      }
      this.boards = () => this.estimate(kernel, design);
      for (const pane of ["cost", "formats"]) if (!byId(pane).hidden) this.chosen(pane);
    } catch (why) {
      if (!isNow()) return;
      this.stale(true);
      notice((why as Error).message, true, "design");
    }
  }
}

/** Tabs, by mouse and by arrow keys; `shown` is told of each that is chosen. */
function tabs(shown: (pane: string) => void) {
  const all = [...byId("tabs").querySelectorAll<HTMLButtonElement>("[role=tab]")];
  const choose = (tab: HTMLButtonElement) => {
    for (const one of all) {
      const isChosen = one === tab;
      one.setAttribute("aria-selected", String(isChosen));
      one.tabIndex = isChosen ? 0 : -1;
      byId(one.getAttribute("aria-controls")!).hidden = !isChosen;
    }
    byId("options").hidden = tab.id === "tab-run";
    shown(tab.getAttribute("aria-controls")!);
  };
  all.forEach((tab, k) => {
    tab.onclick = () => choose(tab);
    tab.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = all[(k + step + all.length) % all.length]!;
      choose(next);
      next.focus();
    };
  });
}

function theme() {
  const root = document.documentElement;
  byId("theme").onclick = () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  };
}

/** Shows the page that the address names behind its #; a kernel there is for that of kernels. */
function pages(fmm: Fmm) {
  const show = () => {
    const isFmm = location.hash === "#fmm";
    byId("fmm").hidden = !isFmm;
    for (const id of ["kernels", "of-kernels"]) byId(id).hidden = isFmm;
    byId("to-fmm").setAttribute("aria-current", isFmm ? "page" : "false");
    byId("to-kernels").setAttribute("aria-current", isFmm ? "false" : "page");
    if (isFmm) fmm.begin();
  };
  window.addEventListener("hashchange", show);
  show();
}

/** Seconds that an FMM may take. */
const PATIENCE = 120;

async function main() {
  let page: Playground | null = null;
  tabs((pane) => page?.chosen(pane));
  theme();
  const [code, make] = [await module("compiler.wasm"), worker()];
  const server = new Compiler(code, make, () => page?.editor.restarted());
  const builder = new Compiler(code, make, () => {});
  const about: About = await server.call({ call: "about" });
  byId("notice").title = `pairforge ${about.version}`;
  let start = about.kernels.find((k) => k.name === "p2p_paper")!;
  const fromAddress = async () => {
    try {
      return await shared(location.hash);
    } catch (why) {
      notice((why as Error).message, true);
      return null;
    }
  };
  const given = await fromAddress();
  if (given) start = { summary: "", ...given };
  page = new Playground(about, { server, builder, estimator: () => new Compiler(code, make, () => {}) }, start);
  pages(new Fmm({
    solver: async () => new Compiler(await module("fmm.wasm"), make, () => {}, { name: "FMM", patience: PATIENCE }),
    kernel: () => page!.kernel,
    shipped: (name) => about.kernels.find((k) => k.name === name)!,
  }));
  window.addEventListener("hashchange", async () => {
    const next = await fromAddress();
    if (next) page!.open(next.name, next.text);
  });
}

main().catch((why) => notice(`The compiler could not be loaded: ${(why as Error).message}`, true));
