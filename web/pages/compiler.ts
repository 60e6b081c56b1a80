// The compiler in a worker: calls one after the other, each of which may take some seconds. A worker that takes longer, or whose
// compiler panics, is ended, and another one takes its place.

/** Seconds that a call may take. */
export const PATIENCE = 5;

/** An answer of the compiler, or why there is none. */
export class Failed extends Error {}

interface Waiting {
  request: Record<string, unknown>;
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
  constructor(private readonly module: WebAssembly.Module, private readonly make: () => Worker, private readonly ended: () => void) {
    this.start();
  }

  call(request: Record<string, unknown>): Promise<any> {
    return new Promise((done, failed) => {
      this.waiting.push({ request, done, failed });
      this.next();
    });
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
        this.end(`The compiler failed (${String(answer.panic).slice(0, 300)}). It was started again.`);
      } else {
        this.settle((w) => (answer.error === undefined ? w.done(answer) : w.failed(new Failed(String(answer.error)))));
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.end("The compiler failed. It was started again.");
    };
    worker.postMessage({ module: this.module });
  }

  private next() {
    if (this.broken !== null) {
      const why = this.broken;
      this.waiting.splice(0).forEach((w) => w.failed(new Failed(why)));
    }
    if (!this.isReady || this.current || this.waiting.length === 0) return;
    this.current = this.waiting.shift()!;
    this.timer = window.setTimeout(
      () => this.end(`This took more than ${PATIENCE} seconds and was given up; the command has no such limit.`),
      PATIENCE * 1000,
    );
    this.worker!.postMessage({ text: JSON.stringify(this.current.request) });
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
