import type { BlockValue, CallValue, Change, EntryJson, PermissionValue, SessionFields, Stats, Status, TaskValue, Usage } from "./types.js";
/** A block of a message, with the number by which changes name it. */
export interface Block {
    readonly number: number;
    readonly value: BlockValue;
}
/** An entry, with the number by which changes name it. A changed entry is a new object. */
export interface Entry {
    readonly number: number;
    /** The id of the call that holds its thread, or the name of a thread; `null` for the main one. */
    readonly thread: string | null;
    readonly value: EntryJson;
    readonly blocks: readonly Block[];
}
/** A tool call, with the number by which changes name it. A changed call is a new object. */
export interface Call {
    readonly number: number;
    readonly thread: string | null;
    readonly value: CallValue;
}
/** What changes have touched since the last notification. */
export interface Touched {
    /** Whether everything was replaced. */
    reset: boolean;
    /** Session, status, usage or statistics. */
    session: boolean;
    /** Threads whose lists of entries gained or lost one. */
    readonly threads: Set<string | null>;
    readonly entries: Set<number>;
    /** Ids of calls. */
    readonly calls: Set<string>;
    permissions: boolean;
    tasks: boolean;
}
/**
 * A transcript that is kept up to date by changes. It is the counterpart of `bowline_reducer::Mirror`.
 *
 * Each change takes time in proportion to its own size. Values are immutable: an object that has not changed is the
 * same object.
 */
export declare class Transcript {
    #private;
    session: SessionFields | null;
    status: Status | null;
    usage: Usage | null;
    stats: Stats | null;
    /** Applies the next change. Unknown changes are ignored. */
    apply(change: Change): void;
    /** Returns the numbers of the entries of a thread, in order. */
    entryNumbers(thread?: string | null): readonly number[];
    entry(number: number): Entry | undefined;
    /** Returns the entries of a thread, in order. */
    entries(thread?: string | null): Entry[];
    call(id: string): Call | undefined;
    /** Returns all calls of all threads, in order of their numbers. */
    calls(): Call[];
    /** Returns the permission requests, in order. */
    permissions(): PermissionValue[];
    /** Returns the background tasks by id. */
    get tasks(): ReadonlyMap<string, TaskValue>;
    /** Returns what was touched since the last call. */
    takeTouched(): Touched;
    /** Returns the document of schema 2, as `bowline replay --output transcript` prints it. */
    toJSON(): Record<string, unknown>;
}
/** Returns the end of an entry in the agent's output: that of its last block, for one that has blocks. */
export declare function entryBytes(entry: Entry): readonly [number, number] | null;
