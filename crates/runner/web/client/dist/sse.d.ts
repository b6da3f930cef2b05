/** One server-sent event (WHATWG HTML, section 9.2). */
export interface ServerEvent {
    /** The last `id` of the stream; sent back as `Last-Event-ID`. */
    readonly id: string | null;
    readonly type: string;
    readonly data: string;
}
/** Parses a stream of server-sent events, in pieces of any length. */
export declare class EventParser {
    #private;
    /** Returns the events that a piece of text completes. */
    push(text: string): ServerEvent[];
}
