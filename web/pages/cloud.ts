// Particles and boxes of the tree on a canvas, seen along any direction.

import { element } from "./dom";

/** Columns of numbers in box units, in which the box runs from -1/2 to 1/2. */
export interface Cloud {
  at: [Float32Array, Float32Array, Float32Array];
  potential: Float32Array;
  /** Leaves: their centres and edges. */
  centre: [Float32Array, Float32Array, Float32Array];
  edge: Float32Array;
}

/** Boxes that are drawn: none, squares where the leaves meet the middle plane, or all leaves. */
export type Boxes = "none" | "middle" | "all";

type Colour = [number, number, number];

/** Colours from least to greatest: of potentials of one sign, and of both, about 0. */
const ONE: Colour[] = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const BOTH: Colour[] = [[33, 102, 172], [103, 169, 207], [150, 150, 150], [239, 138, 98], [178, 24, 43]];

function mixed(colours: Colour[], part: number): Colour {
  const place = Math.min(1, Math.max(0, part)) * (colours.length - 1);
  const k = Math.min(colours.length - 2, Math.floor(place));
  const [a, b] = [colours[k]!, colours[k + 1]!];
  return [0, 1, 2].map((c) => a[c]! + (b[c]! - a[c]!) * (place - k)) as Colour;
}

/** The potentials between which colours change: all but the outermost hundredths. */
function range(potential: Float32Array): { low: number; high: number; colours: Colour[] } {
  const step = Math.max(1, Math.floor(potential.length / 20_000));
  const some = potential.filter((x, k) => k % step === 0 && Number.isFinite(x)).sort();
  const [low, high] = [some[Math.floor(0.01 * (some.length - 1))] ?? 0, some[Math.ceil(0.99 * (some.length - 1))] ?? 0];
  const most = Math.max(-low, high);
  return low < 0 && high > 0 ? { low: -most, high: most, colours: BOTH } : { low, high, colours: ONE };
}

/** A view of a cloud. Its canvas is turned by dragging and by the arrow keys, and comes nearer by + and -. */
export class View {
  readonly canvas = element("canvas", { tabindex: "0", role: "img" });
  readonly legend = element("div", { class: "legend" });
  private cloud: Cloud | null = null;
  private boxes: Boxes = "middle";
  private turn = -0.6;
  private tilt = 0.45;
  private zoom = 1;
  private isAsked = false;
  /** Colours of the particles as the canvas has them. */
  private colours = new Uint32Array(0);

  constructor() {
    let from: [number, number] | null = null;
    const { canvas } = this;
    canvas.onpointerdown = (event) => {
      from = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = (event) => {
      if (!from) return;
      this.turned(0.01 * (event.clientX - from[0]), 0.01 * (event.clientY - from[1]));
      from = [event.clientX, event.clientY];
    };
    canvas.onpointerup = canvas.onpointercancel = () => (from = null);
    canvas.onkeydown = (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (step) this.turned(step[0]!, step[1]!);
      else if (event.key === "+" || event.key === "-") this.zoom = Math.min(20, Math.max(0.5, this.zoom * (event.key === "+" ? 1.25 : 0.8)));
      else return;
      event.preventDefault();
      this.draw();
    };
    new ResizeObserver(() => this.draw()).observe(canvas);
    // The theme has changed.
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }

  show(cloud: Cloud) {
    this.cloud = cloud;
    const { low, high, colours } = range(cloud.potential);
    const table = Array.from({ length: 256 }, (_, k) => mixed(colours, k / 255));
    const packed = Uint32Array.from(table, ([r, g, b]) => 0xff000000 | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r));
    const scale = high > low ? 255 / (high - low) : 0;
    this.colours = Uint32Array.from(cloud.potential, (x) => packed[Math.min(255, Math.max(0, Math.round((x - low) * scale) || 0))]!);
    const bar = element("canvas", { width: "256", height: "1", "aria-hidden": "true" });
    const context = bar.getContext("2d")!;
    table.forEach((c, k) => {
      context.fillStyle = `rgb(${c.map(Math.round).join()})`;
      context.fillRect(k, 0, 1, 1);
    });
    this.legend.replaceChildren(element("span", {}, low.toPrecision(3)), bar, element("span", {}, high.toPrecision(3)));
    this.canvas.setAttribute("aria-label", `${cloud.potential.length} particles, coloured by potential from ${low.toPrecision(3)} to ${high.toPrecision(3)}; arrow keys turn them`);
    this.draw();
  }

