import { RunnerError, type Client, type PastConversation } from "@bowline/client";
import { useEffect, useState } from "preact/hooks";

/** The most past conversations that are read. */
export const MOST = 200;

/** The code of the error when there are no conversations at all. */
const NONE = "CONVERSATION_NOT_FOUND";

/** Pause in writing after which it is searched, in milliseconds. */
const PAUSE_MS = 200;

/** What was found of the conversations that agents keep themselves. */
export interface FoundHistory {
  /** Those with the newest activity first; `null` before the first answer. */
  readonly found: readonly PastConversation[] | null;
  /** Why they could not be read. */
  readonly error: string | null;
  /** Why there are none at all. */
  readonly none: string | null;
}

/** Returns the newest past conversations that have a text, read again once one of `inputs` has changed. */
export function useHistory(client: Client, search: string, limit: number, inputs: readonly unknown[] = []): FoundHistory {
  const [history, setHistory] = useState<FoundHistory>({ found: null, error: null, none: null });
  useEffect(() => {
    const abort = new AbortController();
    const fail = (cause: unknown) => {
      if (abort.signal.aborted) return;
      const text = cause instanceof Error ? cause.message : String(cause);
      const isNone = cause instanceof RunnerError && cause.code === NONE;
      setHistory(isNone ? { found: [], error: null, none: text } : { found: null, error: text, none: null });
    };
    const read = () => client.history(search, limit, abort.signal).then((found) => setHistory({ found, error: null, none: null }), fail);
    const timer = setTimeout(read, search === "" ? 0 : PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [client, search, limit, ...inputs]);
  return history;
}
