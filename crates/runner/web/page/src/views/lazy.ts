import { useEffect, useState } from "preact/hooks";

type More = typeof import("../more.js");

let loading: Promise<More> | null = null;

/** Loads the parts of the page that its first view has no need of. */
export function loadMore(): Promise<More> {
  loading ??= import("../more.js").catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** Returns those parts once they are needed and loaded. */
export function useMore(isNeeded = true): More | null {
  const [more, setMore] = useState<More | null>(null);
  useEffect(() => {
    // A lost connection is said elsewhere; the next use loads them again.
    if (isNeeded && !more) loadMore().then(setMore, () => {});
  }, [isNeeded]);
  return more;
}
