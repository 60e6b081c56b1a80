// The pane of formats: sliders of widths, and what each choice of them costs and errs.

import { type Mark, scatter } from "./chart";
import { byId, element, facts, shown, table } from "./dom";

interface Axis {
  name: string;
  number: number;
  low: number;
  high: number;
  of: string[];
}

/** What a choice costs, and how far it is off. */
interface Cost {
  error: number | null;
  register_bits: number;
  multiplier_bits: number;
  table_bits: number;
  cycles: number;
  flags: string[];
}

interface Point {
  of: Cost;
  bounds: { output: string; absolute: number | null; is_by_pair: boolean; why: string | null }[];
  ni: number;
  nj: number;
  text: string;
}

type Numbers = Record<string, number>;

interface Tried {
  numbers: Numbers;
  point: Point | null;
  /** Why there is no point. */
  missing: string | null;
}

/** What the pane needs of the page. */
export interface Around {
  send: (request: Record<string, unknown>) => Promise<any>;
  kernel: () => { name: string; text: string };
  options: () => Record<string, unknown>;
  /** Targets, sources and parameters, as the pane of runs has them. */
  records: () => Record<string, unknown>;
  take: (text: string) => void;
}

const error = (x: number | null) => (x === null ? "beyond all numbers" : x.toExponential(2));

export class Formats {
  private axes: Axis[] = [];
  private numbers: Numbers = {};
  private tried = new Map<string, Tried>();
  /** The kernel, options and records that the points are of. */
  private about = "";
  private timer = 0;
  private readonly found = element("div", { id: "points", "aria-live": "polite" });
  private readonly sliders = element("div", { class: "sliders" });

  constructor(private readonly around: Around) {
    byId("formats").append(this.sliders, this.found);
  }

  /** What points depend on besides their numbers. */
  private asked() {
    const { mhz, target } = this.around.options();
    return { kernel: this.around.kernel(), options: { mhz, target }, ...this.around.records() };
  }

  /** Shows the kernel as it is now. */
  async show() {
    const about = JSON.stringify(this.asked());
    if (about === this.about) return;
    this.about = about;
    this.tried.clear();
    try {
      const axes: Axis[] = await this.around.send({ call: "formats", kernel: this.around.kernel() });
      if (about !== this.about) return;
      const isOther = JSON.stringify(axes) !== JSON.stringify(this.axes);
      if (isOther) this.form(axes);
      await this.point(this.numbers);
    } catch (why) {
      this.about = "";
      this.found.replaceChildren(element("p", { class: "error" }, (why as Error).message));
    }
  }

  private form(axes: Axis[]) {
    this.axes = axes;
    this.numbers = Object.fromEntries(axes.map((axis) => [axis.name, axis.number]));
    this.sliders.replaceChildren(...axes.map((axis) => this.slider(axis)));
    if (axes.length === 0) this.sliders.replaceChildren(element("p", { class: "soft" }, "The kernel writes no format."));
  }

