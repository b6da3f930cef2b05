// Diffs, heights and texts, without a browser.
import { deepStrictEqual, strictEqual } from "node:assert";
import { test } from "node:test";
import type { Timeline } from "@bowline/client";
import { Heights } from "../src/list/heights.js";
import { diffLines, nearChanges, readPatch } from "../src/text/diff.js";
import { count, duration, plain, shortPath } from "../src/text/format.js";
import { pretty, raw } from "../src/text/lines.js";
import { clock, readClock, readMoment } from "../src/text/moments.js";
import { safeTarget } from "../src/text/markdown.js";

/** A small generator of numbers that repeats itself (mulberry32). */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

test("a diff has both texts, whatever they are", () => {
  const next = numbers(7);
  for (let round = 0; round < 500; round += 1) {
    const text = () => Array.from({ length: next(12) }, () => "abcd"[next(4)]! + "\n").join("");
    const [old, now] = [text(), text()];
    const lines = diffLines(old, now);
    const side = (other: string) => lines.filter(({ kind }) => kind !== other).map((line) => `${line.text}\n`).join("");
    strictEqual(side("added"), old);
    strictEqual(side("removed"), now);
    deepStrictEqual(lines.flatMap((line) => line.old ?? []), old.split("\n").slice(0, -1).map((_, at) => at + 1));
    deepStrictEqual(lines.flatMap((line) => line.new ?? []), now.split("\n").slice(0, -1).map((_, at) => at + 1));
    for (const { text: whole, words } of lines) {
      if (words) strictEqual(words.map((part) => part.text).join(""), whole);
    }
  }
});

test("a diff is as short as it can be", () => {
  // The longest common subsequence, by the textbook table.
  const common = (a: string[], b: string[]) => {
    const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
    for (let i = 1; i <= a.length; i += 1)
      for (let j = 1; j <= b.length; j += 1)
        table[i]![j] = a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
    return table[a.length]![b.length]!;
  };
  const next = numbers(11);
  for (let round = 0; round < 300; round += 1) {
    const list = () => Array.from({ length: next(14) }, () => "abc"[next(3)]!);
    const [old, now] = [list(), list()];
    const lines = diffLines(old.join("\n") + "\n", now.join("\n") + "\n");
    if (old.length === 0 || now.length === 0) continue;
    strictEqual(lines.filter(({ kind }) => kind === "same").length, common(old, now));
  }
});

test("changed words of a line are marked", () => {
  const [before, after] = diffLines("let total = sum / 2;\n", "let total = sum / count;\n");
  deepStrictEqual(before!.words!.filter(({ kind }) => kind !== "same"), [{ kind: "removed", text: "2" }]);
  deepStrictEqual(after!.words!.filter(({ kind }) => kind !== "same"), [{ kind: "added", text: "count" }]);
});

test("large texts without a common line are compared in time", () => {
  const lines = (letter: string) => Array.from({ length: 20_000 }, (_, at) => `${letter}${at}\n`).join("");
  strictEqual(diffLines(lines("a"), lines("b")).length, 40_000);
});

test("only lines near a change are shown", () => {
  const old = Array.from({ length: 20 }, (_, at) => `line ${at}\n`).join("");
  const shown = nearChanges(diffLines(old, old.replace("line 10", "line ten")), 1);
  deepStrictEqual(shown.map((line) => line?.text ?? "…"), ["…", "line 9", "line 10", "line ten", "line 11", "…"]);
});

test("a patch has the line numbers of its hunks", () => {
  const lines = readPatch("--- a\n+++ b\n@@ -3,2 +3,3 @@ fn\n same\n-old\n+new\n+more\n\\ No newline at end of file\n");
  deepStrictEqual(
    lines.map(({ kind, old, new: now, text }) => [kind, old, now, text]),
    [
      ["same", 3, 3, "same"],
      ["removed", 4, null, "old"],
      ["added", null, 4, "new"],
      ["added", null, 5, "more"],
    ],
  );
});

test("heights find the row at each position", () => {
  const next = numbers(3);
  const heights = new Heights(10);
  const model: number[] = [];
  for (let round = 0; round < 3_000; round += 1) {
    const action = next(10);
    if (action < 3) {
      const length = next(300);
      heights.resize(length);
      while (model.length > length) model.pop();
      while (model.length < length) model.push(10);
    } else if (model.length > 0) {
      const [row, height] = [next(model.length), next(50)];
      strictEqual(heights.set(row, height), height - model[row]!);
      model[row] = height;
    }
    strictEqual(heights.total, model.reduce((sum, height) => sum + height, 0));
    const row = next(model.length + 1);
    strictEqual(heights.top(row), model.slice(0, row).reduce((sum, height) => sum + height, 0));
    if (model.length > 0) {
      const y = next(heights.total + 20);
      let [at, sum] = [0, 0];
      while (at < model.length - 1 && sum + model[at]! <= y) sum += model[at++]!;
      strictEqual(heights.rowAt(y), at);
    }
  }
});

