// A stand-in for the runner: recordings as sessions, whose changes come as the test wants.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Change } from "@bowline/client";

const bowline = process.env["BOWLINE"] ?? "../../../target/debug/bowline";
const TYPES: Record<string, string> = { svg: "image/svg+xml", html: "text/html", js: "text/javascript", css: "text/css" };

/** The policy that the runner sends with the page (`crates/runner/src/api/page.rs`). */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self' data: blob:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Returns the changes of a recording. */
export function changesOf(path: string): Change[] {
  const text = execFileSync(bowline, ["replay", path, "--output", "changes"], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Change);
}

/** Returns the document of a recording. */
export function transcriptOf(path: string): unknown {
  const text = execFileSync(bowline, ["replay", path, "--output", "transcript"], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return JSON.parse(text) as unknown;
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

type Answer = readonly [status: number, body: unknown];

export class StandIn {
  readonly #server: Server;
  readonly #changes = new Map<string, Change[]>();
  readonly #streams = new Map<string, Set<ServerResponse>>();
  readonly #logs = new Map<string, Buffer>();
  /** Responses to requests of sessions, by `ID/PART`. */
  readonly #answers = new Map<string, (query: URLSearchParams) => unknown>();
  readonly #summaries: Record<string, unknown>[] = [];
  readonly received: Received[] = [];
  readonly #waiting: ((received: Received) => boolean)[] = [];
  /** The response to a request that changes something. */
  respond: (received: Received) => Answer | Promise<Answer> = () => [202, { id: "p", state: "written" }];

  /** The response to a request that reads what is not kept here. */
  read: (path: string, query: URLSearchParams) => unknown = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<StandIn> {
    const server = createServer();
    const standIn = new StandIn(server);
    server.on("request", (request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      request.on("end", () => {
        const last = request.headers["last-event-id"];
        standIn.#handle(request.method ?? "GET", request.url ?? "/", text, last as string | undefined, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return standIn;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  session(id: string, summary: Record<string, unknown>, changes: readonly Change[]): void {
    this.#summaries.push({ id, name: null, kind: "dialogue", program: "claude", cwd: "/home/dev/project", state: "running", started_ms: Date.now() - 60_000, ...summary });
    this.#changes.set(id, []);
    this.push(id, changes);
  }

  /** Sets what the agent of a session wrote. */
  log(id: string, bytes: Buffer): void {
    this.#logs.set(id, bytes);
  }

  /** Sets what is answered to a request of a session, such as `lines`. */
  answer(id: string, part: string, answer: (query: URLSearchParams) => unknown): void {
    this.#answers.set(`${id}/${part}`, answer);
  }

  /** Adds changes to a session, and sends them to those that follow it. */
  push(id: string, changes: readonly Change[]): void {
    const all = this.#changes.get(id)!;
    const text = changes.map((change, at) => event(all.length + at + 1, change)).join("");
    for (const change of changes) all.push(change);
    for (const response of this.#streams.get(id) ?? []) response.write(text);
  }

  /** Cuts all connections. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Waits for a request that changes something. */
  request(path: string): Promise<Received> {
    const known = this.received.find((it) => it.path === path);
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      this.#waiting.push((received) => {
        if (received.path !== path) return false;
        resolve(received);
        return true;
      });
    });
  }

  #handle(method: string, target: string, text: string, last: string | undefined, response: ServerResponse): void {
    const { pathname } = new URL(target, "http://localhost");
    const parts = pathname.split("/").slice(1);
    if (method !== "GET") return this.#change(method, pathname, text, response);
    const read = this.read(pathname, new URL(target, "http://localhost").searchParams);
    if (read !== undefined) return json(response, 200, read);
    if (pathname === "/api/sessions") return json(response, 200, { sessions: this.#summaries });
    if (pathname === "/api/permissions") return json(response, 200, { permissions: [], cursor: "" });
    if (parts[3] === "log") return this.#log(parts[2]!, new URL(target, "http://localhost").searchParams, response);
    const answer = this.#answers.get(`${parts[2]}/${parts[3]}`);
    if (answer) return json(response, 200, answer(new URL(target, "http://localhost").searchParams));
    if (pathname === "/api/events") return this.#follow("", [], response);
    if (parts[1] === "sessions" && parts[3] === "events") {
      const all = this.#changes.get(parts[2]!);
      if (!all) return json(response, 404, { code: "SESSION_NOT_FOUND", detail: "session not found", next: "list the sessions" });
      return this.#follow(parts[2]!, all.map((change, at) => event(at + 1, change)).slice(Number(last ?? 0)), response);
    }
    if (parts[0] === "api") return json(response, 404, { code: "NOT_FOUND", detail: "not found", next: "" });
    const name = pathname === "/" ? "index.html" : pathname.slice(1);
    try {
      const body = readFileSync(join("dist", name));
      response.writeHead(200, { "content-type": TYPES[name.split(".").at(-1)!] ?? "text/plain", "content-security-policy": POLICY });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  }

  #log(id: string, query: URLSearchParams, response: ServerResponse): void {
    const all = this.#logs.get(id) ?? Buffer.alloc(0);
    const from = Number(query.get("from"));
    const bytes = all.subarray(from, from + Math.min(Number(query.get("max")), 1 << 20));
    response.writeHead(200, { "bowline-from": from, "bowline-next": from + bytes.length, "bowline-end": all.length }).end(bytes);
  }

  #change(method: string, path: string, text: string, response: ServerResponse): void {
    const received = { method, path, body: text === "" ? null : (JSON.parse(text) as unknown) };
    this.received.push(received);
    const waiting = this.#waiting.splice(0).filter((wants) => !wants(received));
    this.#waiting.push(...waiting);
    if (path === "/api/login") return json(response, 200, { token: "token" });
    void Promise.resolve(this.respond(received)).then(([status, body]) => json(response, status, body));
  }

  #follow(id: string, first: readonly string[], response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`: connected\n\n${first.join("")}`);
    const streams = this.#streams.get(id) ?? new Set();
    this.#streams.set(id, streams.add(response));
    response.on("close", () => streams.delete(response));
  }
}

function event(id: number, data: unknown): string {
  return `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A request with questions, which agents ask. */
export function question(): Change {
  const questions = [
    {
      id: "q1",
      title: "Format",
      text: "How should the output be formatted?",
      kind: "single",
      options: [
        { value: "Summary", name: "Summary", description: "A brief overview" },
        { value: "Detailed", name: null, description: null },
      ],
      free_text: true,
    },
    {
      id: "q2",
      title: null,
      text: "Which sections?",
      kind: "multiple",
      options: [
        { value: "Introduction", name: null, description: null },
        { value: "Conclusion", name: null, description: null },
      ],
      free_text: false,
    },
  ] as const;
  const request = { request_id: "r", tool_use_id: null, tool_name: "AskUserQuestion", state: "open", kind: "question" } as const;
  return { change: "permission", permission: 0, value: { ...request, options: [], questions, url: null, thread: null, rule: null, decided_by: null, bytes: null } };
}
