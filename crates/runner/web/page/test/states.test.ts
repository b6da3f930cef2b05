// States of the views that are rare, and what pops up in them: a picture of each in both themes and on a phone, and the rules of accessibility.
import { deepStrictEqual, ok } from "node:assert";
import { mkdirSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Change, SessionFields } from "@bowline/client";
import { SIZES, animations, launch, smallTargets, violations } from "./browser.js";
import { answersFor, type Answers } from "./recorded.js";
import { watch } from "./runner.js";
import { StandIn, changesOf, question } from "./stand_in.js";

const fixtures = "../../../tests/fixtures/";

/** Where pictures are made. */
const PICTURES = "target/pictures";

const NOW = Date.UTC(2026, 0, 1, 12);
const LONG = "A name that is much longer than any place in which it could be shown, with a/path/in/it/that_has_no_space_to_break_at_and_goes_on_and_on";

let browser: Browser;
let server: StandIn;
let page: Page;
let problems: string[];
let answers: Answers;

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  browser = await launch();
  answers = await answersFor(`${fixtures}sub_nest_fg.jsonl`);
});

after(() => browser.close());

beforeEach(async () => {
  server = await StandIn.start();
  problems = [];
});

afterEach(async () => {
  await page.context().close();
  await server.stop();
  deepStrictEqual(problems, []);
});

const running: Change = { change: "status", status: { phase: "running", reason: "a turn is open" } };

/** A text of the agent, and what is known of the session. */
function session(changed: Partial<SessionFields>, long = "Shown here."): Change[] {
  const none: SessionFields = {
    session_id: null,
    conversations: [],
    model: "claude-opus-5-5",
    cwd: "/home/dev/project",
    cli_version: null,
    permission_mode: null,
    dialect: "claude",
    agent: { name: null, version: null },
    title: null,
    plan: [],
    queue: [],
    context: { used: 24_000, size: 200_000 },
    limits: [],
    options: [],
    commands: [],
    threads: {},
  };
  const value = { kind: "user", uuid: null, text: long, replay: false, synthetic: false } as const;
  return [running, { change: "session", session: { ...none, ...changed } }, { change: "entry", entry: 0, thread: null, value, turn: null, at_ms: null, bytes: [0, 1], history: false }];
}

const options = [
  { id: "model", name: "Model", category: "model", value: "m1", choices: [{ id: "m1", name: "Default (recommended)", description: null }, { id: "m2", name: "Two", description: null }] },
  { id: "mode", name: "Mode", category: "mode", value: "a", choices: [{ id: "a", name: "Always ask", description: null }, { id: "b", name: "Never ask", description: null }] },
];

const past = (id: number, title: string | null) => ({ id: String(id), agent: id % 2 ? "claude" : "codex", title, cwd: "/home/dev/project", model: null, turns: id, cost_usd: id / 10, last_activity_ms: NOW - id * 3_600_000 });
const conversations = [past(1, "Count the sheep"), past(2, LONG), past(3, null), past(4, "Fix the failing test")];

/** The changes of a recording until a request of a tool is open. */
function untilRequest(name: string, isWanted: (tool: string) => boolean): Change[] {
  const all = changesOf(fixtures + name);
  const at = all.findIndex((it) => it.change === "permission" && it.value.state === "open" && isWanted(it.value.tool_name));
  return all.slice(0, at + 3);
}

const nested = () => {
  server.session("a", { title: "Who calls median?", phase: "running", cost_usd: 0.28, context_used: 2, context_size: 200 }, changesOf(`${fixtures}sub_nest_fg.jsonl`));
  server.answer("a", "timeline", () => answers.timeline);
  server.answer("a", "lines", answers.lines);
};

interface State {
  readonly name: string;
  /** Makes the sessions. */
  readonly make: () => void;
  /** The address, after the login. */
  readonly at: string;
  readonly show: () => Promise<void>;
}

