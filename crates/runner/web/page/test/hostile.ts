// Texts that try to do more than be read.
import type { Change, EntryValue } from "@bowline/client";

export const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)><script>alert(2)</script></svg>",
  "[click](javascript:alert(1)) [data](data:text/html,<script>alert(1)</script>)",
  "![image](https://tracker.example/pixel.png)",
  '<a href="javascript:alert(1)">x</a><iframe src="https://a.example"></iframe>',
  "[a]: javascript:alert(1)\n\n[a]",
  "<style>*{display:none}</style><link rel=stylesheet href=https://a.example/x.css>",
  "\u202egnp.exe \u0000 \u001b]8;;https://a.example\u0007link\u001b]8;;\u0007",
  "`".repeat(5_000),
  "[".repeat(50_000),
  "> ".repeat(20_000) + "deep",
  "- ".repeat(100_000) + "deep",
  "*".repeat(30_000) + "a" + "_".repeat(30_000),
  `| a |\n|---|\n${"| b |\n".repeat(2_000)}`,
  "x".repeat(10_000_000),
];

function entry(number: number, value: EntryValue): Change {
  return { change: "entry", entry: number, thread: null, value, turn: null, at_ms: null, bytes: [number, number + 1], history: false };
}

/** Returns entries that have each text in every field that an agent controls. */
export function hostileChanges(texts: readonly string[]): Change[] {
  const changes: Change[] = [];
  texts.forEach((hostile, at) => {
    const number = at * 4;
    // A call is one event, and the client refuses one over 64 MiB.
    const short = hostile.slice(0, 1_000_000);
    changes.push(
      entry(number, { kind: "user", uuid: null, text: hostile, replay: false, synthetic: false }),
      entry(number + 1, { kind: "assistant", message_id: null, model: null, state: "streaming", blocks: [] }),
      { change: "block", block: at * 3, entry: number + 1, value: { type: "text", text: hostile }, bytes: [0, 1] },
      { change: "block", block: at * 3 + 1, entry: number + 1, value: { type: "thinking", text: hostile }, bytes: [0, 1] },
      { change: "block", block: at * 3 + 2, entry: number + 1, value: { type: "tool_call", id: `c${at}` }, bytes: [0, 1] },
      {
        change: "tool_call",
        call: at,
        thread: null,
        value: {
          id: `c${at}`,
          name: short,
          input: { [hostile.slice(0, 100)]: short },
          state: "failed",
          result: { is_error: true, text: hostile },
          title: short,
          kind: "execute",
          locations: [{ path: short, line: 1 }],
          content: [
            { type: "diff", path: short, old: short, new: `${short}!`, patch: null },
            { type: "terminal", command: short, cwd: short },
          ],
          output: hostile,
          exit_code: 1,
          started_ms: 0,
          ended_ms: 1,
          bytes: [0, 1],
          usage: null,
          subagent: null,
        },
      },
      entry(number + 2, { kind: "notice", notice: hostile, text: hostile }),
      entry(number + 3, { kind: "error", error: hostile, text: hostile }),
    );
  });
  return changes;
}

/** Longest text of a field of the session, in characters: the runner's own limits are lower. */
const MAX_FIELD = 100_000;

/** Returns changes that have a text in every field of a session, its tasks and its requests that an agent controls. */
export function hostileFields(hostile: string): Change[] {
  const text = hostile.slice(0, MAX_FIELD);
  const choice = { id: "c", name: text, description: text };
  const tokens = { input_tokens: 1, output_tokens: 1, cache_read_tokens: 1, cache_creation_tokens: 1 };
  const option = (id: string, kind: "allow_once" | "allow_always" | "reject_once") => ({ id, name: text, kind });
  const request = { tool_use_id: "c0", tool_name: text, state: "open", thread: null, rule: text, decided_by: null, bytes: null } as const;
  const options = [option("a", "allow_once"), option("b", "allow_always"), option("d", "reject_once")];
  const question = { id: "q", title: text, text, kind: "single", options: [{ value: text, name: text, description: text }], free_text: true } as const;
  return [
    {
      change: "session",
      session: {
        session_id: text,
        conversations: [text],
        model: text,
        cwd: text,
        cli_version: text,
        permission_mode: text,
        dialect: "acp",
        agent: { name: text, version: text },
        title: text,
        plan: (["pending", "in_progress", "completed"] as const).map((state) => ({ text, state, priority: null })),
        queue: (["waiting", "sent"] as const).map((state) => ({ id: state, text, state })),
        context: { used: 1, size: 2 },
        limits: [{ window: text, used_share: 0.5, resets_at_ms: 1 }],
        options: [{ id: "o", name: text, category: text, value: "c", choices: [choice, { ...choice, id: "d" }] }],
        commands: [{ name: text, description: text }],
        threads: { c0: { call: "c0", title: text, state: text, usage: tokens } },
      },
    },
    { change: "status", status: { phase: "awaiting_permission", reason: text } },
    { change: "usage", usage: { cost_usd: 1, models: { [text]: tokens } } },
    { change: "task", task: "t", value: { kind: text, state: "running", description: text, tool_use_id: null } },
    { change: "permission", permission: 0, value: { ...request, request_id: "p", kind: "permission", options, questions: [], url: null } },
    { change: "permission", permission: 1, value: { ...request, request_id: "q", kind: "question", options: [], questions: [question], url: null } },
    { change: "permission", permission: 2, value: { ...request, request_id: "u", kind: "url", options, questions: [], url: text } },
  ];
}
