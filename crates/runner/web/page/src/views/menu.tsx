import type { ComponentChildren, JSX } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.js";

const Close = createContext<() => void>(() => {});

/** A button with a menu, which the arrow keys walk through. */
export function Menu({ label, children }: { readonly label: string; readonly children: ComponentChildren }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const items = () => [...(list.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  useEffect(() => {
    if (!isOpen) return;
    items()[0]?.focus();
    const leave = (event: Event) => {
      const target = event.target as Node;
      if (!list.current?.contains(target) && !button.current?.contains(target)) setOpen(false);
    };
    addEventListener("pointerdown", leave, true);
    return () => removeEventListener("pointerdown", leave, true);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Tab") setOpen(false);
    else if (next !== undefined) all.at(next % all.length)?.focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu">
      <button ref={button} class="ghost icon" aria-label={label} aria-haspopup="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="more" />
      </button>
      {isOpen && (
        <div ref={list} class="menu-list" role="menu" aria-label={label} onKeyDown={onKeyDown}>
          <Close.Provider value={close}>{children}</Close.Provider>
        </div>
      )}
    </div>
  );
}

interface ItemProps {
  readonly onSelect: () => void;
  readonly isDanger?: boolean;
  readonly children: ComponentChildren;
}

export function MenuItem({ onSelect, isDanger = false, children }: ItemProps): JSX.Element {
  const close = useContext(Close);
  const select = () => {
    close();
    onSelect();
  };
  return (
    <button role="menuitem" tabIndex={-1} class={isDanger ? "bad" : undefined} onClick={select}>
      {children}
    </button>
  );
}
