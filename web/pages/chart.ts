// Charts as SVG.

import { element } from "./dom";

const SPACE = "http://www.w3.org/2000/svg";

type Numbers = Record<string, string | number>;

/** A drawing of so many units, and what adds shapes to it; a shape's title is shown where the mouse rests. */
function drawing(title: string, width: number, height: number) {
  const set = (node: Element, attributes: Numbers) => Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, String(value)));
  const svg = document.createElementNS(SPACE, "svg");
  set(svg, { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title });
  const add = (name: string, attributes: Numbers, text?: string, about?: string) => {
    const made = document.createElementNS(SPACE, name);
    set(made, attributes);
    if (text !== undefined) made.textContent = text;
    if (about !== undefined) {
      const words = document.createElementNS(SPACE, "title");
      words.textContent = about;
      made.append(words);
    }
    svg.append(made);
  };
  return { add, figure: () => element("figure", {}, element("figcaption", {}, title), svg as unknown as HTMLElement) };
}

/** Targets with errors between two values. */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

/** How many targets have which error: bins of equal width in the logarithm, one behind the other. */
export function bars(title: string, bins: Bin[]): HTMLElement {
  const [width, height, left, top, bottom] = [520, 150, 40, 8, 24];
  const { add, figure } = drawing(title, width, height);
  const [least, most] = [Math.log10(bins[0]!.from), Math.log10(bins[bins.length - 1]!.to)];
  const x = (value: number) => left + ((Math.log10(value) - least) / (most - least)) * (width - left - 8);
  const tallest = Math.max(...bins.map((b) => b.count));
  for (const { from, to, count } of bins) {
    const tall = (count / tallest) * (height - top - bottom);
    const place = { x: x(from) + 0.5, y: height - bottom - tall, width: Math.max(1, x(to) - x(from) - 1), height: tall };
    add("rect", { class: "bar", ...place }, undefined, `${count} targets at ${from.toExponential(1)} to ${to.toExponential(1)}`);
  }
  add("line", { class: "axis", x1: left, x2: width - 8, y1: height - bottom, y2: height - bottom });
  const [first, last] = [Math.ceil(least - 1e-9), Math.floor(most + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first) / 8));
  for (let decade = first; decade <= last; decade += every) {
    add("text", { class: "soft", x: x(10 ** decade), y: height - 7, "font-size": 12, "text-anchor": "middle" }, `1e${decade}`);
  }
  add("text", { class: "soft", x: left - 6, y: top + 10, "font-size": 12, "text-anchor": "end" }, String(tallest));
  return figure();
}

/** A stretch of time in seconds. */
export interface Span {
  stage: string;
  start: number;
  end: number;
}

/** Stages in time, a row each. */
export function timeline(title: string, spans: Span[]): HTMLElement {
  const stages = [...new Set(spans.map((s) => s.stage))];
  const [width, row, left, right, bottom] = [520, 22, 52, 76, 22];
  const height = stages.length * row + bottom;
  const { add, figure } = drawing(title, width, height);
  const last = Math.max(...spans.map((s) => s.end), 1e-9);
  const x = (seconds: number) => left + (seconds / last) * (width - left - right);
  const ms = (seconds: number) => `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  stages.forEach((stage, k) => {
    const own = spans.filter((s) => s.stage === stage);
    const middle = k * row + row / 2 + 4;
    add("text", { class: "ink", x: left - 6, y: middle, "font-size": 12, "text-anchor": "end" }, stage);
    for (const { start, end } of own) {
      add("rect", { class: "bar", x: x(start), y: k * row + 4, width: Math.max(1, x(end) - x(start)), height: row - 8 }, undefined, `${stage}: ${ms(end - start)}`);
    }
    const end = Math.max(...own.map((s) => s.end));
    add("text", { class: "soft", x: x(end) + 5, y: middle, "font-size": 12 }, ms(own.reduce((sum, s) => sum + s.end - s.start, 0)));
  });
  add("line", { class: "axis", x1: left, x2: x(last), y1: height - bottom, y2: height - bottom });
  add("text", { class: "soft", x: left, y: height - 6, "font-size": 12 }, "0");
  add("text", { class: "soft", x: x(last), y: height - 6, "font-size": 12, "text-anchor": "middle" }, ms(last));
  return figure();
}

/** A point of a chart on logarithmic axes. */
export interface Mark {
  x: number;
  y: number;
  about: string;
  /** The one that is looked at, that of the text, or another. */
  kind: "now" | "written" | "other";
}

/** Ends of a logarithmic axis, and its ticks. */
function axis(values: number[]): { low: number; high: number; ticks: number[] } {
  const logs = values.filter((v) => v > 0 && Number.isFinite(v)).map(Math.log10);
  const [least, most] = logs.length > 0 ? [Math.min(...logs), Math.max(...logs)] : [0, 0];
  const room = Math.max(0.05, 0.06 * (most - least));
  const [low, high] = [least - room, most + room];
  const [first, last] = [Math.floor(low), Math.ceil(high)];
  const steps = high - low > 2.5 ? [1] : high - low > 0.8 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9];
  const all = Array.from({ length: last - first + 1 }, (_, k) => first + k).flatMap((decade) => steps.map((s) => s * 10 ** decade));
  const within = all.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
  const every = Math.ceil(within.length / 7);
  return { low, high, ticks: within.filter((_, k) => k % every === 0) };
}

/** Errors against a cost, and a line along the least error of each cost. Errors of 0 and those beyond all numbers lie on the frame. */
export function scatter(title: string, marks: Mark[]): HTMLElement {
  const [width, height, left, right, top, bottom] = [340, 260, 58, 10, 10, 26];
  const { add, figure } = drawing(title, width, height);
  const [xs, ys] = [axis(marks.map((m) => m.x)), axis(marks.map((m) => m.y))];
  const within = (value: number, { low, high }: { low: number; high: number }) => (Math.min(high, Math.max(low, Math.log10(value))) - low) / (high - low);
  const x = (value: number) => left + within(value, xs) * (width - left - right);
  const y = (value: number) => height - bottom - within(value, ys) * (height - top - bottom);
  const short = (tick: number) => (tick >= 1e5 || tick < 0.01 ? tick.toExponential(0).replace("e+", "e") : String(Number(tick.toPrecision(2))));
  for (const tick of xs.ticks) {
    add("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: height - bottom });
    add("text", { class: "soft", x: x(tick), y: height - 8, "font-size": 12, "text-anchor": "middle" }, short(tick));
  }
  for (const tick of ys.ticks) {
    add("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) });
    add("text", { class: "soft", x: left - 6, y: y(tick) + 4, "font-size": 12, "text-anchor": "end" }, short(tick));
  }
  let [line, best] = ["", Infinity];
  for (const mark of [...marks].sort((a, b) => a.x - b.x || a.y - b.y)) {
    if (mark.y >= best) continue;
    best = mark.y;
    line += line === "" ? `M${x(mark.x)} ${y(mark.y)}` : `H${x(mark.x)}V${y(mark.y)}`;
  }
  add("path", { class: "front", d: line });
  const order = ["other", "written", "now"];
  for (const mark of [...marks].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))) {
    add("circle", { class: `mark ${mark.kind}`, cx: x(mark.x), cy: y(mark.y), r: mark.kind === "now" ? 6 : 4 }, undefined, mark.about);
  }
  return figure();
}
