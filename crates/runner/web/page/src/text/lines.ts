/** A line of the agent's output. */
export interface LogLine {
  /** Offset of its first byte. */
  readonly from: number;
  /** Offset after its last byte, without the line end. */
  readonly to: number;
  /** Whether its beginning or end is outside of what was read. */
  readonly isCut: boolean;
  readonly text: string;
}

/** Cuts bytes at an offset of a stream into lines. */
export function cutLines(bytes: Uint8Array, from: number, streamEnd: number): LogLine[] {
  const decoder = new TextDecoder();
  const lines: LogLine[] = [];
  let at = 0;
  while (at < bytes.length) {
    const newline = bytes.indexOf(10, at);
    const end = newline < 0 ? bytes.length : newline;
    const startsInside = at > 0 || from === 0;
    const endsInside = newline >= 0 || from + bytes.length >= streamEnd;
    lines.push({
      from: from + at,
      to: from + end,
      isCut: !startsInside || !endsInside,
      text: decoder.decode(bytes.subarray(at, end)),
    });
    at = end + 1;
  }
  return lines;
}

/** Returns what kind of line it is, such as `system/init` or `session/update`, and a part of its content. */
export function describe(text: string): { readonly kind: string; readonly about: string } {
  const value = parse(text);
  if (!isObject(value)) return { kind: text.trim() === "" ? "blank" : "not JSON", about: text.slice(0, 80) };
  const event = isObject(value["event"]) ? value["event"] : value;
  const words = [value["type"] === "stream_event" ? null : value["type"], value["subtype"], event === value ? null : event["type"], value["method"]];
  const kind = words.filter((word) => typeof word === "string").join("/");
  const delta = isObject(event["delta"]) ? event["delta"] : null;
  const about = delta?.["text"] ?? delta?.["thinking"] ?? delta?.["partial_json"] ?? value["result"] ?? value["tool_name"] ?? "";
  return { kind: kind || ("id" in value ? "response" : "object"), about: typeof about === "string" ? about.slice(0, 80) : "" };
}

/** Returns a line as indented JSON, or as it is. */
export function pretty(text: string): string {
  const value = parse(text);
  return value === undefined ? text : JSON.stringify(value, null, 2);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
