// The panes of a design: drawing, cost, Verilog.

import { byId, download, element, facts, shown, table } from "./dom";
import { zip } from "./zip";

interface Cost {
  operator_bits: number;
  delay_bits: number;
  multipliers: number;
  rom_bits: number;
}

export interface Design {
  files: { name: string; text: string }[];
  drawing: string | null;
  schedule: Cost & {
    target: string;
    mhz: number;
    cycles: number;
    tables: number;
    registers: number;
    memories: number;
    flag_bits: number;
    lines: (Cost & { file: string | null; line: number; text: string; operators: number })[];
    period: number;
    paths: { of: string; ns: number; slack: number }[];
  };
  register_bits: number;
  table_bits: number;
}

export interface Board {
  board: string;
  mhz: number;
  pipelines: number;
  pairs_per_second: number;
  tables: number;
  multipliers: number;
  missing: string | null;
}

/** A line of the source, as a button that leads there. */
export function lineButton(line: number, text: string, go: (line: number) => void): HTMLElement {
  return element("button", { type: "button", title: `To line ${line}`, click: () => go(line) }, text);
}

/** Draws the pipeline. Its values lead to their lines, and back: `mark` marks those of a line. */
export function drawing(design: Design, go: (line: number) => void): (line: number) => void {
  const pane = byId("drawing");
  if (design.drawing === null) {
    pane.replaceChildren(element("p", { class: "soft" }, "The pipeline has more than 400 operators and pins, too many to be drawn here; pairforge explain --svg draws it."));
    return () => {};
  }
  const parsed = new DOMParser().parseFromString(design.drawing, "image/svg+xml").documentElement;
  if (parsed.namespaceURI !== "http://www.w3.org/2000/svg" || parsed.tagName !== "svg") throw new Error("the drawing is no SVG");
  const svg = document.importNode(parsed, true) as unknown as SVGSVGElement;
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Pipeline: a row a value, clocks from left to right");
  const values = [...svg.querySelectorAll<SVGElement>("[data-line]")];
  const line = (target: EventTarget | null) => Number((target as Element | null)?.closest?.("[data-line]")?.getAttribute("data-line") ?? 0);
  for (const value of values) {
    if (value.tagName === "text") continue;
    value.setAttribute("tabindex", "0");
    value.setAttribute("role", "link");
    value.setAttribute("aria-label", `${value.querySelector("title")?.textContent ?? "pin"}, to line ${line(value)}`);
  }
  svg.addEventListener("click", (event) => line(event.target) && go(line(event.target)));
  svg.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && line(event.target)) go(line(event.target));
  });
  const scroll = element("div", { class: "scroll" });
  scroll.append(svg);
  pane.replaceChildren(scroll);
  return (at) => {
    let first: SVGElement | null = null;
    for (const value of values) {
      const isHere = line(value) === at;
      value.classList.toggle("here", isHere);
      if (isHere) first ??= value;
    }
    if (first && !pane.hidden) {
      const [box, frame] = [first.getBoundingClientRect(), scroll.getBoundingClientRect()];
      if (box.top < frame.top || box.bottom > frame.bottom) scroll.scrollTop += box.top - frame.top - frame.height / 3;
    }
  };
}

/** What a lane costs, by line, and what fills each board. */
export function cost(design: Design, boards: Board[] | null, go: (line: number) => void) {
  const of = design.schedule;
  const longest = of.paths.reduce((a, b) => (b.ns > a.ns ? b : a));
  const lines = of.lines.map((l) => [l.file === null ? lineButton(l.line, String(l.line), go) : `${l.file}:${l.line}`, l.text, l.operators, l.operator_bits, l.delay_bits, l.multipliers, l.rom_bits]);
  const percent = (x: number) => `${(100 * x).toFixed(0)} %`;
  const rows = (all: Board[]) =>
    all.map((b) => [b.board, b.mhz ? `${b.mhz} MHz` : null, b.missing ?? b.pipelines, b.pipelines ? b.pairs_per_second : null, b.pipelines ? percent(b.tables) : null, b.pipelines ? percent(b.multipliers) : null]);
  byId("cost").replaceChildren(
    facts([
      ["register bits of a lane", shown(design.register_bits)],
      ["clocks from pins to outputs", shown(of.cycles)],
      ["longest path", `${longest.ns.toFixed(2)} ns of ${of.period.toFixed(2)}`],
      ["lookup tables, estimated", shown(of.tables)],
      ["multipliers", shown(of.multipliers)],
      ["bits of function tables", shown(design.table_bits)],
    ]),
    table("By line of the source", ["line", "text", "operators", "register bits", "of delays", "multipliers", "table bits"], lines),
    boards
      ? table("Pipelines that fill each board, by an estimate; its link is left out", ["board", "clock", "pipelines", "pairs/s", "of its tables", "of its multipliers"], rows(boards))
      : element("p", { class: "soft" }, "Boards are being estimated."),
    table("Time between two registers, by the model of the target", ["path", "ns", "slack"], of.paths.map((p) => [p.of, p.ns, p.slack])),
  );
}

/** Characters of a file that are shown; all are downloaded. */
const SHOWN = 200_000;

/** The files of the design. */
export function verilog(name: string, design: Design) {
  const text = element("pre", { tabindex: "0", "aria-label": "Text of the file" });
  const show = (k: number) => {
    const file = design.files[k]!;
    text.textContent = file.text.length > SHOWN ? `${file.text.slice(0, SHOWN)}\n... ${file.text.length - SHOWN} more characters, which the download has\n` : file.text;
  };
  const choice = element(
    "select",
    { "aria-label": "File", change: (event) => show((event.target as HTMLSelectElement).selectedIndex) },
    ...design.files.map((f) => element("option", {}, f.name)),
  );
  const one = element("button", { type: "button", id: "download", click: () => download(design.files[choice.selectedIndex]!.name, design.files[choice.selectedIndex]!.text) }, "Download");
  const all = element("button", { type: "button", click: () => download(`${name}.zip`, zip(design.files), "application/zip") }, "Folder as zip");
  show(0);
  byId("verilog").replaceChildren(element("div", { class: "row" }, choice, one, all), element("div", { class: "scroll" }, text));
}
