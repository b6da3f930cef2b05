import type { JSX } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CommandsContext, type Command } from "../state/commands.js";
import type { SessionsStore } from "../state/sessions.js";
import { useStore } from "../state/store.js";
import { matching } from "../text/matching.js";
import { line, shortPath } from "../text/format.js";
import { Dialog } from "./dialog.js";

const isMac = navigator.platform.startsWith("Mac");

interface PaletteProps {
  readonly sessions: SessionsStore;
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

/** Commands and sessions, which letters find. */
export function Palette({ sessions, onClose, onHelp }: PaletteProps): JSX.Element {
  const registry = useContext(CommandsContext)!;
  useStore(registry, sessions);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const entries = useMemo(() => {
    const help: Command = { title: "Keyboard shortcuts", key: "?", run: onHelp };
    const actions = [...registry.all.filter(({ isHidden }) => !isHidden), help].map((it) => ({ ...it, about: "" }));
    const targets = sessions.sessions.map(({ id, title, cwd }) => ({
      title,
      about: cwd ? shortPath(cwd) : "session",
      key: undefined,
      run: () => void (location.hash = `#/${id}`),
    }));
    return matching([...actions, ...targets], text);
  }, [registry.all, sessions.sessions, text]);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at]);
  const run = (index: number) => {
    const entry = entries[index];
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt((at + 1) % Math.max(1, entries.length));
    else if (event.key === "ArrowUp") setAt((at + entries.length - 1) % Math.max(1, entries.length));
    else if (event.key === "Enter") run(at);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Commands" isTitleHidden class="palette" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Command or session"
        aria-expanded
        aria-controls="commands"
        aria-activedescendant={entries.length > 0 ? `command-${at}` : undefined}
        placeholder="Find a command or session"
        autoFocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul ref={list} id="commands" role="listbox" aria-label="Commands and sessions">
        {entries.map((entry, index) => (
          <li key={index} id={`command-${index}`} role="option" aria-selected={index === at} onPointerMove={() => setAt(index)} onClick={() => run(index)}>
            <span class="title">{line(entry.title)}</span>
            <span class="why">{line(entry.about)}</span>
            {entry.key && <kbd>{keyName(entry.key)}</kbd>}
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p class="empty">Nothing has these letters.</p>}
    </Dialog>
  );
}

/** Keys that no command of a view has. */
const KEYS: readonly (readonly [string, string])[] = [
  [isMac ? "⌘ K" : "Ctrl K", "Commands and sessions"],
  ["J / K", "Next and previous entry, or session in the list"],
  ["A A / D D", "Allow or deny the request that has the focus: once to choose, once to confirm"],
  ["Enter", "Send the prompt; with Shift a new line"],
  ["← / →", "Earlier and later bar of the timeline, whose entry Enter opens"],
  ["Shift Esc", "Leave a terminal"],
  [isMac ? "⌘ F" : "Ctrl Shift F", "Find in a terminal"],
  [isMac ? "⌘ C / ⌘ V" : "Ctrl Shift C / V", "Copy and paste in a terminal"],
  ["?", "This help"],
];

/** The keys of the page. */
export function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const registry = useContext(CommandsContext)!;
  const own = registry.all.filter(({ key, isHidden }) => key !== undefined && !isHidden);
  const all = [...own.map(({ key, title }) => [keyName(key!), title] as const), ...KEYS];
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts">
        {all.map(([key, title]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <button class="primary" autoFocus onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}

function keyName(key: string): string {
  return key.length === 1 && key === key.toLowerCase() ? key.toUpperCase() : `⇧ ${key}`;
}
