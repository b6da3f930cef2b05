import { RunnerError } from "./error.js";
import { follow } from "./events.js";
/** The API of one runner. */
export class Client {
    #base;
    #token;
    #name;
    #fetch;
    constructor(options = {}) {
        const { url = "", token = null } = options;
        this.#base = url.replace(/\/+$/, "");
        this.#token = typeof token === "function" ? token : () => token;
        this.#name = options.name;
        this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    }
    async sessions() {
        const { sessions } = await this.#json("/api/sessions");
        return sessions;
    }
    /** Starts a session. A repeated call with the same `id`, a UUID, starts one. */
    async start(session, id = crypto.randomUUID()) {
        return (await this.#json("/api/sessions", "POST", { ...session, id })).id;
    }
    /** Sends a prompt. A repeated call with the same `id`, a UUID, sends it once. */
    async prompt(session, text, id = crypto.randomUUID()) {
        return (await this.#json(path(session, "prompt"), "POST", { text, id })).id;
    }
    /** Returns the permission requests of a session with the input of their tools, oldest first. */
    async permissions(session) {
        const body = await this.#json(path(session, "permissions"));
        return body.permissions;
    }
    /** Answers a permission request. The first answer counts; a later one gets an error that names the first. */
    async answer(session, requestId, answer) {
        const by = this.#name === undefined ? {} : { by: this.#name };
        await this.#json(path(session, "permissions"), "POST", { request_id: requestId, ...by, ...answer });
    }
    /** Stops the running turn, and with `cancelQueued` the prompts that wait. */
    async interrupt(session, cancelQueued = false) {
        await this.#json(path(session, "interrupt"), "POST", { cancel_queued: cancelQueued });
    }
    /** Changes an option, such as `model` or `mode`. */
    async setOption(session, option, value) {
        await this.#json(path(session, "options"), "POST", { option, value });
    }
    /** Ends a session and keeps its log. */
    async end(session) {
        await this.#json(path(session), "DELETE");
    }
    /** Returns bytes of the agent's output from an offset on, up to the next gap, at most 1 MiB. */
    async log(session, from, max, signal) {
        const query = new URLSearchParams({ from: String(from), max: String(max) });
        const response = await this.#send(`${path(session, "log")}?${query}`, signal ? { signal } : {});
        if (!response.ok)
            throw await RunnerError.of(response);
        const number = (name) => Number(response.headers.get(`bowline-${name}`));
        const gap = /^(\d+)-(\d+)$/.exec(response.headers.get("bowline-gap") ?? "");
        return {
            from: number("from"),
            end: number("end"),
            gap: gap ? [Number(gap[1]), Number(gap[2])] : null,
            bytes: new Uint8Array(await response.arrayBuffer()),
        };
    }
    /** Follows the changes of a session's transcript, from its beginning or after `lastEventId`. */
    changes(session, options) {
        return follow(this.#send, path(session, "events"), options);
    }
    /** Follows the events of all sessions, all or only of some types. Without `change`, transcripts are not sent. */
    events(options = {}) {
        const query = options.types ? `?types=${options.types.join(",")}` : "";
        return follow(this.#send, `/api/events${query}`, options);
    }
    #send = (target, init) => {
        const headers = new Headers(init.headers);
        const token = this.#token();
        if (token !== null)
            headers.set("authorization", `Bearer ${token}`);
        return this.#fetch(this.#base + target, { ...init, headers, credentials: "omit", redirect: "error" });
    };
    async #json(target, method = "GET", body) {
        const init = { method, headers: { accept: "application/json" } };
        if (body !== undefined) {
            init.body = JSON.stringify(body);
            init.headers = { accept: "application/json", "content-type": "application/json" };
        }
        const response = await this.#send(target, init);
        if (!response.ok)
            throw await RunnerError.of(response);
        return (await response.json());
    }
}
function path(session, part) {
    const base = `/api/sessions/${encodeURIComponent(session)}`;
    return part === undefined ? base : `${base}/${part}`;
}
