/** One server-sent event (WHATWG HTML, section 9.2). */
export interface ServerEvent {
  /** The last `id` of the stream; sent back as `Last-Event-ID`. */
  readonly id: string | null;
  readonly type: string;
  readonly data: string;
}

/** Longest line of a stream, in UTF-16 units. A longer one is an error: it would be kept in memory as a whole. */
const MAX_LINE = 64 << 20;

/** Parses a stream of server-sent events, in pieces of any length. */
export class EventParser {
  #rest: string[] = [];
  #restLength = 0;
  #id: string | null = null;
  /** That of the last message that is complete. */
  #lastId: string | null = null;
  #type = "";
  #data: string[] = [];
  #endsWithReturn = false;

  /** The last `id` of the stream, that of a message without data included. */
  get lastEventId(): string | null {
    return this.#lastId;
  }

  /** Returns the events that a piece of text completes. */
  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    let at = 0;
    // CR LF may be split between two pieces.
    if (this.#endsWithReturn && text.startsWith("\n")) at = 1;
    if (text !== "") this.#endsWithReturn = text.endsWith("\r");
    for (;;) {
      const end = lineEnd(text, at);
      if (end < 0) break;
      this.#rest.push(text.slice(at, end));
      const line = this.#rest.length === 1 ? this.#rest[0]! : this.#rest.join("");
      this.#rest = [];
      this.#restLength = 0;
      at = end + (text[end] === "\r" && text[end + 1] === "\n" ? 2 : 1);
      const event = this.#line(line);
      if (event) events.push(event);
    }
    this.#keep(text.slice(at));
    return events;
  }

  #keep(rest: string): void {
    if (rest === "") return;
    this.#rest.push(rest);
    this.#restLength += rest.length;
    if (this.#restLength > MAX_LINE) throw new Error(`an event has a line of over ${MAX_LINE} characters`);
  }

  #line(line: string): ServerEvent | null {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    // A comment, such as a heartbeat.
    if (colon === 0) return null;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#type = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #dispatch(): ServerEvent | null {
    const type = this.#type || "message";
    this.#type = "";
    this.#lastId = this.#id;
    if (this.#data.length === 0) return null;
    const data = this.#data.join("\n");
    this.#data = [];
    return { id: this.#id, type, data };
  }
}

function lineEnd(text: string, from: number): number {
  const newline = text.indexOf("\n", from);
  const carriage = text.indexOf("\r", from);
  if (newline < 0) return carriage;
  return carriage < 0 ? newline : Math.min(newline, carriage);
}