const inspector = async () => {
  await page.locator(".lanes").waitFor();
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.locator(".lines .line .kind").first().waitFor();
};

const STATES: readonly State[] = [
  {
    name: "usage",
    make: nested,
    at: "a",
    show: async () => {
      await inspector();
      await page.getByRole("button", { name: "Usage" }).click();
      await page.locator(".usage table").first().waitFor();
    },
  },
  {
    name: "range",
    make: nested,
    at: "a",
    show: async () => {
      await inspector();
      await page.getByRole("button", { name: "Range…" }).click();
      await page.getByRole("button", { name: "Download" }).first().click();
      await page.getByLabel("First byte").fill("900");
      await page.getByLabel("End").fill("100");
      await page.getByRole("form", { name: "Download a range" }).getByRole("button", { name: "Download" }).click();
      await page.getByText("the smaller one first").waitFor();
    },
  },
  {
    name: "search",
    make: () => {
      nested();
      const hit = (at: number, found: string) => ({ in: at % 2 ? "tools" : "text", entry: at, main_entry: at, tool_call: null, bytes: [at, at + 1], before: "the two middle values of ", found, after: ` ${LONG}` });
      server.read = (path, query) => (path === "/api/sessions/a/search" ? { hits: [1, 2, 3, 4, 5].map((at) => hit(at, query.get("q")!)), next: "more" } : undefined);
    },
    at: "a",
    show: async () => {
      await page.getByRole("combobox", { name: "Search text, tools and bytes" }).fill("median");
      await page.getByText("5 or more found").waitFor();
      await page.keyboard.press("ArrowDown");
    },
  },
  {
    name: "plan",
    make: () => {
      const plan = [
        { text: "Read the code that fails", state: "completed", priority: null },
        { text: `Mend it. ${LONG}`, state: "in_progress", priority: null },
        { text: "Test it", state: "pending", priority: null },
      ] as const;
      const queue = [
        { id: "p0", text: "And what about an empty list?", state: "sent" },
        { id: "p1", text: LONG, state: "waiting" },
        { id: "p2", text: "Then commit it.", state: "waiting" },
      ] as const;
      const task: Change = { change: "task", task: "t", value: { kind: "shell", state: "running", description: "npm run watch", tool_use_id: null } };
      server.session("a", { title: "A plan", phase: "running" }, [...session({ plan, queue, options }), task]);
    },
    at: "a",
    show: () => page.getByLabel("Plan and tasks").getByRole("button").first().click(),
  },
  {
    name: "edited",
    make: () => {
      const queue = [{ id: "p1", text: "Then commit it.\nAnd push it.", state: "waiting" }] as const;
      server.session("a", { title: "A prompt that waits", phase: "running" }, session({ queue, options }));
    },
    at: "a",
    show: () => page.locator(".queue").getByRole("button", { name: "Edit" }).click(),
  },
  {
    name: "commands",
    make: () => {
      const commands = ["compact", "clear", "review", "security-review"].map((name) => ({ name, description: name === "clear" ? LONG : "What it does" }));
      server.session("a", { title: "Commands", phase: "running" }, session({ commands, options }));
    },
    at: "a",
    show: async () => {
      await page.getByLabel("Say something to the agent").fill("/");
      await page.locator(".commands li").first().waitFor();
    },
  },
  {
    name: "attached",
    make: () => server.session("a", { title: "Files", phase: "idle" }, session({ options })),
    at: "a",
    show: async () => {
      const file = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from("x") });
      await page.locator('.say input[type="file"]').setInputFiles([file("notes.txt"), file(`${LONG.replaceAll("/", "_")}.txt`)]);
      await page.locator(".files li").nth(1).waitFor();
    },
  },
  {
    name: "question",
    make: () => server.session("a", { title: "A question", phase: "awaiting_permission", reason: "AskUserQuestion waits" }, [...session({ options }), question()]),
    at: "a",
    show: () => page.locator('.card[data-armed="true"]').first().waitFor(),
  },
  {
    name: "rule",
    make: () => {
      const all = untilRequest("permission_allow.jsonl", (tool) => tool === "Write");
      const options = [
        { id: "once", name: "Allow once", kind: "allow_once" },
        { id: "ever", name: "Allow always", kind: "allow_always" },
        { id: "no", name: "Deny", kind: "reject_once" },
      ] as const;
      const changes = all.map((it) => (it.change === "permission" ? { ...it, value: { ...it.value, options, rule: "Write(/home/dev/project/**)" } } : it));
      server.session("a", { title: "A rule", phase: "awaiting_permission", reason: "Write waits" }, changes);
    },
    at: "a",
    show: async () => {
      await page.locator('.card[data-armed="true"]').waitFor();
      await page.locator(".card").focus();
      await page.keyboard.press("a");
      await page.locator(".confirm").waitFor();
    },
  },
  {
    name: "list",
    make: () => {
      const input = { file_path: "/home/dev/project/src/lib.rs", content: "pub fn median(values: &mut [f64]) {\n    values.sort_by(f64::total_cmp);\n}\n" };
      const options = [
        { id: "once", name: "Allow", kind: "allow_once" },
        { id: "no", name: "Deny", kind: "reject_once" },
      ];
      const requests = [{ session: "a", request_id: "r", tool_name: "Write", kind: "permission", input, options }];
      server.read = (path) => (path === "/api/permissions" ? { permissions: requests, cursor: "" } : path === "/api/history" ? { conversations } : undefined);
      const one = { started_ms: NOW - 61_000, context_used: 24, context_size: 200 };
      server.session("a", { title: "Asks for a file", phase: "awaiting_permission", reason: "Write waits", ...one }, []);
      server.session("b", { title: LONG, phase: "running", reason: LONG, cost_usd: 12.34, ...one }, []);
      server.session("c", { title: "bash", kind: "terminal", program: "/bin/bash", started_ms: NOW - 7_200_000 }, []);
      server.session("d", { title: "Find the slowest test", phase: "ended", cost_usd: 0.35, ...one, ended_ms: NOW - 3_600_000 }, []);
      server.session("e", { title: "Lost on the way", phase: "lost", ...one, ended_ms: NOW - 90_000_000 }, []);
      server.session("f", { title: "long_2500.jsonl", phase: "ended", labels: { "bowline.recording": "x" } }, []);
    },
    at: "",
    show: async () => {
      await page.locator('.quick button[aria-disabled="false"]').first().waitFor({ state: "attached" });
      await page.locator("section", { hasText: "Past conversations" }).waitFor({ state: "attached" });
      // The end of the list is what other views do not show.
      await page.locator(".sessions footer").scrollIntoViewIfNeeded();
    },
  },
  {
    name: "past-list",
    make: () => {
      server.session("a", { title: "here" }, []);
      server.read = (path) => (path === "/api/history" ? { conversations } : path === "/api/history/1" ? conversations[0] : undefined);
    },
    at: "past/1",
    show: async () => {
      await page.locator(".past .chosen").waitFor();
      await page.locator(".past li").nth(3).waitFor();
    },
  },
  {
    name: "folders",
    make: () => {
      server.session("a", { title: "here" }, []);
      server.read = (path) => {
        if (path === "/api/agents") return { agents: ["claude", "codex", "gemini"].map((name) => ({ name, path: name === "gemini" ? null : `/usr/bin/${name}`, dialect: name, install: `npm install -g ${name}` })) };
        return path === "/api/folders" ? { folders: ["/home/dev/project", "/home/dev/project-with-a-long-name-that-goes-on/and/on/and/on/until/it/is/too/long", "/home/dev/stats"] } : undefined;
      };
    },
    at: "new",
    show: async () => {
      await page.getByRole("radio", { name: "gemini" }).check();
      await page.getByLabel("Folder", { exact: true }).fill("/home/dev/");
      await page.getByRole("option").nth(2).waitFor();
      await page.keyboard.press("ArrowDown");
    },
  },
  {
    name: "rename",
    make: nested,
    at: "a",
    show: async () => {
      await page.getByRole("button", { name: "Session", exact: true }).click();
      await page.getByRole("menuitem", { name: "Rename…" }).click();
      await page.getByRole("textbox", { name: "Name" }).waitFor();
    },
  },
  {
    name: "undo",
    make: () => {
      server.session("a", { title: LONG, phase: "ended" }, [...session({}), { change: "status", status: { phase: "ended", reason: "" } }]);
      server.respond = () => [200, {}];
    },
    at: "a",
    show: async () => {
      await page.getByPlaceholder("The session has ended.").waitFor();
      await page.getByRole("button", { name: "Session", exact: true }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.getByRole("button", { name: "Undo" }).waitFor();
    },
  },
  {
    name: "ended",
    make: () => server.session("a", { title: "It is over", phase: "ended" }, [...session({}), { change: "status", status: { phase: "ended", reason: "" } }]),
    at: "a",
    show: () => page.getByRole("button", { name: "Resume" }).waitFor(),
  },
  {
    name: "long",
    make: () => server.session("a", { title: LONG, phase: "running", reason: LONG }, [...session({ model: LONG, cwd: `/${LONG}` }, LONG), { change: "status", status: { phase: "running", reason: LONG } }]),
    at: "a",
    show: () => page.locator(".thread .you").waitFor(),
  },
  {
    name: "gone",
    make: () => server.session("a", { title: "here" }, []),
    at: "gone",
    show: () => page.getByText("The session is not there any more").waitFor(),
  },
  {
    name: "lost",
    make: nested,
    at: "a",
    show: async () => {
      await page.locator(".thread .row").first().waitFor();
      while ((await page.locator(".banner").count()) === 0) server.cut();
    },
  },
  {
    name: "nothing",
    make: () => {},
    at: "",
    show: () => page.getByText("No sessions.").waitFor({ state: "attached" }),
  },
  {
    name: "focus",
    make: nested,
    at: "a",
    show: async () => {
      await page.locator(".thread .row").first().waitFor();
      await page.getByRole("button", { name: "All", exact: true }).focus();
      await page.keyboard.press("Tab");
    },
  },
];