  choose(boxes: Boxes) {
    this.boxes = boxes;
    this.draw();
  }

  private turned(turn: number, tilt: number) {
    this.turn += turn;
    this.tilt = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, this.tilt + tilt));
    this.draw();
  }

  /** Draws once before the next picture of the screen, however often it is asked for. */
  draw() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.drawn();
    });
  }

  private drawn() {
    const { canvas, cloud } = this;
    const size = Math.round(canvas.clientWidth * devicePixelRatio);
    if (size === 0) return;
    if (canvas.width !== size) canvas.width = canvas.height = size;
    const context = canvas.getContext("2d")!;
    context.clearRect(0, 0, size, size);
    if (!cloud) return;
    const [ct, st, cu, su] = [Math.cos(this.turn), Math.sin(this.turn), Math.cos(this.tilt), Math.sin(this.tilt)];
    // The diagonal of the box fits in.
    const scale = (this.zoom * size) / Math.sqrt(3);
    const right = [ct * scale, st * scale, 0] as const;
    const down = [-st * su * scale, ct * su * scale, -cu * scale] as const;
    const depth = [-st * cu, ct * cu, su] as const;
    const along = (axis: readonly [number, number, number], x: number, y: number, z: number) => axis[0] * x + axis[1] * y + axis[2] * z;
    this.particles(context, size, (k) => {
      const [x, y, z] = [cloud.at[0][k]!, cloud.at[1][k]!, cloud.at[2][k]!];
      return [size / 2 + along(right, x, y, z), size / 2 + along(down, x, y, z), along(depth, x, y, z)];
    });
    this.lines(context, (x, y, z) => [size / 2 + along(right, x, y, z), size / 2 + along(down, x, y, z)]);
  }

  private particles(context: CanvasRenderingContext2D, size: number, place: (k: number) => [number, number, number]) {
    const image = context.createImageData(size, size);
    const pixels = new Uint32Array(image.data.buffer);
    const nearest = new Float32Array(size * size).fill(-Infinity);
    const n = this.colours.length;
    const dot = Math.max(1, Math.round(devicePixelRatio * (n > 30_000 ? 1.5 : n > 3_000 ? 3 : 5)));
    for (let k = 0; k < n; k++) {
      const [x, y, z] = place(k);
      const [left, top] = [Math.round(x - dot / 2), Math.round(y - dot / 2)];
      for (let row = Math.max(0, top); row < Math.min(size, top + dot); row++) {
        for (let column = Math.max(0, left); column < Math.min(size, left + dot); column++) {
          const at = row * size + column;
          if (z > nearest[at]!) {
            nearest[at] = z;
            pixels[at] = this.colours[k]!;
          }
        }
      }
    }
    context.putImageData(image, 0, 0);
  }

  private lines(context: CanvasRenderingContext2D, place: (x: number, y: number, z: number) => [number, number]) {
    const { cloud, boxes } = this;
    if (!cloud || boxes === "none") return;
    context.strokeStyle = getComputedStyle(this.canvas).color;
    context.lineWidth = devicePixelRatio;
    context.globalAlpha = boxes === "all" ? Math.max(0.08, Math.min(0.5, 100 / cloud.edge.length)) : 0.7;
    context.beginPath();
    const path = (corners: [number, number, number][]) => corners.forEach((c, k) => (k === 0 ? context.moveTo(...place(...c)) : context.lineTo(...place(...c))));
    for (let k = 0; k < cloud.edge.length; k++) {
      const [x, y, z, half] = [cloud.centre[0][k]!, cloud.centre[1][k]!, cloud.centre[2][k]!, cloud.edge[k]! / 2];
      const square = (z: number): [number, number, number][] => [[x - half, y - half, z], [x + half, y - half, z], [x + half, y + half, z], [x - half, y + half, z], [x - half, y - half, z]];
      // The plane lies in the boxes above it.
      if (boxes === "middle") {
        if (z - half <= 0 && z + half > 0) path(square(0));
        continue;
      }
      path(square(z - half));
      path(square(z + half));
      square(0).slice(0, 4).forEach(([x, y]) => path([[x, y, z - half], [x, y, z + half]]));
    }
    context.stroke();
    context.globalAlpha = 1;
  }
}
