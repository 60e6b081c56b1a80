// The page of the FMM: particles, options, and what a run found.

import { type Bin, type Span, bars, timeline } from "./chart";
import { type Boxes, type Cloud, View } from "./cloud";
import type { Compiler } from "./compiler";
import { byId, element, facts, shown, table } from "./dom";

interface Kernel {
  name: string;
  text: string;
}

interface Pairs {
  p2p: number;
  m2l: number;
}

interface Errors {
  potential_rel_l2: number | null;
  gradient_rel_l2: number | null;
}

interface Result {
  stats: {
    n: number;
    order: number;
    leaf: number;
    levels: number;
    seconds: { total: number; p2p: number };
    timeline: Span[];
    pairs: Pairs;
    by_level: (Pairs & { cells: number; leaves: number; particles: number })[];
    error: Errors | null;
    error_by_target: { of: string; exact: number; histogram: { from: number; to: number; targets: number }[] } | null;
  };
  leaves: number;
  command: string;
  bytes: ArrayBuffer;
}

/** Bytes of a file at most. */
const LARGEST = 64 << 20;

/** What the page needs of the rest: its solver, which is loaded when it is first asked for, the kernel of the editor, and shipped ones. */
export interface Around {
  solver: () => Promise<Compiler>;
  kernel: () => Kernel;
  shipped: (name: string) => Kernel;
}

const field = <T extends HTMLElement = HTMLInputElement>(name: string) => byId<T>(`fmm-${name}`);

/** The columns that come beside a result. */
function cloud({ stats, leaves, bytes }: Result): Cloud {
  let at = 0;
  const column = (count: number) => {
    const made = new Float32Array(bytes, at, count);
    at += 4 * count;
    return made;
  };
  const three = (count: number): Cloud["at"] => [column(count), column(count), column(count)];
  return { at: three(stats.n), potential: column(stats.n), centre: three(leaves), edge: column(leaves) };
}

/** Parameters as `kappa=4, eps=0.1`. */
function params(text: string): Record<string, number> {
  const all = text.split(/[\s,;]+/).filter((part) => part !== "").map((part) => {
    const [name, value] = part.split("=");
    if (!name || value === undefined || value === "" || !Number.isFinite(Number(value))) throw new Error(`A parameter is given as NAME=VALUE, not ${part}.`);
    return [name, Number(value)];
  });
  return Object.fromEntries(all);
}

/** Makes the page live; it is loaded when `begin` is called. */
export class Fmm {
  private readonly view = new View();
  private file: File | null = null;
  private solver: Promise<Compiler> | null = null;

  constructor(private readonly around: Around) {
    byId("fmm-view").append(this.view.canvas, this.view.legend);
    field("form").onsubmit = (event) => {
      event.preventDefault();
      void this.run();
    };
    field<HTMLSelectElement>("boxes").onchange = (event) => this.view.choose((event.target as HTMLSelectElement).value as Boxes);
    field<HTMLSelectElement>("kernel").onchange = () => this.chosen();
    field("stop").onclick = async () => (await this.solver)?.stop();
    this.files();
    this.chosen();
  }

  /** Loads the solver, before anybody runs it. */
  begin() {
    this.solver ??= this.around.solver().catch((why) => {
      this.solver = null;
      throw why;
    });
    void this.solver.catch((why) => this.say(`The FMM could not be loaded: ${(why as Error).message}`, true));
  }

  private say(text: string, isBad = false) {
    field("notice").textContent = text;
    field("notice").classList.toggle("bad", isBad);
  }

  private files() {
    const page = byId("fmm");
    const take = (file: File | null | undefined) => {
      if (file && file.size > LARGEST) return this.say(`A file has at most ${LARGEST >> 20} MiB here; the command takes larger ones.`, true);
      this.file = file ?? null;
      field("random").toggleAttribute("disabled", this.file !== null);
      field("name").textContent = this.file ? this.file.name : "";
      field("clear").hidden = this.file === null;
    };
    const input = field("file");
    input.onchange = () => take(input.files?.[0]);
    field("clear").onclick = () => {
      input.value = "";
      take(null);
    };
    page.ondragover = (event) => event.preventDefault();
    page.ondrop = (event) => {
      event.preventDefault();
      take(event.dataTransfer?.files[0]);
    };
  }