const LOOKS = (["light", "dark"] as const).flatMap((colorScheme) => SIZES.map((viewport) => ({ colorScheme, viewport })));

for (const { name, make, at, show } of STATES) {
  for (const { colorScheme, viewport } of LOOKS) {
    test(`${name}, ${colorScheme}, ${viewport.width} wide`, async () => {
      make();
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce", hasTouch: viewport.width < 720 });
      page = await context.newPage();
      await watch(page, problems);
      await page.clock.setFixedTime(NOW);
      await page.goto(`${server.url}/#login=ticket-abc`);
      await page.locator(".dot.connected").waitFor({ state: "attached" });
      await page.evaluate((it) => (location.hash = `#/${it}`), at);
      await show();
      await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}-${viewport.width}.png` });
      ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)), "the page is wider than its window");
      deepStrictEqual(await violations(page), []);
      deepStrictEqual(await smallTargets(page), []);
      deepStrictEqual(await animations(page), []);
    });
  }
}

test("a page without a login says what to do, in both themes", async () => {
  for (const { colorScheme, viewport } of LOOKS) {
    const context = await browser.newContext({ viewport, colorScheme });
    page = await context.newPage();
    await page.goto(server.url);
    await page.getByText("run `bowline ui` for a new login link").waitFor();
    await page.screenshot({ path: `${PICTURES}/refused-${colorScheme}-${viewport.width}.png` });
    deepStrictEqual(await violations(page), []);
    await context.close();
  }
});
