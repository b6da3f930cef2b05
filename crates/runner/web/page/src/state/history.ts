import { RunnerError, type Client, type PastConversation } from "@bowline/client";
import { useEffect, useState } from "preact/hooks";

/** The most past conversations that are read. */
export const MOST = 200;

/** The code of the error when there are no conversations at all. */
const NONE = "CONVERSATION_NOT_FOUND";

/** Why a conversation of an address is not shown. */
const GONE = "The conversation of this address is not kept any more. Choose another one.";

const isNone = (cause: unknown) => cause instanceof RunnerError && cause.code === NONE;

const text = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));

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

/** Returns a past conversation; `null` before the answer, or if it is not kept. */
export function usePastConversation(client: Client, id: string | null): { readonly past: PastConversation | null; readonly error: string | null } {
  const [answer, setAnswer] = useState<{ readonly past: PastConversation | null; readonly error: string | null }>({ past: null, error: null });
  useEffect(() => {
    setAnswer({ past: null, error: null });
    if (id === null) return;
    const abort = new AbortController();
    const fail = (cause: unknown) => abort.signal.aborted || setAnswer({ past: null, error: isNone(cause) ? GONE : text(cause) });
    client.pastConversation(id, abort.signal).then((past) => setAnswer({ past, error: null }), fail);
    return () => abort.abort();
  }, [client, id]);
  return answer;
}

/** Returns the newest past conversations that have a text, read again once one of `inputs` has changed. */
export function useHistory(client: Client, search: string, limit: number, inputs: readonly unknown[] = []): FoundHistory {
  const [history, setHistory] = useState<FoundHistory>({ found: null, error: null, none: null });
  useEffect(() => {
    const abort = new AbortController();
    const fail = (cause: unknown) => {
      if (abort.signal.aborted) return;
      setHistory(isNone(cause) ? { found: [], error: null, none: text(cause) } : { found: null, error: text(cause), none: null });
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
