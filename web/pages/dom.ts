// Elements made of text: no text of a program is ever read as HTML.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | boolean | ((event: Event) => void)>;

export function element<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return made;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** A table whose columns of numbers are right-aligned. */
export function table(caption: string, heads: string[], rows: (Node | string | number | null)[][]): HTMLElement {
  const cell = (x: Node | string | number | null) =>
    typeof x === "number" ? element("td", { class: "number" }, shown(x)) : element("td", {}, x ?? "–");
  const isNumber = heads.map((_, k) => rows.some((row) => typeof row[k] === "number"));
  const head = element("tr", {}, ...heads.map((h, k) => element("th", isNumber[k] ? { class: "number", scope: "col" } : { scope: "col" }, h)));
  const body = rows.map((row) => element("tr", {}, ...row.map(cell)));
  // A wide one is moved by itself.
  return element("div", { class: "wide" }, element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body)));
}

/** A number with few digits, and large ones with their power of ten. */
export function shown(x: number): string {
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return x.toLocaleString("en");
  if (x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-3)) return x.toExponential(2).replace("e+", "e");
  return x.toPrecision(4).replace(/\.?0+$/, "");
}

/** Facts beside each other. */
export function facts(all: [string, string][]): HTMLElement {
  return element("dl", {}, ...all.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/** Gives the user a file. */
export function download(name: string, content: BlobPart, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
