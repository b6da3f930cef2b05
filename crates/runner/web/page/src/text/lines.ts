import type { UnknownMembers } from "@bowline/client";

/** A row is shown as JSON if it is not longer, in characters. */
const MAX_PRETTY = 200_000;

/** A text, of which parts are marked. */
export interface MarkedText {
  readonly text: string;
  /** Where marked parts begin and end, in order. */
  readonly marks: readonly (readonly [number, number])[];
}

/** Returns lines as indented JSON, each after a blank line; one that is not JSON as it is. The names of unknown members are marked. `from` is the offset of the first line. */
export function pretty(text: string, unknown: readonly UnknownMembers[], from: number): MarkedText {
  if (text.length > MAX_PRETTY) return raw(text, unknown, from);
  const marks: [number, number][] = [];
  let out = "";
  for (const { line, members } of linesOf(text, unknown, from)) {
    if (line.trim() === "") continue;
    if (out !== "") out += "\n\n";
    const shown = indented(line);
    if (shown !== null) marks.push(...namesIn(shown, members, out.length));
    out += shown ?? line;
  }
  return { text: out, marks };
}

/** Returns lines as they are, with the names of unknown members marked. */
export function raw(text: string, unknown: readonly UnknownMembers[], from: number): MarkedText {
  const marks = linesOf(text, unknown, from).flatMap(({ line, members, at }) => namesIn(line, members, at));
  return { text, marks };
}

interface TextLine {
  readonly line: string;
  /** Where it begins in the text. */
  readonly at: number;
  /** Its unknown members. */
  readonly members: ReadonlySet<string>;
}

/** Returns the lines of a text that begins at an offset, with the unknown members of each. */
function linesOf(text: string, unknown: readonly UnknownMembers[], from: number): TextLine[] {
  let [at, offset] = [0, from];
  return text.split("\n").map((line) => {
    const own = unknown.find((it) => it.offset === offset)?.members;
    const shown = { line, at, members: new Set(own) };
    at += line.length + 1;
    if (unknown.length > 0) offset += new TextEncoder().encode(line).length + 1;
    return shown;
  });
}

/** Returns a line as indented JSON; `null` if it is not JSON. */
function indented(line: string): string | null {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return null;
  }
}

/** What decides where names are: strings, and signs outside of them. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/** An object or a list that is open where the text is read. */
interface OpenValue {
  readonly pointer: string;
  /** The element of a list that is read, or the member of an object; `null` where a name comes next. */
  part: number | string | null;
}

/** Returns where the names of members are written in JSON, which begins at `from` of what is shown. `members` are JSON pointers. */
function namesIn(json: string, members: ReadonlySet<string>, from: number): [number, number][] {
  const found: [number, number][] = [];
  if (members.size === 0) return found;
  const open: OpenValue[] = [];
  for (const { 0: token, index } of json.matchAll(TOKENS)) {
    const parent = open.at(-1);
    if (token === "{" || token === "[") {
      open.push({ pointer: parent ? `${parent.pointer}/${parent.part}` : "", part: token === "[" ? 0 : null });
    } else if (token === "}" || token === "]") {
      open.pop();
    } else if (token === ",") {
      if (parent) parent.part = typeof parent.part === "number" ? parent.part + 1 : null;
    } else if (parent?.part === null) {
      parent.part = nameOf(token).replaceAll("~", "~0").replaceAll("/", "~1");
      if (members.has(`${parent.pointer}/${parent.part}`)) found.push([from + index, from + index + token.length]);
    }
  }
  return found;
}

/** Returns the text of a JSON string; what is written of one that is none. */
function nameOf(token: string): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    return token.slice(1, -1);
  }
}

/** The name of a line without what all lines of its kind share. */
export function shortKind(kind: string): string {
  return kind.replace(/^stream_event\//, "");
}
