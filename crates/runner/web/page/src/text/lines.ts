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
  if (text.length > MAX_PRETTY) return { text, marks: [] };
  const marks: [number, number][] = [];
  let [out, offset] = ["", from];
  for (const line of text.split("\n")) {
    const own = unknown.find((it) => it.offset === offset)?.members ?? [];
    if (unknown.length > 0) offset += new TextEncoder().encode(line).length + 1;
    if (line.trim() === "") continue;
    if (out !== "") out += "\n\n";
    const shown = prettyLine(line, new Set(own));
    for (const [begin, end] of shown.marks) marks.push([out.length + begin, out.length + end]);
    out += shown.text;
  }
  return { text: out, marks };
}

function prettyLine(line: string, unknown: ReadonlySet<string>): MarkedText {
  try {
    const value: unknown = JSON.parse(line);
    const text = JSON.stringify(value, null, 2);
    if (unknown.size === 0) return { text, marks: [] };
    const rows = text.split("\n");
    const wanted = new Set<number>();
    findRows(value, "", 0, (pointer, row) => unknown.has(pointer) && wanted.add(row));
    const marks: [number, number][] = [];
    let begin = 0;
    for (const [row, written] of rows.entries()) {
      const name = wanted.has(row) ? /"(?:[^"\\]|\\.)*"/.exec(written) : null;
      if (name) marks.push([begin + name.index, begin + name.index + name[0].length]);
      begin += written.length + 1;
    }
    return { text, marks };
  } catch {
    return { text: line, marks: [] };
  }
}

/** Tells the row of each member of a value that is written over rows, whose own is `row`. Returns the row of its end. */
function findRows(value: unknown, pointer: string, row: number, found: (pointer: string, row: number) => void): number {
  if (typeof value !== "object" || value === null) return row;
  const members = Object.entries(value);
  if (members.length === 0) return row;
  let at = row;
  for (const [name, member] of members) {
    const own = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    found(own, at + 1);
    at = findRows(member, own, at + 1, found);
  }
  return at + 1;
}

/** The name of a line without what all lines of its kind share. */
export function shortKind(kind: string): string {
  return kind.replace(/^stream_event\//, "");
}
