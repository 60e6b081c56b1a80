// The worker of a module: texts in, texts out, and bytes beside both, through the memory of its WebAssembly.

interface Exports {
  memory: WebAssembly.Memory;
  start(): void;
  room(bytes: number): number;
  attach(): void;
  call(): number;
  length(): number;
  bytes(): number;
  bytes_length(): number;
  bytes_done(): void;
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

function put(bytes: Uint8Array) {
  const at = exports.room(bytes.length) >>> 0;
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
}

/** The answer to a request, which may be about a file. */
function call(request: string, file: ArrayBuffer | null): Record<string, unknown> {
  if (file) {
    put(new Uint8Array(file));
    exports.attach();
  }
  put(new TextEncoder().encode(request));
  const at = exports.call() >>> 0;
  const answer = JSON.parse(text(at, exports.length()));
  const count = exports.bytes_length();
  if (count > 0) {
    answer.bytes = exports.memory.buffer.slice(exports.bytes() >>> 0, (exports.bytes() >>> 0) + count);
    exports.bytes_done();
  }
  return answer;
}

onmessage = (event) => {
  try {
    if (event.data.module) {
      exports = new WebAssembly.Instance(event.data.module, imports).exports as unknown as Exports;
      exports.start();
      postMessage({ ready: true });
      return;
    }
    const answer = call(event.data.text, event.data.file);
    postMessage(answer, { transfer: answer.bytes ? [answer.bytes as ArrayBuffer] : [] });
  } catch (error) {
    postMessage({ panic: panic ?? String(error) });
  }
};
