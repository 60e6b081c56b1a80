// Bundles the pages: dist/ for a server, and dist/pairforge.html, one file that opens from a disk.
//
// node build.mjs FOLDER    where compiler.wasm and fmm.wasm are

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error("the folder of the modules is missing: node build.mjs FOLDER");
  process.exit(1);
}
const modules = ["compiler", "fmm"];

/** A module without the sections that only name things, such as its functions. */
function stripped(module) {
  const kept = [module.subarray(0, 8)];
  for (let at = 8; at < module.length; ) {
    let [end, length] = [at + 1, 0];
    for (let shift = 0; ; shift += 7) {
      const byte = module[end++];
      length += (byte & 127) * 2 ** shift;
      if (byte < 128) break;
    }
    end += length;
    if (module[at] !== 0) kept.push(module.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");

for (const name of modules) writeFileSync(`dist/${name}.wasm`, stripped(readFileSync(`${folder}/${name}.wasm`)));
const common = { bundle: true, minify: true, format: "iife", target: "es2022", write: false, legalComments: "none" };
const text = async (entry) => (await build({ ...common, entryPoints: [entry] })).outputFiles[0].text;
const [main, worker] = [await text("pages/main.ts"), await text("pages/worker.ts")];
const style = readFileSync("pages/style.css", "utf8");
const page = readFileSync("pages/index.html", "utf8");

const base64 = (data) => Buffer.from(data).toString("base64");
const hash = (script) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
// The editor makes rules of style as it runs, and marks of problems are images of its own.
const policy = (script, connect, from) =>
  `default-src 'none'; script-src ${script} 'wasm-unsafe-eval'; worker-src ${from}; connect-src ${connect}; style-src ${from === "blob:" ? "" : "'self' "}'nonce-page'; ` +
  "img-src data:; base-uri 'none'; form-action 'none'";
const filled = (values) => page.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);

writeFileSync("dist/main.js", main);
writeFileSync("dist/worker.js", worker);
writeFileSync("dist/style.css", style);
writeFileSync("dist/index.html", filled({
  policy: policy("'self'", "'self'", "'self'"),
  style: '<link rel="stylesheet" href="style.css">',
  data: "",
  script: '<script src="main.js" defer></script>',
}));

// Data blocks do not run. The script is allowed by what it is.
const inline = main.replaceAll("</script", "<\\/script");
const block = (name, data) => `<script type="text/plain" id="${name}">${base64(data)}</script>`;
const packed = modules.map((name) => block(`${name}.wasm`, gzipSync(readFileSync(`dist/${name}.wasm`), { level: 9 })));
writeFileSync("dist/pairforge.html", filled({
  policy: policy(hash(inline), "'none'", "blob:"),
  style: `<style nonce="page">${style}</style>`,
  data: [...packed, block("worker", worker)].join("\n"),
  script: `<script>${inline}</script>`,
}));

const size = (name) => gzipSync(readFileSync(`dist/${name}`), { level: 9 }).length;
const first = ["index.html", "main.js", "worker.js", "style.css", "compiler.wasm"];
const all = [...first, "fmm.wasm"].map((name) => [name, size(name)]);
all.forEach(([name, bytes]) => console.log(`${name}: ${bytes} bytes, compressed by gzip`));
console.log(`the page of kernels: ${all.slice(0, first.length).reduce((sum, [, bytes]) => sum + bytes, 0)} bytes`);
