// The examples of the web components, for tests in Chromium with a real runner.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { Runner } from "./runner.js";
import { POLICY } from "./stand_in.js";

const TYPES: Record<string, string> = { html: "text/html", js: "text/javascript", css: "text/css" };

/** For Chromium: a page that a test serves has no address, which is not taken for a local one. */
export const WITH_EXAMPLES = "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets";

/** Builds the components, which the examples use. */
export function buildElements(): void {
  execFileSync(process.execPath, ["build.js", "--elements"]);
}

/** Opens an example at the origin of the runner, under the policy of its page. */
export async function openExample(page: Page, runner: Runner, name: "transcript" | "terminal", session: string): Promise<void> {
  const { url } = await runner.api<{ url: string }>("POST", "/api/login-links");
  const { origin, hash } = new URL(url);
  const headers = { "content-type": "application/json", origin };
  const login = await fetch(`${origin}/api/login`, { method: "POST", headers, body: JSON.stringify({ ticket: hash.replace("#login=", "") }) });
  const { token } = (await login.json()) as { token: string };
  const files = new Map([
    ["/transcript.js", "elements/dist/transcript.js"],
    ["/terminal.js", "elements/dist/terminal.js"],
    ...["transcript.html", "transcript.js", "terminal.html", "terminal.js", "example.css"].map((it) => [`/examples/${it}`, `elements/examples/${it}`] as const),
  ]);
  await page.route("**/*", async (route) => {
    const path = files.get(new URL(route.request().url()).pathname);
    if (path === undefined) return route.continue();
    const contentType = TYPES[path.split(".").at(-1)!]!;
    await route.fulfill({ body: readFileSync(path, "utf8"), contentType, headers: { "content-security-policy": POLICY } });
  });
  await page.goto(`${origin}/examples/${name}.html#${new URLSearchParams({ src: origin, session, token })}`);
}
