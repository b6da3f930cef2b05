import { SortedNumbers } from "./sorted.js";
import { utf8Length, utf8Prefix } from "./text.js";
const NO_BLOCKS = [];
const EMPTY = [];
/**
 * A transcript that is kept up to date by changes. It is the counterpart of `bowline_reducer::Mirror`.
 *
 * Each change takes time in proportion to its own size. Values are immutable: an object that has not changed is the
 * same object.
 */
export class Transcript {
    session = null;
    status = null;
    usage = null;
    stats = null;
    #entries = new Map();
    #threads = new Map();
    /** The entry of each block. */
    #owners = new Map();
    /** Length of the text of blocks that are appended to, in bytes of UTF-8. */
    #lengths = new Map();
    #calls = new Map();
    #callIds = new Map();
    #tasks = new Map();
    #permissions = new Map();
    #permissionOrder = new SortedNumbers();
    #touched = untouched();
    /** Applies the next change. Unknown changes are ignored. */
    apply(change) {
        switch (change.change) {
            case "reset":
                this.#reset();
                break;
            case "session":
                this.session = change.session;
                this.#touched.session = true;
                break;
            case "status":
                this.status = change.status;
                this.#touched.session = true;
                break;
            case "usage":
                this.usage = change.usage;
                this.#touched.session = true;
                break;
            case "stats":
                this.stats = change.stats;
                this.#touched.session = true;
                break;
            case "entry":
                this.#putEntry(change);
                break;
            case "entry_removed":
                this.#removeEntry(change.entry);
                break;
            case "block":
                this.#putBlock(change.entry, {
                    number: change.block,
                    value: { ...change.value, bytes: change.bytes },
                });
                break;
            case "append":
                this.#append(change.block, change.from, change.text, change.end);
                break;
            case "block_removed":
                this.#removeBlock(change.block);
                break;
            case "tool_call":
                this.#callIds.set(change.call, change.value.id);
                this.#calls.set(change.value.id, {
                    number: change.call,
                    thread: change.thread,
                    value: change.value,
                });
                this.#touched.calls.add(change.value.id);
                break;
            case "tool_call_removed":
                this.#removeCall(change.call);
                break;
            case "task":
                this.#tasks.set(change.task, change.value);
                this.#touched.tasks = true;
                break;
            case "permission":
                this.#permissions.set(change.permission, change.value);
                this.#permissionOrder.add(change.permission);
                this.#touched.permissions = true;
                break;
        }
    }
    /** Returns the numbers of the entries of a thread, in order. */
    entryNumbers(thread = null) {
        return this.#threads.get(thread)?.values ?? EMPTY;
    }
    entry(number) {
        return this.#entries.get(number);
    }
    /** Returns the entries of a thread, in order. */
    entries(thread = null) {
        return this.entryNumbers(thread).map((number) => this.#entries.get(number));
    }
    call(id) {
        return this.#calls.get(id);
    }
    /** Returns all calls of all threads, in order of their numbers. */
    calls() {
        return [...this.#calls.values()].sort((a, b) => a.number - b.number);
    }
    /** Returns the permission requests, in order. */
    permissions() {
        return this.#permissionOrder.values.map((number) => this.#permissions.get(number));
    }
    /** Returns the background tasks by id. */
    get tasks() {
        return this.#tasks;
    }
    /** Returns what was touched since the last call. */
    takeTouched() {
        const touched = this.#touched;
        this.#touched = untouched();
        return touched;
    }
    /** Returns the document of schema 2, as `bowline replay --output transcript` prints it. */
    toJSON() {
        return {
            schema: 2,
            ...this.session,
            status: this.status,
            ...this.#threadJson(null),
            tasks: Object.fromEntries(this.#tasks),
            permissions: this.permissions(),
            usage: this.usage,
            stats: this.stats,
            threads: this.#threadsJson(),
        };
    }
    #reset() {
        this.session = this.status = this.usage = this.stats = null;
        for (const map of [
            this.#entries,
            this.#threads,
            this.#owners,
            this.#lengths,
            this.#calls,
            this.#callIds,
            this.#tasks,
            this.#permissions,
        ]) {
            map.clear();
        }
        for (const number of [...this.#permissionOrder.values])
            this.#permissionOrder.remove(number);
        this.#touched = { ...untouched(), reset: true, session: true, permissions: true, tasks: true };
    }
    #putEntry(change) {
        const number = change.entry;
        const known = this.#entries.get(number);
        if (known && known.thread !== change.thread)
            this.#leaveThread(known);
        if (!known || known.thread !== change.thread) {
            let list = this.#threads.get(change.thread);
            if (!list)
                this.#threads.set(change.thread, (list = new SortedNumbers()));
            list.add(number);
            this.#touched.threads.add(change.thread);
        }
        const { turn, at_ms, bytes, history } = change;
        this.#setEntry({
            number,
            thread: change.thread,
            value: { ...change.value, turn, at_ms, bytes, history },
            blocks: known?.blocks ?? NO_BLOCKS,
        });
    }
    #removeEntry(number) {
        const entry = this.#entries.get(number);
        if (!entry)
            return;
        this.#entries.delete(number);
        this.#leaveThread(entry);
    }
    #leaveThread(entry) {
        this.#threads.get(entry.thread)?.remove(entry.number);
        this.#touched.threads.add(entry.thread);
    }
    #setEntry(entry) {
        this.#entries.set(entry.number, entry);
        this.#touched.entries.add(entry.number);
    }
    #putBlock(number, block) {
        this.#owners.set(block.number, number);
        this.#lengths.delete(block.number);
        const entry = this.#entries.get(number);
        if (!entry)
            return;
        const blocks = entry.blocks.filter((it) => it.number !== block.number);
        const at = blocks.findIndex((it) => it.number > block.number);
        blocks.splice(at < 0 ? blocks.length : at, 0, block);
        this.#setEntry({ ...entry, blocks });
    }
    #append(number, from, text, end) {
        const entry = this.#entries.get(this.#owners.get(number) ?? -1);
        const at = entry?.blocks.findIndex((it) => it.number === number) ?? -1;
        const block = entry?.blocks[at];
        if (!entry || !block || !("text" in block.value))
            return;
        const length = this.#lengths.get(number) ?? utf8Length(block.value.text);
        const kept = from === length ? block.value.text : utf8Prefix(block.value.text, from);
        this.#lengths.set(number, from + utf8Length(text));
        const blocks = entry.blocks.slice();
        const start = block.value.bytes?.[0];
        blocks[at] = {
            number,
            value: {
                ...block.value,
                text: kept + text,
                bytes: start === undefined ? null : [start, end],
            },
        };
        this.#setEntry({ ...entry, blocks });
    }
    #removeBlock(number) {
        const entry = this.#entries.get(this.#owners.get(number) ?? -1);
        this.#owners.delete(number);
        this.#lengths.delete(number);
        if (entry)
            this.#setEntry({ ...entry, blocks: entry.blocks.filter((it) => it.number !== number) });
    }
    #removeCall(number) {
        const id = this.#callIds.get(number);
        if (id === undefined)
            return;
        this.#callIds.delete(number);
        // A call with the same id may have taken its place.
        if (this.#calls.get(id)?.number === number)
            this.#calls.delete(id);
        this.#touched.calls.add(id);
    }
    #threadJson(thread) {
        const calls = this.calls().filter((call) => call.thread === thread);
        return {
            entries: this.entries(thread).map(entryJson),
            tool_calls: Object.fromEntries(calls.map((call) => [call.value.id, this.#callJson(call)])),
        };
    }
    #callJson(call) {
        const { subagent } = call.value;
        if (!subagent)
            return call.value;
        return { ...call.value, subagent: { ...subagent, ...this.#threadJson(call.value.id) } };
    }
    /** The threads of sub-agents. Those that a call holds are known by the call. */
    #threadsJson() {
        const threads = {};
        for (const [name, head] of Object.entries(this.session?.threads ?? {})) {
            threads[name] = { ...head, ...this.#threadJson(name) };
        }
        for (const { value } of this.calls()) {
            if (!value.subagent)
                continue;
            const { agent_id, title, state, usage } = value.subagent;
            const name = agent_id !== null && !(agent_id in threads) ? agent_id : value.id;
            threads[name] = { call: value.id, title, state, usage, entries: null, tool_calls: null };
        }
        return threads;
    }
}
/** Returns the end of an entry in the agent's output: that of its last block, for one that has blocks. */
export function entryBytes(entry) {
    const { bytes } = entry.value;
    if (!bytes || entry.value.kind !== "assistant")
        return bytes;
    let end = bytes[0];
    for (const { value } of entry.blocks)
        if (value.bytes && value.bytes[1] > end)
            end = value.bytes[1];
    return [bytes[0], end];
}
function entryJson(entry) {
    if (entry.value.kind !== "assistant")
        return entry.value;
    const blocks = entry.blocks.map(({ value }) => value);
    return { ...entry.value, blocks, bytes: entryBytes(entry) };
}
function untouched() {
    return {
        reset: false,
        session: false,
        threads: new Set(),
        entries: new Set(),
        calls: new Set(),
        permissions: false,
        tasks: false,
    };
}