  private slider(axis: Axis): HTMLElement {
    const value = element("output", {}, String(axis.number));
    const input = element("input", { type: "range", min: String(axis.low), max: String(axis.high), step: "1", value: String(axis.number), "data-axis": axis.name });
    input.oninput = () => {
      value.textContent = input.value;
      this.numbers = { ...this.numbers, [axis.name]: Number(input.value) };
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.point(this.numbers), 60);
    };
    const sweep = element("button", { type: "button", title: `Each number of ${axis.name}`, click: () => void this.sweep(axis) }, "Sweep");
    const names = axis.of.slice(0, 6).join(", ") + (axis.of.length > 6 ? ", …" : "");
    return element("div", { class: "slider" }, element("label", {}, `${axis.name} `, input), value, sweep, names ? element("span", { class: "soft" }, names) : null);
  }

  private key(numbers: Numbers) {
    return JSON.stringify(this.axes.map((axis) => numbers[axis.name]));
  }

  /** Tries these numbers, and shows them beside all that were tried before. */
  private async point(numbers: Numbers) {
    const [key, about] = [this.key(numbers), this.about];
    if (!this.tried.has(key)) {
      const tried: Tried = { numbers, point: null, missing: null };
      try {
        tried.point = await this.around.send({ call: "point", numbers, ...this.asked() });
      } catch (why) {
        tried.missing = (why as Error).message;
      }
      if (about !== this.about) return;
      this.tried.set(key, tried);
    }
    if (key === this.key(this.numbers)) this.draw();
    document.documentElement.dataset.points = String(this.tried.size);
  }

  private async sweep(axis: Axis) {
    const { numbers, about } = this;
    for (let n = axis.low; n <= axis.high && about === this.about; n++) {
      await this.point({ ...numbers, [axis.name]: n });
      this.draw();
    }
  }

  /** Whether these are the numbers of the text. */
  private isWritten(numbers: Numbers) {
    return this.axes.every((axis) => numbers[axis.name] === axis.number);
  }

  private draw() {
    const now = this.tried.get(this.key(this.numbers));
    if (!now) return;
    const all = [...this.tried.values()].flatMap((t) => (t.point ? [{ numbers: t.numbers, point: t.point }] : []));
    const mark = (cost: (of: Cost) => number) => ({ numbers, point }: (typeof all)[number]): Mark => ({
      x: cost(point.of),
      y: point.of.error ?? Infinity,
      about: `${this.changes(numbers)}: ${error(point.of.error)}`,
      kind: numbers === now.numbers ? "now" : this.isWritten(numbers) ? "written" : "other",
    });
    const charts = ([["register bits", (of) => of.register_bits], ["multiplier bits", (of) => of.multiplier_bits], ["table bits", (of) => of.table_bits]] as [string, (of: Cost) => number][])
      .filter(([, cost]) => all.some(({ point }) => cost(point.of) > 0))
      .map(([name, cost]) => scatter(`Error against ${name}`, all.map(mark(cost))));
    this.found.replaceChildren(...(now.point ? this.facts(now.point, now.numbers) : [element("p", { class: "error" }, `${this.changes(now.numbers)}: ${now.missing}`)]), element("div", { class: "charts" }, ...(all.length > 0 ? charts : [])), this.table(all));
  }

  /** What differs from the text. */
  private changes(numbers: Numbers) {
    const changed = this.axes.filter((axis) => numbers[axis.name] !== axis.number).map((axis) => `${axis.name} at ${numbers[axis.name]}`);
    return changed.length > 0 ? changed.join(", ") : "as the text has it";
  }

  private facts(point: Point, numbers: Numbers): HTMLElement[] {
    const bound = (b: Point["bounds"][number]) => (b.absolute === null ? "none" : `${b.absolute.toExponential(2)}${b.is_by_pair ? " a pair" : ""}`);
    const take = element("button", { type: "button", class: "first", id: "take", click: () => this.around.take(point.text) }, "Take into the text");
    take.disabled = this.isWritten(numbers);
    const whys = point.bounds.filter((b) => b.why !== null);
    return [
      element("div", { class: "row" }, element("span", {}, `${this.changes(numbers)}, over ${shown(point.ni)} targets and ${shown(point.nj)} sources of the pane Run`), take),
      facts([
        ["error, relative L2", error(point.of.error)],
        ...point.bounds.slice(0, 4).map((b): [string, string] => [`proven for any input: ${b.output}`, bound(b)]),
        ["register bits of a lane", shown(point.of.register_bits)],
        ["multiplier bits", shown(point.of.multiplier_bits)],
        ["table bits", shown(point.of.table_bits)],
        ["clocks", shown(point.of.cycles)],
        ["flags", point.of.flags.length > 0 ? point.of.flags.join(", ") : "none"],
      ]),
      ...whys.slice(0, 4).map((b) => element("p", { class: "soft" }, `${b.output} has no bound: ${b.why}`)),
    ];
  }

  private table(all: { numbers: Numbers; point: Point }[]): HTMLElement {
    const rows = all.sort((a, b) => a.point.of.register_bits - b.point.of.register_bits).map(({ numbers, point }) => {
      const bounds = point.bounds.map((b) => b.absolute);
      const most = bounds.every((b) => b !== null) ? Math.max(...(bounds as number[])) : null;
      const choose = element("button", { type: "button", click: () => this.choose(numbers) }, this.changes(numbers));
      return [choose, point.of.error, most, point.of.register_bits, point.of.multiplier_bits, point.of.table_bits, point.of.cycles];
    });
    return table("All that were tried", ["formats", "error", "largest proven bound", "register bits", "multiplier bits", "table bits", "clocks"], rows);
  }

  private choose(numbers: Numbers) {
    this.numbers = numbers;
    for (const input of this.sliders.querySelectorAll<HTMLInputElement>("input")) {
      input.value = String(numbers[input.dataset.axis!]);
      input.closest(".slider")!.querySelector("output")!.textContent = input.value;
    }
    this.draw();
  }
}
