// A module in a worker, such as the compiler: calls one after the other, each of which may take some seconds. A worker that takes longer,
// or whose module panics, is ended, and another one takes its place.

/** How a module is called in sentences, and how many seconds a call may take. */
export interface Kind {
  name: string;
  patience: number;
}

/** An answer of the module, or why there is none. */
export class Failed extends Error {}

interface Waiting {
  request: Record<string, unknown>;
  file: ArrayBuffer | null;
  done: (answer: any) => void;
  failed: (why: Failed) => void;
}

export class Compiler {
  private worker: Worker | null = null;
  private waiting: Waiting[] = [];
  private current: Waiting | null = null;
  private timer = 0;
  /** Whether the worker can be asked: it takes a while to start, which is nobody's call. */
  private isReady = false;
  /** Why no worker can be started. */
  private broken: string | null = null;

  /** `ended` is told when a worker had to be ended; the next one knows nothing of earlier calls. */
  constructor(
    private readonly module: WebAssembly.Module,
    private readonly make: () => Worker,
    private readonly ended: () => void,
    private readonly kind: Kind = { name: "compiler", patience: 5 },
  ) {
    this.start();
  }

  /** `file` is what the call is about besides. */
  call(request: Record<string, unknown>, file: ArrayBuffer | null = null): Promise<any> {
    return new Promise((done, failed) => {
      this.waiting.push({ request, file, done, failed });
      this.next();
    });
  }

  /** Gives up what is being done. */
  stop() {
    if (this.current) this.end("It was stopped.");
  }

  private start() {
    const worker = this.make();
    this.worker = worker;
    this.isReady = false;
    worker.onmessage = (event) => {
      const answer = event.data;
      if (answer.ready) {
        this.isReady = true;
        this.next();
      } else if (answer.panic !== undefined) {
        this.end(`The ${this.kind.name} failed (${String(answer.panic).slice(0, 300)}). It was started again.`);
      } else {
        this.settle((w) => (answer.error === undefined ? w.done(answer) : w.failed(new Failed(String(answer.error)))));
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.end(`The ${this.kind.name} failed. It was started again.`);
    };
    worker.postMessage({ module: this.module });
  }

  private next() {
    if (this.broken !== null) {
      const why = this.broken;
      this.waiting.splice(0).forEach((w) => w.failed(new Failed(why)));
    }
    if (!this.isReady || this.current || this.waiting.length === 0) return;
    const { request, file } = (this.current = this.waiting.shift()!);
    const { patience } = this.kind;
    this.timer = window.setTimeout(
      () => this.end(`This took more than ${patience} seconds and was given up; the command has no such limit.`),
      patience * 1000,
    );
    this.worker!.postMessage({ text: JSON.stringify(request), file });
  }

  private settle(act: (waiting: Waiting) => void) {
    window.clearTimeout(this.timer);
    const settled = this.current;
    this.current = null;
    if (settled) act(settled);
    this.next();
  }

  private end(why: string) {
    this.worker?.terminate();
    if (!this.isReady) {
      // Another one would fail as this one did.
      this.broken = why;
      this.next();
      return;
    }
    this.start();
    const settled = this.current;
    // What waited was meant for the compiler that is gone.
    const lost = this.waiting.splice(0);
    this.ended();
    this.settle((w) => w.failed(new Failed(why)));
    lost.forEach((w) => w.failed(new Failed(why)));
    if (!settled) this.next();
  }
}
