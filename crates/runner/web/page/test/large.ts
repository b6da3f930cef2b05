// A recording as large as one of a long day.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

const turn = "../../../tests/fixtures/tool_bash_partial.jsonl";

/** Writes a recording of at least so many bytes: one turn again and again, with ids of its own each time, `everyMs` later; 0 leaves the times as they are. Returns its length. */
export function writeLarge(path: string, bytes: number, everyMs: number): number {
  const text = readFileSync(turn, "utf8");
  const session = /"session_id":"([^"]+)"/.exec(text)![1]!;
  const varying = /"timestamp":"([^"]+)"|[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})|(msg|toolu)_rig/g;
  const file = openSync(path, "w");
  let written = 0;
  for (let at = 0; written < bytes; at += 1) {
    const number = at.toString(16).padStart(8, "0");
    const own = text.replaceAll(varying, (found, time: string | undefined, rest: string | undefined, kind: string | undefined) => {
      if (time !== undefined) return `"timestamp":"${new Date(Date.parse(time) + at * everyMs).toISOString()}"`;
      if (found === session) return found;
      return rest === undefined ? `${kind}_${number}` : number + rest;
    });
    written += writeSync(file, own);
  }
  closeSync(file);
  return written;
}
