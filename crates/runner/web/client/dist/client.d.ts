import { type FollowOptions, type Followed } from "./events.js";
import type { Change, PermissionValue, Phase, Range } from "./types.js";
/** A session, as the runner lists it. */
export interface SessionSummary {
    readonly id: string;
    readonly name: string | null;
    readonly [field: string]: unknown;
}
/** An event of any session. */
export type SessionEvent = {
    readonly session: string;
} & (({
    readonly type: "change";
} & Change) | {
    readonly type: "created" | "ended" | "removed" | "permission";
    readonly [field: string]: unknown;
} | {
    readonly type: "phase";
    readonly phase: Phase;
    readonly [field: string]: unknown;
});
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
export type Answer = {
    readonly option: string;
    readonly message?: string;
} | {
    readonly decision: "allow";
} | {
    readonly decision: "deny";
    readonly message?: string;
    readonly interrupt?: boolean;
} | {
    readonly answers: Readonly<Record<string, string>>;
};
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
export declare class Client {
    #private;
    constructor(options?: ClientOptions);
    sessions(): Promise<SessionSummary[]>;
    /** Starts a session. A repeated call with the same `id`, a UUID, starts one. */
    start(session: NewSession, id?: string): Promise<string>;
    /** Sends a prompt. A repeated call with the same `id`, a UUID, sends it once. */
    prompt(session: string, text: string, id?: string): Promise<string>;
    /** Returns the permission requests of a session with the input of their tools, oldest first. */
    permissions(session: string): Promise<(PermissionValue & {
        input: unknown;
    })[]>;
    /** Answers a permission request. The first answer counts; a later one gets an error that names the first. */
    answer(session: string, requestId: string, answer: Answer): Promise<void>;
    /** Stops the running turn, and with `cancelQueued` the prompts that wait. */
    interrupt(session: string, cancelQueued?: boolean): Promise<void>;
    /** Changes an option, such as `model` or `mode`. */
    setOption(session: string, option: string, value: string): Promise<void>;
    /** Ends a session and keeps its log. */
    end(session: string): Promise<void>;
    /** Returns bytes of the agent's output from an offset on, up to the next gap, at most 1 MiB. */
    log(session: string, from: number, max: number, signal?: AbortSignal): Promise<LogSlice>;
    /** Follows the changes of a session's transcript, from its beginning or after `lastEventId`. */
    changes(session: string, options?: FollowOptions): AsyncGenerator<Followed<Change>[], void, void>;
    /** Follows the events of all sessions, all or only of some types. Without `change`, transcripts are not sent. */
    events(options?: FollowOptions & {
        readonly types?: readonly SessionEvent["type"][];
    }): AsyncGenerator<Followed<SessionEvent>[], void, void>;
}
