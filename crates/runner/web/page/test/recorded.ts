// `bowline inspect FILE --open`: its server, and what it says of a recording.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { Client, type LineItem, type LinePage, type Timeline } from "@bowline/client";

const bowline = resolve(process.env["BOWLINE"] ?? "../../../target/debug/bowline");

/** A recording that is served. */
export class Recorded {
  private constructor(
    readonly process: ChildProcess,
    /** The link that logs a page in once. */
    readonly link: string,
    readonly session: string,
  ) {}

  static serve(path: string): Promise<Recorded> {
    return Recorded.run(["inspect", resolve(path)]);
  }

  /** Runs a command that shows a recording. */
  static async run(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Recorded> {
    // Without a program that opens browsers, the link is only printed.
    const env = { ...process.env, PATH: "", ...more };
    const served = spawn(bowline, [...args, "--open"], { env, stdio: ["ignore", "pipe", "ignore"] });
    const [line] = (await once(createInterface({ input: served.stdout! }), "line")) as [string];
    return new Recorded(served, line, /open=([\w-]+)/.exec(line)![1]!);
  }

  /** Logs in, as a page does. */
  async client(): Promise<Client> {
    const { origin, hash } = new URL(this.link);
    const body = JSON.stringify({ ticket: /login=([\w-]+)/.exec(hash)![1] });
    const headers = { "content-type": "application/json", origin };
    const response = await fetch(`${origin}/api/login`, { method: "POST", headers, body });
    const { token } = (await response.json()) as { token: string };
    // The server may have closed a connection that was kept; a browser sends its request again.
    const again = ((target: string, init?: RequestInit) => fetch(target, init).catch(() => fetch(target, init))) as typeof fetch;
    return new Client({ url: origin, token, fetch: again });
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null) return;
    this.process.kill();
    await once(this.process, "exit");
  }
}

/** What the runner says of a recording, for a stand-in. */
export interface Answers {
  readonly timeline: Timeline;
  readonly lines: (query: URLSearchParams) => LinePage;
  /** What the agent wrote. */
  readonly log: Buffer;
}

export async function answersFor(path: string): Promise<Answers> {
  const recorded = await Recorded.serve(path);
  try {
    const client = await recorded.client();
    const timeline = await client.timeline(recorded.session);
    const all = await client.lines(recorded.session, { from: 0, max: 2000 });
    const log: Uint8Array[] = [];
    for (let at = 0; ; ) {
      const { bytes, end } = await client.log(recorded.session, at, 1 << 20);
      log.push(bytes);
      at += bytes.length;
      if (at >= end) return { timeline, lines: (query) => pageOf(all, query), log: Buffer.concat(log) };
    }
  } finally {
    await recorded.stop();
  }
}

function pageOf(all: LinePage, query: URLSearchParams): LinePage {
  const entry = query.get("entry");
  const isPart = ({ became }: LineItem) => became.some((it) => String(it.main_entry) === entry);
  const at = entry === null ? Number(query.get("from") ?? 0) : Math.max(0, all.items.findIndex(isPart));
  const from = entry === null ? at : Math.max(0, at - 1);
  return { ...all, from, at, items: all.items.slice(from, from + Number(query.get("max") ?? 200)) };
}
