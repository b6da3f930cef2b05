import type { Client, NewSession } from "@bowline/client";
import type { ListedSession, SessionsStore } from "./sessions.js";
import { Store } from "./store.js";

/** How long a message is shown, in milliseconds. */
const NOTE_MS = 8_000;

/** A message at the edge of the page. */
export interface Note {
  readonly text: string;
  readonly isError: boolean;
  readonly undo?: () => void;
}

/** What a reader does with sessions, and what came of it. */
export class Actions extends Store {
  note: Note | null = null;
  /** The session to give another name. */
  renaming: ListedSession | null = null;
  #clear: ReturnType<typeof setTimeout> | null = null;

  constructor(
    readonly client: Client,
    readonly sessions: SessionsStore,
  ) {
    super();
  }

  /** Runs an action, and shows its error. */
  async run(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (cause) {
      this.say(cause instanceof Error ? cause.message : String(cause), true);
    }
  }

  say(text: string, isError = false, undo?: () => void): void {
    if (this.#clear !== null) clearTimeout(this.#clear);
    this.note = { text, isError, ...(undo ? { undo } : {}) };
    this.#clear = setTimeout(() => this.dismiss(), NOTE_MS);
    this.changed();
  }

  dismiss(): void {
    this.note = null;
    this.changed();
  }

  rename(session: ListedSession | null): void {
    this.renaming = session;
    this.changed();
  }

  /** Deletes a session. The runner keeps it in its trash for an hour, from which it can be restored. */
  async delete({ id, title }: ListedSession): Promise<void> {
    this.sessions.hide(id, true);
    if (location.hash === `#/${id}`) location.hash = "#/";
    await this.run(async () => {
      try {
        await this.client.delete(id);
      } catch (error) {
        this.sessions.hide(id, false);
        throw error;
      }
      this.say(`“${title}” was deleted`, false, () => void this.run(() => this.#restore(id)));
    });
  }

  /** Starts a session, and shows it. */
  start(session: NewSession): Promise<void> {
    return this.run(async () => {
      const id = await this.client.start(session);
      await this.sessions.read();
      location.hash = `#/${id}`;
    });
  }

  /** Starts a session that goes on with the conversation of another one, or with a copy of it. */
  resume(session: ListedSession, isFork: boolean): Promise<void> {
    return this.run(async () => {
      const conversation = await this.client.conversation(session.id);
      if (conversation === null) throw new Error("the session has no conversation to resume; start another one");
      await this.start({
        ...(session.agent === null ? {} : { agent: session.agent }),
        ...(session.cwd === null ? {} : { cwd: session.cwd }),
        name: isFork ? `${session.title} (copy)` : session.title,
        resume: conversation,
        ...(isFork ? { fork: true } : {}),
      });
    });
  }

  async #restore(id: string): Promise<void> {
    this.dismiss();
    await this.client.restore(id);
    this.sessions.hide(id, false);
    await this.sessions.read();
  }
}
