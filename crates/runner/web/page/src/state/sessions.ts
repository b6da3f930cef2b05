import { type Client, type ConnectionState, type PermissionRequest, type SessionSummary } from "@bowline/client";
import { Store } from "./store.js";

/** A session of the list. Fields that the runner does not report are `null`. */
export interface ListedSession {
  readonly id: string;
  readonly title: string;
  readonly cwd: string | null;
  readonly agent: string | null;
  readonly phase: string;
  readonly reason: string | null;
  readonly costUsd: number | null;
  readonly contextShare: number | null;
  readonly isTerminal: boolean;
  /** Number of clients that are attached. */
  readonly hosts: number | null;
  readonly isRecording: boolean;
  /** The agent's id of its newest conversation. */
  readonly conversation: string | null;
  readonly startedMs: number;
  readonly endedMs: number | null;
}

export type Group = "asks" | "working" | "idle" | "ended" | "recordings";

/** What the session that is shown was at an earlier moment. */
export interface SessionThen {
  readonly id: string;
  readonly phase: string;
  readonly reason: string | null;
  readonly costUsd: number | null;
  readonly contextShare: number | null;
}

/** The label of a session that is a recording. */
const RECORDING = "bowline.recording";

/** The labels of a session that resumes a conversation, or a copy of one. */
const RESUME = "bowline.resume";
const FORK = "bowline.fork";

/** Events after which the list is read again. */
const LIST_EVENTS = ["created", "phase", "permission", "ended", "removed"] as const;

/** The sessions of the runner, read again when an event says that one has changed. */
export class SessionsStore extends Store {
  sessions: readonly ListedSession[] = [];
  connection: ConnectionState = { state: "connecting" };
  error: Error | null = null;
  /** The open permission requests of all sessions, oldest first. */
  requests: readonly PermissionRequest[] = [];
  /** What the list shows of a session at an earlier moment; `null` at the present. */
  then: SessionThen | null = null;
  /** Whether the list was read once. */
  isKnown = false;
  #all: readonly ListedSession[] = [];
  readonly #hidden = new Set<string>();
  readonly #abort = new AbortController();
  #isReading = false;
  #isStale = false;

  constructor(readonly client: Client) {
    super();
  }

  async follow(): Promise<void> {
    void this.read();
    const options = {
      types: LIST_EVENTS,
      signal: this.#abort.signal,
      onState: (state: ConnectionState) => {
        this.connection = state;
        // Events between two connections may be missing.
        if (state.state === "connected") void this.read();
        this.changed();
      },
    };
    try {
      for await (const _ of this.client.events(options)) void this.read();
    } catch {
      // `onState` has it.
    }
  }

  /** Reads the list, and once more if it became stale meanwhile. */
  async read(): Promise<void> {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        this.#all = (await this.client.sessions()).map(listed).reverse();
        const isAsking = this.#all.some((session) => groupOf(session) === "asks");
        this.requests = isAsking ? await this.client.openPermissions() : [];
        this.isKnown = true;
        this.#show();
        this.error = null;
      }
    } catch (error) {
      this.error = error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#isReading = false;
    }
    this.changed();
  }

  /** Hides a session that is to be deleted. */
  hide(id: string, isHidden: boolean): void {
    if (isHidden) this.#hidden.add(id);
    else this.#hidden.delete(id);
    this.#show();
    this.changed();
  }

  /** Lists the session that is shown as it was. */
  setThen(then: SessionThen | null): void {
    this.then = then;
    this.changed();
  }

  #show(): void {
    this.sessions = this.#all.filter(({ id }) => !this.#hidden.has(id));
  }

  close(): void {
    this.#abort.abort();
  }
}

export function groupOf({ phase, isRecording }: ListedSession): Group {
  if (isRecording) return "recordings";
  if (phase === "awaiting_permission") return "asks";
  if (phase === "ended" || phase === "lost" || phase === "exited") return "ended";
  return phase === "idle" ? "idle" : "working";
}

export function listed(session: SessionSummary): ListedSession {
  const text = (name: string) => (typeof session[name] === "string" ? (session[name] as string) : null);
  const number = (name: string) => (typeof session[name] === "number" ? (session[name] as number) : null);
  const program = text("program")?.split("/").at(-1) ?? null;
  const isTerminal = session["kind"] === "terminal" || session["stdio"] === "pty";
  const [used, size] = [number("context_used"), number("context_size")];
  const labels = (session["labels"] ?? {}) as Readonly<Record<string, string>>;
  const phase = text("phase") ?? text("state") ?? "running";
  return {
    id: session.id,
    title: session.name ?? text("title") ?? program ?? session.id,
    cwd: text("cwd"),
    agent: text("agent") ?? program,
    phase: isTerminal && phase === "running" ? "idle" : phase,
    reason: text("reason"),
    costUsd: number("cost_usd"),
    contextShare: used !== null && size ? used / size : null,
    isTerminal,
    hosts: number("hosts"),
    isRecording: RECORDING in labels,
    // One that resumes a conversation is that conversation before the agent says so.
    conversation: text("conversation") ?? (FORK in labels ? null : (labels[RESUME] ?? null)),
    startedMs: number("started_ms") ?? 0,
    endedMs: number("ended_ms"),
  };
}
