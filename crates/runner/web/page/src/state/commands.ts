import { createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import { Store } from "./store.js";

/** Something that a reader can do, by the palette or a key. */
export interface Command {
  readonly title: string;
  /** The key, as `KeyboardEvent.key` has it. It does nothing while text is written. */
  readonly key?: string;
  /** Whether the palette does not list it. */
  readonly isHidden?: boolean;
  readonly run: () => void;
}

/** The commands of the views that are shown. */
export class Commands extends Store {
  readonly #groups = new Map<symbol, readonly Command[]>();

  get all(): readonly Command[] {
    return [...this.#groups.values()].flat();
  }

  set(group: symbol, commands: readonly Command[]): void {
    this.#groups.set(group, commands);
    this.changed();
  }

  remove(group: symbol): void {
    this.#groups.delete(group);
    this.changed();
  }

  /** Runs the command of a key. The last view that has it is nearest to the reader. */
  press(key: string): boolean {
    const command = this.all.findLast((it) => it.key === key);
    command?.run();
    return command !== undefined;
  }
}

export const CommandsContext = createContext<Commands | null>(null);

/** Offers commands while a view is shown. They are set again when one of `inputs` has changed. */
export function useCommands(commands: () => readonly Command[], inputs: readonly unknown[]): void {
  const registry = useContext(CommandsContext)!;
  useEffect(() => {
    const group = Symbol();
    registry.set(group, commands());
    return () => registry.remove(group);
  }, [registry, ...inputs]);
}

/** Returns whether a key press writes text, or is meant for a program in a terminal. */
export function writesText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
