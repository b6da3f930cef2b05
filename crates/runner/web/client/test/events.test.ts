// Events over a real connection to a server that cuts, refuses and falls silent.
import { deepStrictEqual, match, rejects, strictEqual } from "node:assert";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, test } from "node:test";
import { Backoff, Client, EventParser, RunnerError, type ConnectionState, type Timer } from "@bowline/client";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let handlers: Handler[];
let client: Client;
let seen: IncomingMessage[];

beforeEach(async () => {
  handlers = [];
  seen = [];
  server = createServer((request, response) => {
    seen.push(request);
    const handler = handlers.shift();
    if (handler) handler(request, response);
    else response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  client = new Client({ url: `http://127.0.0.1:${port}/`, token: () => "secret", name: "test" });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** A timer whose callbacks run as soon as they are due next, without real time. */
class ManualTimer implements Timer {
  readonly pending = new Map<number, { callback: () => void; ms: number }>();
  readonly pauses: number[] = [];
  time = 0;
  #next = 0;

  now(): number {
    return this.time;
  }

  set(callback: () => void, ms: number): number {
    this.#next += 1;
    // Pauses between attempts end at once; the watch for silence is fired by the test.
    if (ms <= Backoff.MAX_MS) {
      this.pauses.push(ms);
      queueMicrotask(callback);
    } else this.pending.set(this.#next, { callback, ms });
    return this.#next;
  }

  clear(id: unknown): void {
    this.pending.delete(id as number);
  }

  /** Lets each timer end once, after its time. */
  fire(): void {
    for (const [id, { callback, ms }] of [...this.pending]) {
      this.pending.delete(id);
      this.time += ms;
      callback();
    }
  }
}

function stream(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(text);
}

async function all(timer: Timer, onState?: (state: ConnectionState) => void): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const batch of client.changes("s 1", { timer, ...(onState ? { onState } : {}) })) {
    events.push(...batch.map(({ data }) => data));
  }
  return events;
}

test("a cut stream continues after its last event, with the token", async () => {
  handlers.push(
    (_, response) => {
      stream(response, 'id: c1\ndata: {"n":1}\n\nid: c2\ndata: {"n":2}\n\nid: c3\ndata: {"n"');
      response.end();
    },
    (request, response) => {
      strictEqual(request.headers["last-event-id"], "c2");
      stream(response, 'id: c3\ndata: {"n":3}\n\n');
      response.end();
    },
  );
  const states: string[] = [];
  const timer = new ManualTimer();
  deepStrictEqual(await all(timer, ({ state }) => states.push(state)), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  const attempt = ["connecting", "connected", "reconnecting"];
  deepStrictEqual(states, [...attempt, ...attempt, "connecting"]);
  for (const request of seen) {
    strictEqual(request.url, "/api/sessions/s%201/events");
    strictEqual(request.headers.authorization, "Bearer secret");
  }
  strictEqual(timer.pending.size, 0, "no timer is left");
});

test("an id without data is where the stream continues", async () => {
  handlers.push(
    (_, response) => {
      stream(response, 'id: c1\ndata: {"n":1}\n\nid: end\n\n');
      response.end();
    },
    (request, response) => {
      strictEqual(request.headers["last-event-id"], "end");
      response.writeHead(204).end();
    },
  );
  deepStrictEqual(await all(new ManualTimer()), [{ n: 1 }]);
  strictEqual(seen.length, 2);
});

/** Opens a stream of changes that sends one batch and then nothing. */
async function openStream(timer: ManualTimer) {
  const connected = new Promise<ServerResponse>((resolve) =>
    handlers.push((_, response) => {
      stream(response, 'id: c1\ndata: {"n":1}\n\n');
      resolve(response);
    }),
  );
  const events = client.changes("s", { timer });
  const batch = await events.next();
  const response = await connected;
  const closed = new Promise((resolve) => response.on("close", resolve));
  return { response, batch, ended: events.next(), closed };
}

test("a silent connection is given up and restored", async () => {
  const timer = new ManualTimer();
  const { batch, ended, closed } = await openStream(timer);
  deepStrictEqual(batch.value, [{ id: "c1", data: { n: 1 } }]);
  // The runner sends a comment every 10 s.
  for (let silent = 0; silent < 45_000; silent += 15_000) timer.fire();
  await closed;
  deepStrictEqual(await ended, { done: true, value: undefined });
  strictEqual(seen[1]!.headers["last-event-id"], "c1");
  strictEqual(timer.pending.size, 0);
});

test("a machine that has slept connects anew with its first timer", async () => {
  const timer = new ManualTimer();
  const { ended, closed } = await openStream(timer);
  timer.time += 8 * 3_600_000;
  timer.fire();
  await closed;
  deepStrictEqual(await ended, { done: true, value: undefined });
  strictEqual(seen[1]!.headers["last-event-id"], "c1");
});

test("a tab that is back asks for a live connection at once", async () => {
  const timer = new ManualTimer();
  const window = new EventTarget();
  const methods = { addEventListener: window.addEventListener.bind(window), removeEventListener: window.removeEventListener.bind(window) };
  Object.assign(globalThis, methods);
  try {
    const { response, ended, closed } = await openStream(timer);
    timer.time += 10_000;
    window.dispatchEvent(new Event("visibilitychange"));
    strictEqual(response.destroyed, false, "ten seconds are no silence");
    timer.time += 10_000;
    window.dispatchEvent(new Event("visibilitychange"));
    await closed;
    strictEqual((await ended).done, true);
    strictEqual(seen[1]!.headers["last-event-id"], "c1");
  } finally {
    for (const name of Object.keys(methods)) delete (globalThis as Record<string, unknown>)[name];
  }
});

test("a refusal ends the stream with the runner's reason", async () => {
  handlers.push((_, response) => {
    response.writeHead(401, { "content-type": "application/json" });
    response.end('{"code":"TOKEN_REFUSED","detail":"the token was refused","next":"log in again"}');
  });
  const states: ConnectionState[] = [];
  await rejects(all(new ManualTimer(), (state) => states.push(state)), (error) => {
    strictEqual(error instanceof RunnerError, true);
    const { status, code, message, next } = error as RunnerError;
    deepStrictEqual({ status, code, message, next }, {
      status: 401,
      code: "TOKEN_REFUSED",
      message: "the token was refused",
      next: "log in again",
    });
    return true;
  });
  strictEqual(states.at(-1)!.state, "failed");
});

test("a busy runner is tried again with growing pauses", async () => {
  for (let at = 0; at < 4; at += 1) handlers.push((_, response) => response.writeHead(503).end("busy"));
  const timer = new ManualTimer();
  deepStrictEqual(await all(timer), []);
  strictEqual(timer.pauses.length, 4);
  const limits = [250, 500, 1_000, 2_000];
  for (const [at, limit] of limits.entries()) {
    const pause = timer.pauses[at]!;
    strictEqual(pause >= limit / 2 && pause <= limit, true, `pause ${at} is ${pause} ms`);
  }
});

test("a reader that stops closes its connection", async () => {
  let closed: Promise<void> | null = null;
  handlers.push((_, response) => {
    closed = new Promise((resolve) => response.on("close", resolve));
    stream(response, 'data: {"n":1}\n\n');
  });
  for await (const batch of client.changes("s", { timer: new ManualTimer() })) {
    strictEqual(batch.length, 1);
    break;
  }
  await closed;
});

test("an aborted reader ends while it waits", async () => {
  const abort = new AbortController();
  handlers.push((_, response) => stream(response, 'data: {"n":1}\n\n'));
  const events = client.changes("s", { signal: abort.signal, timer: new ManualTimer() });
  await events.next();
  const ended = events.next();
  abort.abort();
  strictEqual((await ended).done, true);
});

test("a prompt and an answer carry their ids and the client's name", async () => {
  const bodies: unknown[] = [];
  const accept: Handler = (request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => {
      bodies.push(JSON.parse(text));
      response.writeHead(202, { "content-type": "application/json" }).end('{"id":"p"}');
    });
  };
  handlers.push(accept, accept);
  await client.prompt("s", "hello", "p");
  await client.answer("s", "r", { option: "allow" });
  deepStrictEqual(bodies, [
    { text: "hello", id: "p" },
    { request_id: "r", by: "test", option: "allow" },
  ]);
});

test("the queue is listed, changed and cancelled", async () => {
  const requests: string[] = [];
  const accept: Handler = (request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => {
      requests.push(`${request.method} ${request.url} ${text}`);
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"id":"p","queue":[{"id":"p","text":"next","state":"waiting"}]}');
    });
  };
  handlers.push(accept, accept, accept, accept);
  await client.prompt("s", "next", "p", { queue: true });
  deepStrictEqual(await client.queue("s"), [{ id: "p", text: "next", state: "waiting" }]);
  await client.changeQueued("s", "p", { before: "q" });
  await client.cancelQueued("s", "p/2");
  deepStrictEqual(requests, [
    'POST /api/sessions/s/prompt {"text":"next","id":"p","queue":true}',
    "GET /api/sessions/s/queue ",
    'PATCH /api/sessions/s/queue/p {"before":"q"}',
    "DELETE /api/sessions/s/queue/p%2F2 ",
  ]);
});

test("events are the same wherever the text is split", () => {
  const text =
    ": a comment\nid: 1\nevent: change\ndata: a\ndata:b\n\nretry: 5\ndata: é😀\r\n\r\nid\ndata\n\ndata: last\r\rdata: cut";
  const whole = new EventParser().push(text);
  deepStrictEqual(whole, [
    { id: "1", type: "change", data: "a\nb" },
    { id: "1", type: "message", data: "é😀" },
    { id: "", type: "message", data: "" },
    { id: "", type: "message", data: "last" },
  ]);
  for (let at = 0; at <= text.length; at += 1) {
    const parser = new EventParser();
    deepStrictEqual([...parser.push(text.slice(0, at)), ...parser.push(text.slice(at))], whole, `split at ${at}`);
  }
  const parser = new EventParser();
  deepStrictEqual([...text].flatMap((c) => parser.push(c)), whole);
});

test("an endless line is an error", () => {
  const parser = new EventParser();
  const piece = "x".repeat(1 << 24);
  match(
    (() => {
      try {
        for (let at = 0; at < 8; at += 1) parser.push(piece);
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    })(),
    /line of over/,
  );
});

test("a request that is not answered in time fails, and says so", async () => {
  const timer = new ManualTimer();
  const { port } = server.address() as AddressInfo;
  const waiting = new Client({ url: `http://127.0.0.1:${port}`, timer });
  for (const [send, seconds] of [
    [() => waiting.sessions(), 30],
    [() => waiting.log("s", 0, 1), 30],
    [() => waiting.end("s"), 60],
  ] as const) {
    const asked = new Promise<void>((resolve) => handlers.push(() => resolve()));
    const answer = rejects(send(), new RegExp(`^Error: the runner did not answer within ${seconds} s; .* try again$`));
    await asked;
    timer.fire();
    await answer;
  }
});

test("a request that is answered, or not wanted any more, leaves no timer", async () => {
  const timer = new ManualTimer();
  const { port } = server.address() as AddressInfo;
  const waiting = new Client({ url: `http://127.0.0.1:${port}`, timer });
  handlers.push((_, response) => response.end('{"sessions":[]}'));
  deepStrictEqual(await waiting.sessions(), []);
  handlers.push((_, response) => response.writeHead(404).end("{}"));
  await rejects(waiting.sessions(), RunnerError);
  const abort = new AbortController();
  handlers.push(() => abort.abort(new Error("not wanted")));
  await rejects(waiting.history("", 1, abort.signal), /not wanted/);
  await rejects(waiting.history("", 1, abort.signal), /not wanted/);
  strictEqual(timer.pending.size, 0);
});
