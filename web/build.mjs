// Bundles the pages: dist/ for a server, and dist/pairforge.html, one file that opens from a disk.
//
// node build.mjs COMPILER.wasm

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [compiler] = process.argv.slice(2);
if (!compiler) {
  console.error("the compiler is missing: node build.mjs COMPILER.wasm");
  process.exit(1);
}
rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");

copyFileSync(compiler, "dist/pairforge.wasm");
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
const wasm = gzipSync(readFileSync("dist/pairforge.wasm"), { level: 9 });
writeFileSync("dist/pairforge.html", filled({
  policy: policy(hash(inline), "'none'", "blob:"),
  style: `<style nonce="page">${style}</style>`,
  data: `<script type="text/plain" id="wasm">${base64(wasm)}</script>\n<script type="text/plain" id="worker">${base64(worker)}</script>`,
  script: `<script>${inline}</script>`,
}));

const size = (name) => gzipSync(readFileSync(`dist/${name}`), { level: 9 }).length;
const all = ["index.html", "main.js", "worker.js", "style.css", "pairforge.wasm"].map((name) => [name, size(name)]);
all.forEach(([name, bytes]) => console.log(`${name}: ${bytes} bytes, compressed by gzip`));
console.log(`all of them: ${all.reduce((sum, [, bytes]) => sum + bytes, 0)} bytes`);
