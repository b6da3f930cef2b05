import { useEffect, useReducer } from "preact/hooks";

/** A value that notifies its readers when it has changed. */
export class Store {
  readonly #readers = new Set<() => void>();

  subscribe(reader: () => void): () => void {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  }

  protected changed(): void {
    for (const reader of [...this.#readers]) reader();
  }
}

/** Renders the component again when one of the stores has changed. */
export function useStore(...stores: readonly Store[]): void {
  const [, render] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const ends = stores.map((store) => store.subscribe(() => render(undefined)));
    return () => ends.forEach((end) => end());
  }, stores);
}
