// Builds the page into `dist`, which is committed: the runner embeds it, and `cargo build` needs no node.
// With --tests, builds the tests into `target` instead; with --elements, the web components into `elements/dist`.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rm } from "node:fs/promises";

const tests = process.argv.includes("--tests");
const elements = process.argv.includes("--elements");

/** The page's policy forbids `<style>` and `style="…"`, which xterm.js makes: these replace them, and fail if they do not fit its version. */
const STYLES = [
  ['createElement("style")', 'createElement("bowline-style")', 3],
  ['t.setAttribute("style",`${t.getAttribute("style")||""}${e};`)', "t.style.cssText+=`${e};`", 1],
];

/** The files that the runner embeds. */
const FILES = "app.css app.js chunk.js icon.svg index.html more.js terminal.js";

const xterm = {
  name: "xterm",
  setup(it) {
    it.onLoad({ filter: /@xterm\/xterm\/lib\/xterm\.mjs$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [from, to, count] of STYLES) {
        const parts = contents.split(from);
        if (parts.length !== count + 1) throw new Error(`xterm.js has ${parts.length - 1} of ${from} instead of ${count}`);
        contents = parts.join(to);
      }
      return { contents, loader: "js" };
    });
  },
};

const shared = {
  bundle: true,
  format: "esm",
  target: "es2023",
  alias: { "@bowline/client": "./client/src/index.ts" },
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
};

if (tests) {
  await rm("target", { recursive: true, force: true });
  const folders = ["client/test", "page/test", "page/bench"];
  const files = await Promise.all(folders.map(async (folder) => (await readdir(folder)).map((name) => `${folder}/${name}`)));
  const entryPoints = files.flat().filter((path) => path.endsWith(".test.ts"));
  await build({ ...shared, entryPoints, outdir: "target", outbase: ".", platform: "node", packages: "external", sourcemap: "inline" });
} else if (elements) {
  const entryPoints = { transcript: "elements/src/transcript.tsx", terminal: "elements/src/terminal.ts" };
  await build({ ...shared, outdir: "elements/dist", minify: true, legalComments: "inline", entryPoints, loader: { ".css": "text" }, plugins: [xterm] });
} else {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist");
  const page = { ...shared, outdir: "dist", minify: true, legalComments: "inline" };
  // `app.js` and `chunk.js` are the first load; `more.js` has what is used later.
  await build({ ...page, entryPoints: { app: "page/src/main.tsx" }, splitting: true, chunkNames: "[name]" });
  // Loaded when the first terminal is shown.
  await build({ ...page, entryPoints: { terminal: "page/src/terminal/screen.ts" }, loader: { ".css": "text" }, plugins: [xterm] });
  await build({ entryPoints: { app: "page/style.css" }, outdir: "dist", minify: true, bundle: true });
  for (const name of ["index.html", "icon.svg"]) await copyFile(`page/${name}`, `dist/${name}`);
  const made = (await readdir("dist")).sort().join(" ");
  if (made !== FILES) throw new Error(`dist has ${made}; the runner serves ${FILES} (crates/runner/src/api/page.rs)`);
}
