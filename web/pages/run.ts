// The pane in which a kernel is run: its inputs, its results, and how far they are off.

import { bars } from "./chart";
import { byId, download, element, facts, shown, table } from "./dom";
import { lineButton } from "./panes";

interface Pin {
  name: string;
  class: "ipin" | "jpin" | "param" | "fout";
  format: string;
  count: number;
  range: [number, number];
  values: [string, string][];
}

interface Raised {
  flag: string;
  targets: number;
  outputs: string[];
  lines: { file: string; line: number; text: string }[];
}

interface Result {
  csv: string;
  i: string;
  j: string;
  ni: number;
  nj: number;
  pairs: number;
  errors: { output: string; rel_l2: number | null; rel_max: number | null; targets: (number | null)[] }[];
  raised: Raised[];
}

type Send = (request: Record<string, unknown>) => Promise<any>;

/** Values that a user has given, by what they are of; they are kept while the kernel is edited. */
const given = new Map<string, string>();

function field(key: string, value: string, label: string, attributes: Record<string, string> = {}): HTMLElement {
  const input = element("input", { value: given.get(key) ?? value, "data-key": key, input: (event) => given.set(key, (event.target as HTMLInputElement).value), ...attributes });
  return element("label", {}, `${label} `, input);
}

const valueOf = (form: HTMLElement, key: string) => form.querySelector<HTMLInputElement>(`[data-key="${CSS.escape(key)}"]`)?.value ?? "";

/** Fields for the pins of a class: a range for each, or pasted records. */
function fields(pins: Pin[], kind: "i" | "j", count: number): HTMLElement {
  const name = kind === "i" ? "Targets" : "Sources";
  const ranges = pins.map((pin) =>
    element("div", { class: "row" }, `${pin.name}${pin.count > 1 ? `[${pin.count}]` : ""} (${pin.format})`,
      field(`${kind}.${pin.name}.low`, String(pin.range[0]), "from", { type: "number", step: "any" }),
      field(`${kind}.${pin.name}.high`, String(pin.range[1]), "to", { type: "number", step: "any" })),
  );
  const paste = element("textarea", { "data-key": `${kind}.csv`, "aria-label": `${name} as CSV`, spellcheck: "false", input: (event) => given.set(`${kind}.csv`, (event.target as HTMLTextAreaElement).value) });
  paste.value = given.get(`${kind}.csv`) ?? "";
  return element("fieldset", {}, element("legend", {}, name),
    element("div", { class: "row" }, field(`${kind}.count`, String(count), "drawn", { type: "number", min: "1", max: "131072" }), field(`${kind}.seed`, kind === "i" ? "1" : "2", "seed", { type: "number", min: "0" })),
    ...ranges,
    element("details", {}, element("summary", {}, "or paste records as CSV"), paste));
}

/** The targets, sources and parameters of the form. */
function records(form: HTMLElement, pins: Pin[]): Record<string, unknown> {
  const of = (kind: "i" | "j") => {
    const csv = valueOf(form, `${kind}.csv`);
    if (csv.trim()) return { csv };
    const own = pins.filter((pin) => pin.class === `${kind}pin`);
    const range = (pin: Pin) => [Number(valueOf(form, `${kind}.${pin.name}.low`)), Number(valueOf(form, `${kind}.${pin.name}.high`))];
    const whole = (key: string) => Math.max(0, Math.trunc(Number(valueOf(form, key)) || 0));
    return { count: whole(`${kind}.count`), seed: whole(`${kind}.seed`), ranges: Object.fromEntries(own.map((pin) => [pin.name, range(pin)])) };
  };
  const params = pins.flatMap((pin) => pin.values).map(([name]) => [name, valueOf(form, `p.${name}`)]);
  return { i: of("i"), j: of("j"), params: Object.fromEntries(params) };
}

/** The form for a kernel's pins, whose records it tells. `send` adds the kernel to a request. */
export function form(pins: Pin[], send: Send, go: (line: number) => void): () => Record<string, unknown> {
  const results = element("div", { id: "result", "aria-live": "polite" });
  const params = pins.flatMap((pin) => pin.values.map(([name, value]) => field(`p.${name}`, value, `${name} (${pin.format})`)));
  const button = element("button", { type: "submit", class: "first", id: "start" }, "Run in the emulator");
  const made = element("form", {},
    fields(pins.filter((p) => p.class === "ipin"), "i", 100), fields(pins.filter((p) => p.class === "jpin"), "j", 1000),
    params.length > 0 ? element("fieldset", {}, element("legend", {}, "Parameters"), element("div", { class: "row" }, ...params.slice(0, 64))) : null,
    element("div", { class: "row" }, button));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    const started = performance.now();
    try {
      const found: Result = await send({ call: "run", ...records(made, pins) });
      show(results, found, performance.now() - started, go);
    } catch (why) {
      results.replaceChildren(element("p", { class: "error" }, (why as Error).message));
    }
    button.disabled = false;
  });
  byId("run").replaceChildren(made, results);
  return () => records(made, pins);
}

/** Rows of results that are shown; all are downloaded. */
const ROWS = 20;

function show(pane: HTMLElement, result: Result, ms: number, go: (line: number) => void) {
  const [head, ...rows] = result.csv.trimEnd().split("\n").map((line) => line.split(","));
  const flags = result.raised.map((r) => [
    r.flag,
    r.targets,
    r.outputs.join(", "),
    element("span", {}, ...r.lines.slice(0, 5).flatMap((l) => [lineButton(l.line, `${l.line}: ${l.text}`, go), element("br")])),
  ]);
  const inputs: [string, string][] = [["results", result.csv], ["targets", result.i], ["sources", result.j]];
  pane.replaceChildren(
    facts([["pairs", shown(result.pairs)], ["time", `${ms.toFixed(0)} ms`], ["pairs/s", shown(result.pairs / (ms / 1000))]]),
    result.raised.length > 0
      ? table("Flags, and the lines at which they can arise", ["flag", "targets", "outputs", "lines"], flags)
      : element("p", {}, "No target raised a flag."),
    table("Error against the kernel in real arithmetic", ["output", "relative, root of squares", "largest over largest"], result.errors.map((e) => [e.output, e.rel_l2, e.rel_max])),
    ...result.errors.map((e) => histogram(e.output, e.targets)),
    element("div", { class: "row" }, ...inputs.map(([name, text]) => element("button", { type: "button", click: () => download(`${name}.csv`, text, "text/csv") }, `${name}.csv`))),
    element("div", { class: "scroll" }, table(`Results${rows.length > ROWS ? `, the first ${ROWS} of ${rows.length}` : ""}`, head!, rows.slice(0, ROWS))),
  );
}

/** How many targets have which error, by quarters of a power of ten. */
function histogram(output: string, errors: (number | null)[]): HTMLElement {
  const logs = errors.filter((e): e is number => e !== null && e > 0).map((e) => Math.log10(e));
  const exact = errors.filter((e) => e === 0).length;
  const title = `Errors of ${output} by target${exact > 0 ? `; ${shown(exact)} have none` : ""}`;
  if (logs.length === 0) return element("p", { class: "soft" }, title);
  const [least, most] = [Math.floor(Math.min(...logs)), Math.max(Math.ceil(Math.max(...logs)), Math.floor(Math.min(...logs)) + 1)];
  const counts = new Array<number>((most - least) * 4).fill(0);
  for (const log of logs) counts[Math.min(counts.length - 1, Math.floor((log - least) * 4))]!++;
  const at = (k: number) => 10 ** (least + k / 4);
  return bars(title, counts.map((count, k) => ({ from: at(k), to: at(k + 1), count })));
}
