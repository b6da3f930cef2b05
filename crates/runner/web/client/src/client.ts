import { RunnerError } from "./error.js";
import { follow, type FollowOptions, type Followed } from "./events.js";
import type { Change, PermissionValue, Phase, QueuedPrompt, Range } from "./types.js";

/** A session, as the runner lists it. */
export interface SessionSummary {
  readonly id: string;
  readonly name: string | null;
  readonly [field: string]: unknown;
}

/** An event of any session. */
export type SessionEvent = { readonly session: string } & (
  | ({ readonly type: "change" } & Change)
  | { readonly type: "created" | "ended" | "removed" | "permission"; readonly [field: string]: unknown }
  | { readonly type: "phase"; readonly phase: Phase; readonly [field: string]: unknown }
);

/** The session to start. A field that is absent has the runner's default. */
export interface NewSession {
  readonly agent?: string;
  readonly cwd?: string;
  readonly prompt?: string;
  readonly model?: string;
  readonly mode?: string;
  readonly allowed_tools?: readonly string[];
  readonly resume?: string;
  readonly fork?: boolean;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The answer to a permission request: an option, a decision, or the answers to its questions. */
export type Answer =
  | { readonly option: string; readonly message?: string }
  | { readonly decision: "allow" }
  | { readonly decision: "deny"; readonly message?: string; readonly interrupt?: boolean }
  | { readonly answers: Readonly<Record<string, string>> };

export interface PromptOptions {
  /** Whether the prompt waits until the agent is idle, in the queue, where it can be changed until then. */
  readonly queue?: boolean;
}

/** A change of a prompt that waits: its text, or its place beside another one. */
export type QueueChange = { readonly text: string } | { readonly before: string } | { readonly after: string };

/** A part of a stream. */
export interface LogSlice {
  /** Offset of the first byte. */
  readonly from: number;
  /** End of the whole stream. */
  readonly end: number;
  /** The lost range before the first byte. */
  readonly gap: Range | null;
  readonly bytes: Uint8Array;
}

export interface ClientOptions {
  /** The address of the runner. Default: the page's own. */
  readonly url?: string;
  /** The token, or a function that returns it, which is called for each request. */
  readonly token?: string | (() => string | null);
  /** The name under which this client answers permissions. */
  readonly name?: string;
  readonly fetch?: typeof fetch;
}

/** The API of one runner. */
export class Client {
  readonly #base: string;
  readonly #token: () => string | null;
  readonly #name: string | undefined;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions = {}) {
    const { url = "", token = null } = options;
    this.#base = url.replace(/\/+$/, "");
    this.#token = typeof token === "function" ? token : () => token;
    this.#name = options.name;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  async sessions(): Promise<SessionSummary[]> {
    const { sessions } = await this.#json<{ sessions: SessionSummary[] }>("/api/sessions");
    return sessions;
  }

  /** Starts a session. A repeated call with the same `id`, a UUID, starts one. */
  async start(session: NewSession, id: string = crypto.randomUUID()): Promise<string> {
    return (await this.#json<{ id: string }>("/api/sessions", "POST", { ...session, id })).id;
  }

  /** Sends a prompt. A repeated call with the same `id`, a UUID, sends it once. */
  async prompt(session: string, text: string, id: string = crypto.randomUUID(), options: PromptOptions = {}): Promise<string> {
    return (await this.#json<{ id: string }>(path(session, "prompt"), "POST", { text, id, ...options })).id;
  }

  /** Returns the prompts that wait for their turn, in order. */
  async queue(session: string): Promise<QueuedPrompt[]> {
    return (await this.#json<{ queue: QueuedPrompt[] }>(path(session, "queue"))).queue;
  }

  /** Changes the text or the place of a prompt that waits. One that was sent meanwhile is refused. */
  async changeQueued(session: string, prompt: string, change: QueueChange): Promise<void> {
    await this.#json(`${path(session, "queue")}/${encodeURIComponent(prompt)}`, "PATCH", change);
  }

  /** Removes a prompt that waits from the queue. */
  async cancelQueued(session: string, prompt: string): Promise<void> {
    await this.#json(`${path(session, "queue")}/${encodeURIComponent(prompt)}`, "DELETE");
  }

  /** Returns the permission requests of a session with the input of their tools, oldest first. */
  async permissions(session: string): Promise<(PermissionValue & { input: unknown })[]> {
    const body = await this.#json<{ permissions: (PermissionValue & { input: unknown })[] }>(
      path(session, "permissions"),
    );
    return body.permissions;
  }

  /** Answers a permission request. The first answer counts; a later one gets an error that names the first. */
  async answer(session: string, requestId: string, answer: Answer): Promise<void> {
    const by = this.#name === undefined ? {} : { by: this.#name };
    await this.#json(path(session, "permissions"), "POST", { request_id: requestId, ...by, ...answer });
  }

  /** Stops the running turn, and with `cancelQueued` the prompts that wait. */
  async interrupt(session: string, cancelQueued = false): Promise<void> {
    await this.#json(path(session, "interrupt"), "POST", { cancel_queued: cancelQueued });
  }

  /** Changes an option, such as `model` or `mode`. */
  async setOption(session: string, option: string, value: string): Promise<void> {
    await this.#json(path(session, "options"), "POST", { option, value });
  }

  /** Ends a session and keeps its log. */
  async end(session: string): Promise<void> {
    await this.#json(path(session), "DELETE");
  }

  /** Returns bytes of the agent's output from an offset on, up to the next gap, at most 1 MiB. */
  async log(session: string, from: number, max: number, signal?: AbortSignal): Promise<LogSlice> {
    const query = new URLSearchParams({ from: String(from), max: String(max) });
    const response = await this.#send(`${path(session, "log")}?${query}`, signal ? { signal } : {});
    if (!response.ok) throw await RunnerError.of(response);
    const number = (name: string) => Number(response.headers.get(`bowline-${name}`));
    const gap = /^(\d+)-(\d+)$/.exec(response.headers.get("bowline-gap") ?? "");
    return {
      from: number("from"),
      end: number("end"),
      gap: gap ? [Number(gap[1]), Number(gap[2])] : null,
      bytes: new Uint8Array(await response.arrayBuffer()),
    };
  }

  /** Follows the changes of a session's transcript, from its beginning or after `lastEventId`. */
  changes(session: string, options?: FollowOptions): AsyncGenerator<Followed<Change>[], void, void> {
    return follow(this.#send, path(session, "events"), options);
  }

  /** Follows the events of all sessions, all or only of some types. Without `change`, transcripts are not sent. */
  events(options: FollowOptions & { readonly types?: readonly SessionEvent["type"][] } = {}): AsyncGenerator<Followed<SessionEvent>[], void, void> {
    const query = options.types ? `?types=${options.types.join(",")}` : "";
    return follow(this.#send, `/api/events${query}`, options);
  }

  readonly #send = (target: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const token = this.#token();
    if (token !== null) headers.set("authorization", `Bearer ${token}`);
    return this.#fetch(this.#base + target, { ...init, headers, credentials: "omit", redirect: "error" });
  };

  async #json<T>(target: string, method = "GET", body?: unknown): Promise<T> {
    const init: RequestInit = { method, headers: { accept: "application/json" } };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { accept: "application/json", "content-type": "application/json" };
    }
    const response = await this.#send(target, init);
    if (!response.ok) throw await RunnerError.of(response);
    return (await response.json()) as T;
  }
}

function path(session: string, part?: string): string {
  const base = `/api/sessions/${encodeURIComponent(session)}`;
  return part === undefined ? base : `${base}/${part}`;
}