test("numbers, times and paths are short", () => {
  deepStrictEqual([0, 999, 1000, 1234567].map(count), ["0", "999", "1\u202f000", "1\u202f234\u202f567"]);
  deepStrictEqual([700, 22_400, 180_000, 7_200_000, 200_000_000].map(duration), ["0.7 s", "22 s", "3 min", "2 h", "2 d"]);
  deepStrictEqual(["/home/dev/a", "/Users/x", "/root", "/rooted", "/srv"].map(shortPath), ["~/a", "~", "~", "/rooted", "/srv"]);
});

test("control and bidirectional characters are visible", () => {
  strictEqual(plain("a\u202eb\u001b[31m\u0085"), "a\\u{202e}b\\u{1b}[31m\\u{85}");
  strictEqual(plain("é\t漢\n"), "é\t漢\n");
});

test("only links that a reader may follow are links", () => {
  for (const href of ["https://a.example/x", "http://a", "mailto:a@b.example"]) strictEqual(safeTarget(href) !== null, true, href);
  for (const href of ["javascript:alert(1)", "JaVaScRiPt:1", "data:text/html,x", "file:///etc", "/x", "x", "vbscript:1", "blob:x"]) {
    strictEqual(safeTarget(href), null, href);
  }
});

test("a moment is read as a line, an offset or a time", () => {
  const timeline = { from_ms: 1_000, to_ms: 101_000, end: 5_000, lines: 50 } as Timeline;
  const cases = [
    ["12", "line", { line: 12 }],
    ["0", "line", { at: 0 }],
    ["50", "line", "now"],
    ["1\u202f200", "byte", { at: 1_200 }],
    ["5000", "byte", "now"],
    ["90", "time", { at_ms: 91_000 }],
    ["1:30.5", "time", { at_ms: 91_500 }],
    ["250 ms", "time", { at_ms: 1_250 }],
    ["0:01:00", "time", { at_ms: 61_000 }],
    ["2 min", "time", "now"],
    ["x", "line", null],
    ["-1", "byte", null],
    ["soon", "time", null],
  ] as const;
  for (const [text, unit, moment] of cases) deepStrictEqual(readMoment(text, unit, timeline), moment, `${text} ${unit}`);
  for (const ms of [0, 999, 61_250, 3_599_999, 7_384_000]) strictEqual(readClock(clock(ms)), ms);
});

test("unknown members are marked where their names are written", () => {
  const first = '{"é":"é","type":"a"}';
  const second = '{"a":{"b":[{},[],{"new":1}],"new":2},"new":"new","x/y~":{"k\\"":3}}';
  const offset = 100 + Buffer.byteLength(first) + 1;
  const members = ["/a/b/2/new", "/new", '/x~1y~0/k"'];
  const { text, marks } = pretty(`${first}\n${second}\n`, [{ offset, members }], 100);
  strictEqual(text, `${JSON.stringify(JSON.parse(first), null, 2)}\n\n${JSON.stringify(JSON.parse(second), null, 2)}`);
  deepStrictEqual(marks.map(([begin, end]) => text.slice(begin, end)), ['"new"', '"new"', '"k\\""']);
  deepStrictEqual(marks.map(([, end]) => text.slice(end, end + 3)), [": 1", ': "', ": 3"]);
  deepStrictEqual(pretty("{cut", [{ offset: 0, members: ["/a"] }], 0), { text: "{cut", marks: [] });
});

test("unknown members are marked in the text as it was written", () => {
  const first = '{"é":"é","type":"a"}';
  // A name may be written in several ways, and be there twice; texts may look like names.
  const second = '{ "a" :{"b":[{},[],{"new":1}],"text":"\\",\\"new\\":{[","\\u006eew":2},"new":[ ],"new":{"new":3}}';
  const offset = 100 + Buffer.byteLength(first) + 1;
  const text = `${first}\n${second}\n{"new":1}`;
  const marked = raw(text, [{ offset, members: ["/a/b/2/new", "/a/new", "/new"] }], 100);
  strictEqual(marked.text, text);
  deepStrictEqual(marked.marks.map(([begin, end]) => text.slice(begin, end)), ['"new"', '"\\u006eew"', '"new"', '"new"']);
  deepStrictEqual(marked.marks.map(([, end]) => text.slice(end, end + 2)), [":1", ":2", ":[", ":{"]);
  deepStrictEqual(raw(text, [], 100).marks, []);
});
