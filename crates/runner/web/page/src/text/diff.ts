/** A part of two texts: in both, only in the old one, or only in the new one. */
export interface Part {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** A line of a comparison, with its numbers from 1. Of a line that was changed, `words` are its parts. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly old: number | null;
  readonly new: number | null;
  readonly text: string;
  readonly words: readonly Part[] | null;
}

/** Steps after which two texts are taken as wholly different. Time and memory grow with the square of the steps. */
const MAX_STEPS = 1_000;

/** Longest line whose words are compared, in characters. */
const MAX_WORDS_LINE = 1_000;

/** Compares two texts by lines, and the lines that were changed by words. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [lines(before), lines(after)];
  const result: DiffLine[] = [];
  let [oldNumber, newNumber] = [1, 1];
  const runs = compare(old, now);
  for (let at = 0; at < runs.length; at += 1) {
    const { kind, items } = runs[at]!;
    const next = runs[at + 1];
    const isChange = kind === "removed" && next?.kind === "added" && next.items.length === items.length;
    if (kind === "same") {
      for (const text of items) result.push({ kind, old: oldNumber++, new: newNumber++, text, words: null });
    } else if (kind === "removed") {
      const pairs = isChange ? items.map((text, index) => wordPair(text, next.items[index]!)) : [];
      items.forEach((text, index) =>
        result.push({ kind, old: oldNumber++, new: null, text, words: pairs[index]?.[0] ?? null }),
      );
      if (isChange) {
        next.items.forEach((text, index) =>
          result.push({ kind: "added", old: null, new: newNumber++, text, words: pairs[index]?.[1] ?? null }),
        );
        at += 1;
      }
    } else for (const text of items) result.push({ kind, old: null, new: newNumber++, text, words: null });
  }
  return result;
}

/** Reads a unified diff. Lines before the first hunk and between hunks are left out. */
export function readPatch(patch: string): DiffLine[] {
  const result: DiffLine[] = [];
  let [old, now, isInHunk] = [0, 0, false];
  for (const line of patch.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      [old, now, isInHunk] = [Number(hunk[1]), Number(hunk[2]), true];
    } else if (isInHunk) {
      const text = line.slice(1);
      if (line.startsWith("-")) result.push({ kind: "removed", old: old++, new: null, text, words: null });
      else if (line.startsWith("+")) result.push({ kind: "added", old: null, new: now++, text, words: null });
      else if (line.startsWith(" ")) result.push({ kind: "same", old: old++, new: now++, text, words: null });
    }
  }
  return result;
}

/** Returns only the lines near a change; `null` stands for lines that are left out. */
export function nearChanges(all: readonly DiffLine[], context: number): (DiffLine | null)[] {
  const isNear = new Array<boolean>(all.length).fill(false);
  all.forEach(({ kind }, at) => {
    if (kind === "same") return;
    isNear.fill(true, Math.max(0, at - context), Math.min(all.length, at + context + 1));
  });
  const result: (DiffLine | null)[] = [];
  all.forEach((line, at) => {
    if (isNear[at]) result.push(line);
    else if (at === 0 || isNear[at - 1]) result.push(null);
  });
  return result;
}

function lines(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

function wordPair(before: string, after: string): [readonly Part[] | null, readonly Part[] | null] {
  if (before.length + after.length > 2 * MAX_WORDS_LINE) return [null, null];
  const words = (line: string) => line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
  const parts = compare(words(before), words(after)).map(({ kind, items }) => ({ kind, text: items.join("") }));
  const same = parts.reduce((sum, { kind, text }) => sum + (kind === "same" ? text.trim().length : 0), 0);
  // Words of lines that have little in common are noise.
  if (same * 3 < Math.max(before.trim().length, after.trim().length)) return [null, null];
  return [parts.filter(({ kind }) => kind !== "added"), parts.filter(({ kind }) => kind !== "removed")];
}

interface Run {
  readonly kind: Part["kind"];
  readonly items: string[];
}

/** Compares two lists: Myers, "An O(ND) Difference Algorithm and Its Variations", 1986, the greedy form. */
function compare(old: readonly string[], now: readonly string[]): Run[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) {
    tail += 1;
  }
  const runs: Run[] = [];
  const push = (kind: Part["kind"], items: readonly string[]) => {
    const last = runs.at(-1);
    if (items.length === 0) return;
    if (last?.kind === kind) last.items.push(...items);
    else runs.push({ kind, items: [...items] });
  };
  push("same", old.slice(0, head));
  middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail), push);
  push("same", old.slice(old.length - tail));
  return runs;
}

function middle(
  old: readonly string[],
  now: readonly string[],
  push: (kind: Part["kind"], items: readonly string[]) => void,
): void {
  const trace = old.length === 0 || now.length === 0 ? null : shortestEdit(old, now);
  if (!trace) {
    push("removed", old);
    push("added", now);
    return;
  }
  const steps: [Part["kind"], string][] = [];
  let [x, y] = [old.length, now.length];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const ends = trace[d]!;
    const k = x - y;
    const isDown = k === -d || (k !== d && end(ends, k - 1) < end(ends, k + 1));
    const before = isDown ? k + 1 : k - 1;
    const fromX = end(ends, before);
    const fromY = fromX - before;
    while (x > Math.max(fromX, 0) && y > Math.max(fromY, 0)) {
      x -= 1;
      y -= 1;
      steps.push(["same", old[x]!]);
    }
    if (d > 0) steps.push(isDown ? ["added", now[fromY]!] : ["removed", old[fromX]!]);
    [x, y] = [fromX, fromY];
  }
  // Removed lines come before the added ones of the same place.
  let added: string[] = [];
  for (const [kind, text] of steps.reverse()) {
    if (kind === "added") added.push(text);
    else {
      if (kind === "same") {
        push("added", added);
        added = [];
      }
      push(kind, [text]);
    }
  }
  push("added", added);
}

function end(ends: ReadonlyMap<number, number>, k: number): number {
  return ends.get(k) ?? -1;
}

/** Returns, for each number of edits, how far each diagonal came before it; `null` after too many. */
function shortestEdit(old: readonly string[], now: readonly string[]): Map<number, number>[] | null {
  const ends = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let d = 0; d <= Math.min(old.length + now.length, MAX_STEPS); d += 1) {
    trace.push(new Map(ends));
    for (let k = -d; k <= d; k += 2) {
      const isDown = k === -d || (k !== d && end(ends, k - 1) < end(ends, k + 1));
      let x = isDown ? end(ends, k + 1) : end(ends, k - 1) + 1;
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x += 1;
      ends.set(k, x);
      if (x >= old.length && x - k >= now.length) return trace;
    }
  }
  return null;
}
