import type { JSX } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { CommandsContext, writesText } from "../state/commands.js";
import type { SessionsStore } from "../state/sessions.js";
import { loadMore, useMore } from "./lazy.js";

/** Handles the keys of the whole page, and shows the palette and the help. */
export function Keyboard({ sessions }: { readonly sessions: SessionsStore }): JSX.Element {
  const commands = useContext(CommandsContext)!;
  const [shown, setShown] = useState<"palette" | "help" | null>(null);
  // A key right after a dialog was closed comes before the page is rendered again.
  const current = useRef(shown);
  const show = (next: "palette" | "help" | null) => {
    current.current = next;
    setShown(next);
  };
  const more = useMore(shown !== null);
  // So that the palette opens at once.
  useEffect(() => void requestIdleCallback(() => void loadMore().catch(() => {})), []);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      // In a terminal, Ctrl+K belongs to the program: Ctrl+Shift+K opens the palette there.
      const inTerminal = event.target instanceof HTMLElement && event.target.closest(".screen") !== null;
      const opensPalette = event.key.toLowerCase() === "k" && (event.metaKey || (event.ctrlKey && (!inTerminal || event.shiftKey)));
      if (opensPalette) {
        show(current.current === "palette" ? null : "palette");
        return event.preventDefault();
      }
      if (event.metaKey || event.ctrlKey || event.altKey || writesText(event.target)) return;
      // A dialog that is open or still loaded has the keys.
      if (current.current !== null || document.querySelector("dialog[open]")) return;
      if (event.key === "?") show("help");
      else if (!commands.press(event.key)) return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [commands]);
  return (
    <>
      {more && shown === "palette" && <more.Palette sessions={sessions} onClose={() => show(null)} onHelp={() => show("help")} />}
      {more && shown === "help" && <more.Help onClose={() => show(null)} />}
    </>
  );
}
