import type { Transcript as TranscriptDocument } from "./api.js";
import { RunnerError } from "./error.js";
import { REAL_TIMER, follow, type FollowOptions, type Followed, type Timer } from "./events.js";
import { TerminalConnection, type TerminalExit, type TerminalOptions, type TerminalReader, type TerminalSize } from "./terminal.js";
import type { CheckedMembers, LinePage, LineStart, LogStream, Moment, Timeline, TranscriptPart, WindowStart } from "./inspection.js";
import type { Change, PermissionValue, Phase, QueuedPrompt, Range } from "./types.js";

/** The subprotocol of frames over WebSocket. */
const FRAMES = "bowline.frames.v1";

/** How long the runner may take until it begins to answer, in milliseconds. What changes something may wait for an agent. */
const READ_MS = 30_000;
const CHANGE_MS = 60_000;

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
  readonly budget?: { readonly cost_usd?: number; readonly tokens?: number; readonly turns?: number; readonly seconds?: number };
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** An agent that is known by name. */
export interface AgentOnMachine {
  readonly name: string;
  /** Its program; `null` if it is not installed. */
  readonly path: string | null;
  readonly dialect: string;
  /** The command that installs it. */
  readonly install: string;
}

/** A conversation that an agent keeps itself. */
export interface PastConversation {
  readonly id: string;
  readonly agent: string;
  readonly title: string | null;
  readonly cwd: string | null;
  readonly model: string | null;
  readonly turns: number;
  readonly cost_usd: number | null;
  readonly last_activity_ms: number;
}

/** A permission request of any session, with the input of its tool. */
export interface PermissionRequest extends PermissionValue {
  readonly session: string;
  readonly input: unknown;
}

/** The answer to a permission request: an option, a decision, or the answers to its questions. */
export type Answer =
  | { readonly option: string; readonly message?: string }
  | { readonly decision: "allow" }
  | { readonly decision: "deny"; readonly message?: string; readonly interrupt?: boolean }
  | { readonly answers: Readonly<Record<string, string>> };

/** When a part of a stream arrived. */
export interface StreamArrival {
  readonly offset: number;
  /** Milliseconds since the Unix epoch; `null` if unknown. */
  readonly at_ms: number | null;
}

/** The screen of a terminal as it was: bytes for a terminal of that size that was reset. */
export interface PastScreen {
  readonly at: number;
  readonly size: TerminalSize;
  readonly bytes: Uint8Array;
}

/** Which lines above a screen are read. */
export interface ScrollbackPage {
  /** The screen; the newest one if it is left out. */
  readonly at?: string;
  /** Lines above it that are left out. */
  readonly skip?: number;
  readonly lines?: number;
}

export interface Scrollback {
  /** Text with SGR sequences and links. */
  readonly lines: readonly string[];
  /** Where older lines are; `null` if there are none. */
  readonly older: { readonly at: string; readonly skip: number } | null;
  /** Whether older lines are not recorded any more. */
  readonly lost: boolean;
}

/** What an interrupt stops beside the running turn; or `task`, the id of one task in the background, and nothing else. */
export type InterruptScope = { readonly cancel_queued?: boolean; readonly tasks?: boolean } | { readonly task: string };

/** A place that a search has found. */
export interface SearchHit {
  readonly in: "text" | "tools" | "bytes";
  /** The entry, in any thread. */
  readonly entry: number | null;
  /** The entry of the main thread that has it within. */
  readonly main_entry: number | null;
  readonly tool_call: string | null;
  readonly bytes: Range | null;
  readonly before: string;
  readonly found: string;
  readonly after: string;
}

export interface SearchQuery {
  readonly q: string;
  /** `text`, `tools` and `bytes`, separated by commas. */
  readonly in?: string;
  /** `next` of the last page. */
  readonly after?: string;
  readonly max?: number;
}

/** An image, a PDF or a text that is attached to a prompt. */
export interface Attachment {
  readonly media_type: string;
  /** The bytes in base64. */
  readonly data: string;
  readonly title?: string;
}

export interface PromptOptions {
  /** Whether the prompt waits until the agent is idle, in the queue, where it can be changed until then. */
  readonly queue?: boolean;
  readonly attachments?: readonly Attachment[];
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
  /** Measures how long the runner takes to answer. */
  readonly timer?: Timer;
}

/** The API of one runner. */
export class Client {
  readonly #base: string;
  readonly #token: () => string | null;
  readonly #name: string | undefined;
  readonly #fetch: typeof fetch;
  readonly #timer: Timer;

  constructor(options: ClientOptions = {}) {
    const { url = "", token = null } = options;
    this.#base = url.replace(/\/+$/, "");
    this.#token = typeof token === "function" ? token : () => token;
    this.#name = options.name;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#timer = options.timer ?? REAL_TIMER;
  }

  async sessions(): Promise<SessionSummary[]> {
    const { sessions } = await this.#json<{ sessions: SessionSummary[] }>("/api/sessions");
    return sessions;
  }

