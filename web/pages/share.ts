// Kernels in addresses: behind `#k=`, deflated JSON in the alphabet of base64url.

/** Characters of an address at most, and bytes of what it holds. */
const LONGEST = 64 * 1024;
const MOST = 256 * 1024;

export interface Shared {
  name: string;
  text: string;
}

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream, most: number): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as any).getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(`it holds more than ${most} bytes`);
    }
    parts.push(value);
  }
  const all = new Uint8Array(size);
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

/** The fragment of an address for a kernel. */
export async function fragment(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  const small = await through(bytes, new CompressionStream("deflate-raw"), MOST);
  const text = "#k=" + toBase64(small).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  if (text.length > LONGEST) throw new Error("The kernel is too long for an address; save it as a file.");
  return text;
}

/** The kernel of a fragment, if it names one; an error says why it is none. */
export async function shared(fragment: string): Promise<Shared | null> {
  if (!fragment.startsWith("#k=")) return null;
  if (fragment.length > LONGEST) throw new Error(`The address has more than ${LONGEST} characters behind its #; the kernel in it was left out.`);
  try {
    const small = fromBase64(fragment.slice(3).replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = await through(small, new DecompressionStream("deflate-raw"), MOST);
    const found: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const { name, text } = found as Record<string, unknown>;
    if (typeof text !== "string" || typeof name !== "string" || !/^[A-Za-z][A-Za-z0-9_]{0,60}$/.test(name)) throw new Error("no kernel");
    return { name, text };
  } catch {
    throw new Error("The address holds no kernel; perhaps it was cut.");
  }
}

export function fromBase64(text: string): Uint8Array {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  // A function for each of millions of letters would take seconds.
  for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
