// The transcript that a page makes of changes is the runner's own at any byte: each recording of each agent, cut at many places.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Transcript, type Client, type Moment } from "@bowline/client";
import { Recorded } from "./recorded.js";

const fixtures = "../../../tests/fixtures";

/** Places at which each recording is cut; `BOWLINE_PLACES` sets another number. */
const PLACES = Number(process.env["BOWLINE_PLACES"] ?? 5);

/** Entries that are read at once: all of a recording. */
const MAX_ENTRIES = 1_000;

/** Recordings of the agents' output. `history` has the agents' own files, which are no recordings. */
function recordings(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name !== "history")
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? recordings(path) : [path]))
    .filter((path) => /\.(jsonl|jsonl\.gz)$/.test(path));
}

/** Places from 0 to 1 in no order, the same each time. */
const SHARES = Array.from({ length: PLACES }, (_, at) => (((at + 1) * 618_033) % 1_000_003) / 1_000_003);

/** What a page makes of the changes up to a moment. */
async function folded(client: Client, session: string, moment: Moment): Promise<unknown> {
  const { changes, from, count, entries } = await client.part(session, moment, { from: 0, max: MAX_ENTRIES });
  deepStrictEqual([from, count], [0, entries], "all entries are read at once");
  const transcript = new Transcript();
  for (const change of changes) transcript.apply(change);
  return JSON.parse(JSON.stringify(transcript));
}

test("changes up to any byte lead to the transcript of that byte", { timeout: PLACES * 60_000 }, async () => {
  const all = recordings(fixtures);
  ok(all.length > 100, `${all.length} recordings`);
  const dialects = new Set<unknown>();
  let compared = 0;
  for (const path of all) {
    const recorded = await Recorded.serve(path);
    try {
      const client = await recorded.client();
      const { end } = await client.log(recorded.session, 0, 0);
      for (const share of SHARES) {
        const at = Math.floor(share * end);
        const wanted = (await client.transcript(recorded.session, { at })) as { dialect: unknown };
        deepStrictEqual(await folded(client, recorded.session, { at }), wanted, `${path} at ${at}`);
        dialects.add(wanted.dialect);
        compared += 1;
      }
    } finally {
      await recorded.stop();
    }
  }
  console.log(`${compared} places of ${all.length} recordings, ${dialects.size} dialects: ${[...dialects].join(", ")}`);
  strictEqual(compared, all.length * PLACES);
  ok(dialects.size >= 5);
});
