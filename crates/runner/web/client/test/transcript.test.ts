// The transcript that changes lead to is the one that `bowline replay --output transcript` prints, for every
// recording and also when only a part of it was read.
import { deepStrictEqual, strictEqual } from "node:assert";
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Transcript, type Change } from "@bowline/client";

const bowline = process.env["BOWLINE"] ?? "../../../target/debug/bowline";
const fixtures = "../../../tests/fixtures";

/** Recordings of the agents' output. `history` has the agents' own files, which are no recordings. */
function recordings(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name !== "history")
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? recordings(path) : [path]))
    .filter((path) => /\.(jsonl|jsonl\.gz)$/.test(path));
}

function replay(path: string, output: string): string {
  return execFileSync(bowline, ["replay", path, "--output", output], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function changesOf(path: string): Change[] {
  const lines = replay(path, "changes").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Change);
}

const all = recordings(fixtures);

test("there are recordings of several agents", () => {
  strictEqual(all.length > 100, true);
});

for (const path of all) {
  test(`changes of ${path.slice(fixtures.length + 1)} lead to its transcript`, () => {
    const transcript = new Transcript();
    for (const change of changesOf(path)) transcript.apply(change);
    const expected = JSON.parse(replay(path, "transcript")) as unknown;
    deepStrictEqual(JSON.parse(JSON.stringify(transcript)), expected);
  });
}

test("a reset forgets everything", () => {
  const changes = changesOf(join(fixtures, "sub_fg_partial.jsonl"));
  const [once, twice] = [new Transcript(), new Transcript()];
  for (const change of changes) once.apply(change);
  for (const change of [...changes, { change: "reset" } as const, ...changes]) twice.apply(change);
  deepStrictEqual(JSON.stringify(twice), JSON.stringify(once));
});

test("an append replaces what follows its offset in bytes of UTF-8", () => {
  const transcript = new Transcript();
  const entry = { turn: null, at_ms: null, bytes: null, history: false, thread: null } as const;
  const value = { kind: "assistant", message_id: null, model: null, state: "streaming", blocks: [] } as const;
  transcript.apply({ change: "entry", entry: 0, value, ...entry });
  transcript.apply({ change: "block", block: 0, entry: 0, value: { type: "text", text: "é€😀!" }, bytes: [0, 9] });
  transcript.apply({ change: "append", block: 0, from: 9, text: "?", end: 12 });
  const text = () => (transcript.entry(0)!.blocks[0]!.value as { text: string }).text;
  strictEqual(text(), "é€😀?");
  transcript.apply({ change: "append", block: 0, from: 10, text: "ok", end: 20 });
  strictEqual(text(), "é€😀?ok");
  transcript.apply({ change: "append", block: 0, from: 2, text: "x", end: 30 });
  strictEqual(text(), "éx");
});

test("an entry that has not changed is the same object", () => {
  const transcript = new Transcript();
  const changes = changesOf(join(fixtures, "parallel_partial.jsonl"));
  let untouched = 0;
  let before = new Map<number, unknown>();
  for (const change of changes) {
    transcript.apply(change);
    const touched = transcript.takeTouched();
    const now = new Map(transcript.entries().map((entry) => [entry.number, entry]));
    for (const [number, entry] of now) {
      if (touched.entries.has(number)) continue;
      strictEqual(entry, before.get(number));
      untouched += 1;
    }
    before = now;
  }
  strictEqual(untouched > 0, true);
});
