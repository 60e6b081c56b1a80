// A folder as a zip archive whose files are stored as they are.

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n >>> 0;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Numbers of 2 and 4 bytes, least first. */
function numbers(...all: [bytes: 2 | 4, value: number][]): Uint8Array {
  return Uint8Array.from(all.flatMap(([bytes, value]) => Array.from({ length: bytes }, (_, k) => (value >>> (8 * k)) & 255)));
}

export function zip(files: { name: string; text: string }[]): Blob {
  const parts: Uint8Array[] = [];
  const entries: Uint8Array[] = [];
  let at = 0;
  const add = (list: Uint8Array[], ...some: Uint8Array[]) => {
    list.push(...some);
    return some.reduce((sum, part) => sum + part.length, 0);
  };
  for (const file of files) {
    const [name, data] = [file.name, file.text].map((text) => new TextEncoder().encode(text)) as [Uint8Array, Uint8Array];
    // Version 2.0, UTF-8 names, no compression; 1 January 1980, so that equal folders are equal archives.
    const common: [2 | 4, number][] = [[2, 20], [2, 0x800], [2, 0], [2, 0], [2, 0x21], [4, crc32(data)], [4, data.length], [4, data.length], [2, name.length], [2, 0]];
    add(entries, numbers([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), name);
    at += add(parts, numbers([4, 0x04034b50], ...common), name, data);
  }
  const size = entries.reduce((sum, part) => sum + part.length, 0);
  const end = numbers([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, at], [2, 0]);
  return new Blob([...parts, ...entries, end] as BlobPart[], { type: "application/zip" });
}
