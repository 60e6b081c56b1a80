// The worker of a compiler: texts in, texts out, through the memory of its WebAssembly.

interface Exports {
  memory: WebAssembly.Memory;
  start(): void;
  room(bytes: number): number;
  call(): number;
  length(): number;
}

let exports: Exports;
let panic: string | null = null;

const text = (at: number, bytes: number) => new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, bytes));

const imports = {
  page: {
    seconds: () => performance.now() / 1000,
    panicked: (at: number, bytes: number) => {
      panic = text(at, bytes);
    },
  },
};

function call(request: string): unknown {
  const bytes = new TextEncoder().encode(request);
  const at = exports.room(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const answer = exports.call() >>> 0;
  return JSON.parse(text(answer, exports.length()));
}

onmessage = (event) => {
  try {
    if (event.data.module) {
      exports = new WebAssembly.Instance(event.data.module, imports).exports as unknown as Exports;
      exports.start();
      postMessage({ ready: true });
      return;
    }
    postMessage(call(event.data.text));
  } catch (error) {
    postMessage({ panic: panic ?? String(error) });
  }
};