  /** A kernel in real numbers takes longer than 1/r in native code. */
  private chosen() {
    const kernel = field<HTMLSelectElement>("kernel").value;
    field("params-of").hidden = kernel === "";
    if (kernel === "yukawa" && field("params").value === "") field("params").value = "kappa=4";
    if (kernel === "own" && field("params").value === "kappa=4") field("params").value = "";
  }

  private async request(): Promise<[Record<string, unknown>, ArrayBuffer | null]> {
    const number = (name: string) => Number(field(name).value);
    const whole = (name: string) => Math.max(0, Math.trunc(number(name) || 0));
    const kernel = field<HTMLSelectElement>("kernel").value;
    const p2p = kernel === "yukawa" ? this.around.shipped("p2p_yukawa") : kernel === "own" ? this.around.kernel() : null;
    const asked = {
      call: "fmm",
      n: whole("n"),
      dist: field<HTMLSelectElement>("dist").value,
      seed: whole("seed"),
      particles: this.file?.name ?? null,
      p2p: p2p && { name: p2p.name, text: p2p.text },
      params: p2p ? params(field("params").value) : {},
      tol: field("tol").value === "" ? null : number("tol"),
      check: whole("check"),
    };
    return [asked, (await this.file?.arrayBuffer()) ?? null];
  }

  private async run() {
    const [start, stop] = [field<HTMLButtonElement>("start"), field<HTMLButtonElement>("stop")];
    start.disabled = true;
    this.begin();
    try {
      const [asked, file] = await this.request();
      this.say("The FMM is being loaded.");
      const solver = await this.solver!;
      this.say("The FMM runs.");
      stop.hidden = false;
      const started = performance.now();
      const result: Result = await solver.call(asked, file);
      const seconds = (performance.now() - started) / 1000;
      this.view.show(cloud(result));
      this.results(result, seconds);
      this.say("");
      document.documentElement.dataset.fmm = String(Number(document.documentElement.dataset.fmm ?? 0) + 1);
    } catch (why) {
      this.say((why as Error).message, true);
    }
    stop.hidden = true;
    start.disabled = false;
  }

  private results({ stats, leaves, command }: Result, seconds: number) {
    const error = (x: number | null | undefined) => (typeof x === "number" ? x.toExponential(2) : "–");
    const kept = stats.seconds.p2p - stats.timeline.filter((s) => s.stage === "P2P").reduce((sum, s) => sum + s.end - s.start, 0);
    const spread = stats.error_by_target;
    const bins: Bin[] = (spread?.histogram ?? []).map(({ from, to, targets }) => ({ from, to, count: targets }));
    const level = (l: Result["stats"]["by_level"][number], k: number) => [k, l.cells, l.leaves, l.particles, l.m2l, l.p2p];
    const line = element("code", { id: "fmm-command", tabindex: "0" }, command);
    byId("fmm-found").replaceChildren(
      facts([
        ["time", `${stats.seconds.total.toFixed(3)} s`],
        ["with direct sums and the search for options", `${seconds.toFixed(2)} s`],
        ["error of the gradient", error(stats.error?.gradient_rel_l2)],
        ["error of the potential", error(stats.error?.potential_rel_l2)],
        ["particles", shown(stats.n)],
        ["order", shown(stats.order)],
        ["particles a leaf, at most", shown(stats.leaf)],
        ["leaves", shown(leaves)],
        ["pairs of particles", shown(stats.pairs.p2p)],
        ["pairs of cells", shown(stats.pairs.m2l)],
      ]),
      timeline("Stages in time, on one thread", stats.timeline),
      ...(kept > 1e-4 ? [element("p", { class: "soft" }, `P2P, ${(1000 * kept).toFixed(0)} ms: its sums were kept from an earlier run that looked for the order.`)] : []),
      spread && bins.length > 0
        ? bars(`Relative error of the ${spread.of} by target${spread.exact > 0 ? `; ${shown(spread.exact)} have none` : ""}`, bins)
        : element("p", { class: "soft" }, "No target has an error."),
      table("Tree and interactions by level", ["level", "cells", "leaves", "particles in leaves", "M2L", "P2P"], stats.by_level.map(level)),
      element("p", {}, "The same by the command: ", line),
    );
  }
}
