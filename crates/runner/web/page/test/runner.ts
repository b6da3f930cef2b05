// A real runner with the scripted agent, for tests in Chromium.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";

export const bowline = resolve(process.env["BOWLINE"] ?? "../../../target/debug/bowline");

/** What tests look at of a transcript. */
export interface SessionTranscript {
  readonly session_id: string;
  readonly status: { readonly phase: string };
  readonly tasks: Readonly<Record<string, { readonly state: string }>>;
  readonly entries: readonly SessionEntry[];
  readonly tool_calls: Readonly<Record<string, SessionCall>>;
}

export interface SessionEntry {
  readonly kind: string;
  readonly outcome?: string;
  readonly text?: string | null;
  readonly blocks?: readonly { readonly type: string; readonly text?: string; readonly id?: string }[];
}

export interface SessionCall {
  readonly name: string;
  readonly state: string;
  readonly result: { readonly text: string } | null;
  readonly subagent: Pick<SessionTranscript, "entries" | "tool_calls"> | null;
}

export class Runner {
  readonly folder = mkdtempSync(join(tmpdir(), "page-"));
  #daemon: ChildProcess | null = null;

  private constructor(readonly environment: Readonly<Record<string, string>>) {}

  /** Starts a runner with variables of its own. */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<Runner> {
    const runner = new Runner(environment);
    mkdirSync(join(runner.folder, "bin"));
    writeFileSync(runner.agent, `#!/bin/sh\nexec '${bowline}' understudy --scenario demo --pace 0 "$@"\n`);
    chmodSync(runner.agent, 0o700);
    for (const [path, pace] of [[runner.scripted, 0], [runner.natural, 1]] as const) {
      writeFileSync(path, `#!/bin/sh\nexec '${bowline}' understudy --pace ${pace} "$@"\n`);
      chmodSync(path, 0o700);
    }
    await runner.serve();
    return runner;
  }

  /** The scripted agent with its default scenario: a prompt such as `/agent TASK` says what it does. */
  get scripted(): string {
    return join(this.folder, "scripted");
  }

  /** The same agent, whose delays are as long as they say. */
  get natural(): string {
    return join(this.folder, "natural");
  }

  /** The scripted agent. */
  get agent(): string {
    return join(this.folder, "bin", "claude");
  }

  /** The environment of commands that reach the daemon. */
  get env(): NodeJS.ProcessEnv {
    return { ...process.env, HOME: this.folder, PATH: `${join(this.folder, "bin")}:/usr/bin:/bin`, BOWLINE_STATE_DIR: join(this.folder, "state"), PS1: "$ ", ENV: "", HISTFILE: "", ...this.environment };
  }

  /** Starts the daemon, and returns once it listens. */
  async serve(): Promise<void> {
    this.#daemon = spawn(bowline, ["serve"], { env: this.env, stdio: ["ignore", "pipe", "inherit"] });
    await once(createInterface({ input: this.#daemon.stdout! }), "line");
  }

  kill(): void {
    this.#daemon?.kill("SIGKILL");
  }

  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    return JSON.parse(await this.send(method, path, body)) as T;
  }

  /** Sends a request, and returns the text of the response. */
  send(method: string, path: string, body?: unknown): Promise<string> {
    return new Promise((resolved, reject) => {
      const headers = { host: "localhost", "content-type": "application/json" };
      // Without an agent, each request has a connection of its own: one that is kept may be closed while it is used.
      const sent = request({ socketPath: join(this.folder, "state", "runner.sock"), method, path, headers, agent: false }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        response.on("end", () => {
          if ((response.statusCode ?? 500) < 300) resolved(text);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
        });
      });
      sent.on("error", reject).end(body === undefined ? "" : JSON.stringify(body));
    });
  }

  /** Starts a conversation with the scripted agent. */
  async dialogue(prompt: string, more: Record<string, unknown> = {}): Promise<string> {
    const session = { agent: this.agent, dialect: "claude", cwd: this.folder, name: "the demo", prompt, ...more };
    return (await this.api<{ id: string }>("POST", "/api/sessions", session)).id;
  }

  /** Returns the transcript of a session once it is as it should be. */
  async until(id: string, is: (transcript: SessionTranscript) => boolean): Promise<SessionTranscript> {
    for (;;) {
      const transcript = await this.api<SessionTranscript>("GET", `/api/sessions/${id}/transcript`);
      if (is(transcript)) return transcript;
    }
  }

  /** Starts a program in a terminal. */
  async terminal(program: string, args: readonly string[], name: string, cwd = this.folder): Promise<string> {
    const stdio = { type: "pty", size: { rows: 24, cols: 80 } };
    const session = { kind: "terminal", program, args, stdio, name, cwd };
    return (await this.api<{ id: string }>("POST", "/api/sessions", session)).id;
  }

  /** Logs a page in, and shows a session, once at least so many are listed. */
  async open(page: Page, id: string, least = 1): Promise<void> {
    const { url } = await this.api<{ url: string }>("POST", "/api/login-links");
    await page.goto(url);
    if (least > 0) await page.locator(".sessions li").first().waitFor({ state: "attached" });
    else await page.locator(".dot.connected").waitFor({ state: "attached" });
    await page.evaluate((session) => (location.hash = `#/${session}`), id);
  }

  async stop(): Promise<void> {
    for (const { id } of (await this.api<{ sessions: { id: string }[] }>("GET", "/api/sessions")).sessions) {
      await this.api("DELETE", `/api/sessions/${id}?force=true`);
    }
    const exit = once(this.#daemon!, "exit");
    this.#daemon!.kill();
    await exit;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Collects what a page must not report. */
export async function watch(page: Page, problems: string[]): Promise<void> {
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && message.text().startsWith("policy")) problems.push(message.text());
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.sample}`));
  });
}
