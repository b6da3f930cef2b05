// Builds the page into `dist`, which is committed: the runner embeds it, and `cargo build` needs no node.
// With --tests, builds the tests into `target` instead.
import { build } from "esbuild";
import { copyFile, mkdir, readdir, rm } from "node:fs/promises";

const tests = process.argv.includes("--tests");
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
  const folders = ["client/test", "page/test"];
  const files = await Promise.all(folders.map(async (folder) => (await readdir(folder)).map((name) => `${folder}/${name}`)));
  const entryPoints = files.flat().filter((path) => path.endsWith(".test.ts"));
  await build({ ...shared, entryPoints, outdir: "target", outbase: ".", platform: "node", packages: "external", sourcemap: "inline" });
} else {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist");
  await build({ ...shared, entryPoints: { app: "page/src/main.tsx" }, outdir: "dist", minify: true, legalComments: "inline" });
  await build({ entryPoints: { app: "page/style.css" }, outdir: "dist", minify: true, bundle: true });
  for (const name of ["index.html", "icon.svg"]) await copyFile(`page/${name}`, `dist/${name}`);
}