  /** Returns the agents that are known by name, and where they are installed. */
  async agents(): Promise<readonly AgentOnMachine[]> {
    return (await this.#json<{ agents: AgentOnMachine[] }>("/api/agents")).agents;
  }

  /** Returns folders of the runner's machine whose path begins with a text. */
  async folders(prefix: string, signal?: AbortSignal): Promise<readonly string[]> {
    const query = new URLSearchParams({ prefix });
    return (await this.#json<{ folders: string[] }>(`/api/folders?${query}`, "GET", undefined, signal ? { signal } : {})).folders;
  }

  /** Returns conversations that agents keep themselves, those with the newest activity first. */
  async history(search: string, limit: number, signal?: AbortSignal): Promise<readonly PastConversation[]> {
    const query = new URLSearchParams({ limit: String(limit), ...(search === "" ? {} : { search }) });
    const target = `/api/history?${query}`;
    return (await this.#json<{ conversations: PastConversation[] }>(target, "GET", undefined, signal ? { signal } : {})).conversations;
  }

  /** Returns a conversation that an agent keeps, by its id. */
  pastConversation(id: string, signal?: AbortSignal): Promise<PastConversation> {
    return this.#json(`/api/history/${encodeURIComponent(id)}`, "GET", undefined, signal ? { signal } : {});
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

  /** Searches a session's transcript and its bytes. */
  search(session: string, query: SearchQuery, signal?: AbortSignal): Promise<{ hits: SearchHit[]; next: string | null }> {
    const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return this.#json(`${path(session, "search")}?${text}`, "GET", undefined, signal ? { signal } : {});
  }

  /** Returns the open permission requests of all sessions, oldest first. */
  async openPermissions(): Promise<readonly PermissionRequest[]> {
    return (await this.#json<{ permissions: PermissionRequest[] }>("/api/permissions")).permissions;
  }

  /** Returns the permission requests of a session with the input of their tools, oldest first. */
  async permissions(session: string): Promise<(PermissionValue & { input: unknown })[]> {
    const body = await this.#json<{ permissions: (PermissionValue & { input: unknown })[] }>(
      path(session, "permissions"),
    );
    return body.permissions;
  }

  /**
   * Answers a permission request. The first answer counts; a later one gets an error that names the first. A repeated
   * call with the same `id`, a UUID, is the same answer.
   */
  async answer(session: string, requestId: string, answer: Answer, id: string = crypto.randomUUID()): Promise<void> {
    const by = this.#name === undefined ? {} : { by: this.#name };
    const body = { request_id: requestId, ...by, ...answer };
    await this.#json(path(session, "permissions"), "POST", body, { headers: { "idempotency-key": id } });
  }

  /** Stops the running turn, and what else is named; or one task in the background. */
  async interrupt(session: string, scope: InterruptScope = {}): Promise<void> {
    await this.#json(path(session, "interrupt"), "POST", scope);
  }

  /** Changes an option, such as `model` or `mode`. */
  async setOption(session: string, option: string, value: string): Promise<void> {
    await this.#json(path(session, "options"), "POST", { option, value });
  }

  /** Ends a session and keeps its log. */
  async end(session: string): Promise<void> {
    await this.#json(path(session), "DELETE");
  }

  /** Ends a session, and moves its log to the trash, which is kept for an hour. */
  async delete(session: string): Promise<void> {
    await this.#json(`${path(session)}?remove=true`, "DELETE");
  }

  /** Lists a session again that was deleted within the last hour. */
  async restore(session: string): Promise<void> {
    await this.#json(path(session, "restore"), "POST");
  }

  async rename(session: string, name: string): Promise<void> {
    await this.#json(path(session), "PATCH", { name });
  }

  /** Returns the agent's id of a session's newest conversation. */
  async conversation(session: string): Promise<string | null> {
    return (await this.transcript(session)).session_id ?? null;
  }

  /** Returns a whole transcript, as it is or as it was at a moment. */
  transcript(session: string, moment: Moment | null = null): Promise<TranscriptDocument> {
    return this.#json(path(session, "transcript", { ...moment }));
  }

  /** Returns a part of a transcript, as it is or as it was at a moment. */
  part(session: string, moment: Moment | null, start: WindowStart & { readonly max?: number } = {}, signal?: AbortSignal): Promise<TranscriptPart> {
    return this.#json(path(session, "changes", { ...moment, ...start }), "GET", undefined, signal ? { signal } : {});
  }

  /** Returns the lines of a session, and what each became. Without `fold`, each line is an item. */
  lines(session: string, start: LineStart & { readonly max?: number; readonly fold?: boolean }, signal?: AbortSignal): Promise<LinePage> {
    return this.#json(path(session, "lines", start), "GET", undefined, signal ? { signal } : {});
  }

  /** Returns the lines of the output, or of the input, from an offset on that have members which the runner does not read. */
  unknownMembers(session: string, from: number, max: number, signal?: AbortSignal, stream?: "input"): Promise<CheckedMembers> {
    return this.#json(path(session, "unknown-members", { from, max, ...(stream && { stream }) }), "GET", undefined, signal ? { signal } : {});
  }

  /** Returns what lasts in a session: turns, model calls, tools, permission requests. */
  timeline(session: string, signal?: AbortSignal): Promise<Timeline> {
    return this.#json(path(session, "timeline"), "GET", undefined, signal ? { signal } : {});
  }

  /** Returns bytes of a stream (default: the agent's output) from an offset on, up to the next gap, at most 1 MiB. */
  async log(session: string, from: number, max: number, signal?: AbortSignal, stream?: LogStream): Promise<LogSlice> {
    const query = new URLSearchParams({ from: String(from), max: String(max), ...(stream && { stream }) });
    const response = await this.#request(`${path(session, "log")}?${query}`, signal ? { signal } : {});
    const number = (name: string) => Number(response.headers.get(`bowline-${name}`));
    const gap = /^(\d+)-(\d+)$/.exec(response.headers.get("bowline-gap") ?? "");
    return {
      from: number("from"),
      end: number("end"),
      gap: gap ? [Number(gap[1]), Number(gap[2])] : null,
      bytes: new Uint8Array(await response.arrayBuffer()),
    };
  }

  /** Returns when the bytes of a stream arrived, from an offset on: the parts that arrived together, and where to continue. */
  arrivals(session: string, from: number, signal?: AbortSignal): Promise<{ readonly arrivals: readonly StreamArrival[]; readonly next: number }> {
    return this.#json(`${path(session, "arrivals")}?from=${from}`, "GET", undefined, signal ? { signal } : {});
  }

  /** Returns the screen of a terminal as it was at an offset of its output. */
  async screen(session: string, at: number, signal?: AbortSignal): Promise<PastScreen> {
    const response = await this.#request(`${path(session, "screen")}?at=${at}`, signal ? { signal } : {});
    const [cols, rows] = (response.headers.get("bowline-size") ?? "80x24").split("x").map(Number) as [number, number];
    return { at: Number(response.headers.get("bowline-at")), size: { cols, rows }, bytes: new Uint8Array(await response.arrayBuffer()) };
  }

  /** Returns lines above a terminal's screen, oldest first: above the newest screen, or where `older` of another page says. */
  scrollback(session: string, page: ScrollbackPage, signal?: AbortSignal): Promise<Scrollback> {
    const query = new URLSearchParams(Object.entries(page).map(([name, value]) => [name, String(value)]));
    return this.#json(`${path(session, "scrollback")}?${query}`, "GET", undefined, signal ? { signal } : {});
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

  /** Returns a session. */
  session(session: string): Promise<SessionSummary> {
    return this.#json<SessionSummary>(path(session));
  }

  /** Attaches to a terminal session until `close` of the connection. */
  terminal(session: string, reader: TerminalReader, options: TerminalOptions = {}): TerminalConnection {
    const base = new URL(this.#base === "" ? location.origin : this.#base);
    base.protocol = base.protocol === "https:" ? "wss:" : "ws:";
    const url = `${base.href.replace(/\/+$/, "")}${path(session, "attach")}`;
    const open = () => {
      const token = this.#token();
      return new WebSocket(url, [FRAMES, ...(token === null ? [] : [`tok.${base64Url(token)}`])]);
    };
    const findEnd = async () => {
      const { state, exit } = await this.session(session);
      return state === "running" ? null : { exit: (exit ?? null) as TerminalExit | null };
    };
    const name = this.#name === undefined ? {} : { name: this.#name };
    return new TerminalConnection(session, reader, open, findEnd, { ...name, ...options });
  }

  readonly #send = (target: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const token = this.#token();
    if (token !== null) headers.set("authorization", `Bearer ${token}`);
    return this.#fetch(this.#base + target, { ...init, headers, credentials: "omit", redirect: "error" });
  };

  async #json<T>(target: string, method = "GET", body?: unknown, more: RequestInit = {}): Promise<T> {
    const headers = new Headers(more.headers);
    headers.set("accept", "application/json");
    const init: RequestInit = { ...more, method, headers };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      headers.set("content-type", "application/json");
    }
    const response = await this.#request(target, init);
    return (await response.json()) as T;
  }

  /** Sends a request that is answered once. It fails if no answer begins in time: the connection may be dead. */
  async #request(target: string, init: RequestInit): Promise<Response> {
    const { signal: outer, method = "GET" } = init;
    const ms = method === "GET" ? READ_MS : CHANGE_MS;
    const controller = new AbortController();
    const abort = () => controller.abort(outer?.reason);
    if (outer?.aborted) abort();
    // It stays, since the rest of the answer may be no longer wanted.
    outer?.addEventListener("abort", abort);
    const text = `the runner did not answer within ${ms / 1_000} s; see that it runs and can be reached, and try again`;
    const id = this.#timer.set(() => controller.abort(new Error(text)), ms);
    try {
      const response = await this.#send(target, { ...init, signal: controller.signal });
      if (!response.ok) throw await RunnerError.of(response);
      return response;
    } finally {
      this.#timer.clear(id);
    }
  }
}

function path(session: string, part?: string, query: Readonly<Record<string, string | number | boolean | undefined>> = {}): string {
  const base = `/api/sessions/${encodeURIComponent(session)}`;
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  const text = new URLSearchParams(given).toString();
  return (part === undefined ? base : `${base}/${part}`) + (text && `?${text}`);
}

function base64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
