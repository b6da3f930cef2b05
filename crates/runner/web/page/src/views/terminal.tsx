import type { Client, TerminalConnection, TerminalMode, TerminalSize, TerminalState } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ListedSession } from "../state/sessions.js";
import { Store, useStore } from "../state/store.js";
import { keySequence, modified, type Key, type Modifiers } from "../terminal/keys.js";
import type { Screen, ScreenOptions } from "../terminal/screen.js";
import { line, plain, shortPath } from "../text/format.js";
import { Icon } from "./icon.js";
import { loadScreen } from "./load_screen.js";
import { Menu } from "./menu.js";
import { SessionMenuItems } from "./session_menu.js";
import { TerminalLines } from "./terminal_lines.js";
import { TerminalPast } from "./terminal_past.js";

/** How often the size of a terminal is asked for while another client decides it, in milliseconds. */
const SIZE_EVERY_MS = 2_000;

/** Bytes of an ended terminal's output that are shown. */
const LAST_BYTES = 1 << 20;

const NO_MODIFIERS: Modifiers = { ctrl: false, alt: false };

/** A terminal session that is shown, and the connection to it. */
class TerminalStore extends Store {
  state: TerminalState = { state: "connecting" };
  mode: TerminalMode;
  size: TerminalSize | null = null;
  hasSelection = false;
  isAtEnd = true;
  /** Whether the oldest line that the terminal keeps is looked at. */
  isAtStart = false;
  lost = 0;
  wasTakenOver = false;
  error: Error | null = null;
  modifiers = NO_MODIFIERS;
  screen: Screen | null = null;
  connection: TerminalConnection | null = null;
  onFind = (): void => {};
  #isClosed = false;
  #wasFocused = false;
  #observer: ResizeObserver | null = null;
  #asking: ReturnType<typeof setInterval> | null = null;

  constructor(
    readonly id: string,
    readonly client: Client,
    mode: TerminalMode,
  ) {
    super();
    this.mode = mode;
  }

  async open(parent: HTMLElement, label: string): Promise<void> {
    try {
      const { Screen } = await loadScreen();
      if (!this.#isClosed) this.#attach(parent, new Screen(parent, this.#options(label)));
    } catch (cause) {
      this.error = cause instanceof Error ? cause : new Error(String(cause));
      this.changed();
    }
  }

  #options(label: string): ScreenOptions {
    return {
      label,
      isScreenReader: localStorage.getItem("screen reader") === "on",
      onInput: (bytes) => this.#input(bytes),
      onSelection: (hasSelection) => {
        this.hasSelection = hasSelection;
        this.changed();
      },
      onScroll: (isAtEnd, isAtStart) => {
        if (isAtEnd === this.isAtEnd && isAtStart === this.isAtStart) return;
        this.isAtEnd = isAtEnd;
        this.isAtStart = isAtStart;
        this.changed();
      },
      onKey: (event) => this.#onKey(event),
    };
  }

  #attach(parent: HTMLElement, screen: Screen): void {
    this.screen = screen;
    const reader = {
      screen: (bytes: Uint8Array, size: TerminalSize) => {
        this.#setSize(size);
        screen.replace(bytes, size);
        if (this.mode === "write") this.#fit();
      },
      output: (bytes: Uint8Array, isReplay: boolean, done: () => void) => screen.write(bytes, isReplay, done),
      resized: (size: TerminalSize) => this.#setSize(size),
      state: (state: TerminalState) => this.#onState(state),
      lost: (bytes: number) => {
        this.lost += bytes;
        this.changed();
      },
    };
    const size = screen.fitting();
    this.connection = this.client.terminal(this.id, reader, { mode: this.mode, ...(size ? { size } : {}) });
    this.#observer = new ResizeObserver(() => this.#fit());
    this.#observer.observe(parent);
    this.#asking = setInterval(() => void this.#askSize(), SIZE_EVERY_MS);
    this.changed();
  }

  setMode(mode: TerminalMode): void {
    this.wasTakenOver = false;
    this.lost = 0;
    this.mode = mode;
    this.connection?.setMode(mode, this.screen?.fitting() ?? undefined);
    this.screen?.focus();
    this.changed();
  }

  setModifiers(modifiers: Modifiers): void {
    this.modifiers = modifiers;
    this.screen?.focus();
    this.changed();
  }

  key(key: Key): void {
    const isApplication = this.screen?.isApplicationCursor ?? false;
    this.#send(keySequence(key, this.modifiers, isApplication));
    this.setModifiers(NO_MODIFIERS);
  }

  type(text: string): void {
    this.#send(modified(text, this.modifiers));
    this.setModifiers(NO_MODIFIERS);
  }

  close(): void {
    this.#isClosed = true;
    this.#observer?.disconnect();
    if (this.#asking !== null) clearInterval(this.#asking);
    this.connection?.close();
    this.screen?.dispose();
  }

  #onKey(event: KeyboardEvent): boolean {
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.key === "Escape" && event.shiftKey) {
      // A keyboard that has only this way to leave the terminal.
      document.querySelector<HTMLElement>(".sessions [aria-current], .sessions a, .top button")?.focus();
      return true;
    }
    if (isCommand && event.key.toLowerCase() === "f" && (event.metaKey || event.shiftKey)) {
      event.preventDefault();
      this.onFind();
      return true;
    }
    // The palette of the page.
    return isCommand && event.key.toLowerCase() === "k" && (event.metaKey || event.shiftKey);
  }

  #input(bytes: Uint8Array): void {
    if (this.modifiers === NO_MODIFIERS) return void this.#sendBytes(bytes);
    this.type(new TextDecoder().decode(bytes));
  }

  #send(text: string): void {
    this.#sendBytes(new TextEncoder().encode(text));
  }

  #sendBytes(bytes: Uint8Array): void {
    if (this.mode !== "write") return;
    if (!this.connection?.input(bytes)) {
      this.lost += bytes.length;
      this.changed();
    }
  }

  #onState(state: TerminalState): void {
    this.state = state;
    if (state.state === "taken_over") {
      this.mode = "read";
      this.wasTakenOver = true;
    }
    const isTyped = state.state === "attached" && this.mode === "write";
    this.screen?.setWritable(isTyped);
    if (isTyped && !this.#wasFocused) this.screen?.focus();
    this.#wasFocused ||= isTyped;
    if (state.state === "ended" && this.size === null) void this.#showLast();
    this.changed();
  }

  /** Shows the last output of a terminal that had ended before it was opened. */
  async #showLast(): Promise<void> {
    try {
      const { end } = await this.client.log(this.id, 0, 0);
      const { bytes } = await this.client.log(this.id, Math.max(0, end - LAST_BYTES), LAST_BYTES);
      const size = this.screen?.fitting();
      if (size && !this.#isClosed) this.screen?.replace(bytes, size);
    } catch (cause) {
      this.error = cause instanceof Error ? cause : new Error(String(cause));
      this.changed();
    }
  }

  #fit(): void {
    const size = this.screen?.fitting();
    if (!size || this.mode !== "write" || this.state.state !== "attached") return;
    if (this.size && size.cols === this.size.cols && size.rows === this.size.rows) return;
    this.#setSize(size);
    this.connection?.resize(size);
  }

  /** The client that types decides the size, and the others are not told. */
  async #askSize(): Promise<void> {
    if (this.mode !== "read" || this.state.state !== "attached" || document.hidden) return;
    try {
      const size = (await this.client.session(this.id))["size"] as TerminalSize | null | undefined;
      const isOther = size && this.size && (size.cols !== this.size.cols || size.rows !== this.size.rows);
      if (isOther && this.mode === "read") this.connection?.refresh();
    } catch {
      // The connection says it.
    }
  }

  #setSize(size: TerminalSize): void {
    this.size = size;
    this.screen?.resize(size);
    this.changed();
  }
}

interface Props {
  readonly session: ListedSession;
  readonly client: Client;
  readonly onClose: () => void;
}

/** A terminal session. It is typed into at once if no other client is attached, and watched otherwise. */
export function TerminalView({ session, client, onClose }: Props): JSX.Element {
  const { id } = session;
  const store = useMemo(() => new TerminalStore(id, client, session.hosts === 0 ? "write" : "read"), [id, client]);
  const parent = useRef<HTMLDivElement>(null);
  const [isFinding, setFinding] = useState(false);
  const [past, showPast] = useState<"screens" | "lines" | null>(null);
  useStore(store);
  useEffect(() => {
    store.onFind = () => setFinding(true);
    void store.open(parent.current!, `Terminal ${session.title}`);
    return () => store.close();
  }, [store]);
  const { state, mode } = store;
  const isEnded = state.state === "ended" || state.state === "failed";
  return (
    <main id="main" tabIndex={-1} class="terminal">
      <header class="top">
        <button class="back" aria-label="All sessions" onClick={onClose}>
          <Icon name="back" />
        </button>
        <div class="about">
          <h1>{line(session.title)}</h1>
          <p>
            <span class="phase">
              <Icon name="terminal" />
              <span>{stateText(state, mode)}</span>
            </span>
            {session.cwd && <span>{line(shortPath(session.cwd))}</span>}
            {store.size && (
              <span>
                {store.size.cols} × {store.size.rows}
              </span>
            )}
          </p>
        </div>
        <div class="acts">
          <button class="ghost" aria-expanded={isFinding} onClick={() => setFinding(!isFinding)}>
            Find
          </button>
          <button class="ghost" aria-pressed={past === "screens"} onClick={() => showPast(past === "screens" ? null : "screens")}>
            Replay
          </button>
          {store.hasSelection && (
            <button class="ghost" onClick={() => void navigator.clipboard.writeText(store.screen!.selection)}>
              Copy
            </button>
          )}
          {!isEnded && (
            <button class={mode === "read" ? "primary" : "ghost"} onClick={() => store.setMode(mode === "read" ? "write" : "read")}>
              {mode === "read" ? "Type here" : "Only watch"}
            </button>
          )}
          <Menu label="Session">
            <SessionMenuItems session={session} client={client} />
          </Menu>
        </div>
      </header>
      <Banner store={store} />
      <div class="stage">
        {isFinding && <Find store={store} onClose={() => setFinding(false)} />}
        <div class={`screen ${mode}`} ref={parent} />
        {past === "screens" && <TerminalPast client={client} session={id} onClose={() => showPast(null)} />}
        {past === "lines" && <TerminalLines client={client} session={id} skip={store.screen?.linesAbove ?? 0} onClose={() => showPast(null)} />}
        {store.isAtStart && past === null && (
          <button class="to-start" onClick={() => showPast("lines")}>
            Earlier lines
          </button>
        )}
        {!store.isAtEnd && past === null && (
          <button class="to-end" onClick={() => store.screen?.showEnd()}>
            Go to the end
          </button>
        )}
      </div>
      {mode === "write" && !isEnded && past === null && <KeyRow store={store} />}
    </main>
  );
}

function stateText(state: TerminalState, mode: TerminalMode): string {
  switch (state.state) {
    case "attached":
      return mode === "write" ? "attached" : "watching";
    case "ended": {
      const { exit } = state;
      if (exit?.signal != null) return `ended by signal ${exit.signal}`;
      return exit?.code == null ? "ended" : `ended with code ${exit.code}`;
    }
    case "failed":
      return "not attached";
    case "reconnecting":
      return "disconnected";
    default:
      return "connecting";
  }
}

function Banner({ store }: { readonly store: TerminalStore }): JSX.Element | null {
  const { state, wasTakenOver, lost, error } = store;
  const failure = error ?? (state.state === "failed" ? state.error : null);
  if (failure) {
    return (
      <p class="banner bad" role="alert">
        {plain(failure.message)}
      </p>
    );
  }
  let text = "";
  if (state.state === "reconnecting") text = "The runner does not answer; trying again. What is typed now is not sent.";
  else if (lost > 0) text = `${lost} bytes of what was typed did not arrive; type them again.`;
  else if (wasTakenOver) text = "Another client types now. Press “Type here” to take over.";
  return text === "" ? null : (
    <p class="banner" role="status">
      {text}
    </p>
  );
}

function Find({ store, onClose }: { readonly store: TerminalStore; readonly onClose: () => void }): JSX.Element {
  const [found, setFound] = useState<{ at: number; of: number } | null>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    input.current?.focus();
    return () => store.screen?.endFind();
  }, [store]);
  const find = (isForward: boolean) => setFound(store.screen?.find(input.current!.value, isForward) ?? null);
  const close = () => {
    onClose();
    store.screen?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter") find(event.shiftKey);
    else return;
    event.preventDefault();
  };
  return (
    <div class="finder" role="search">
      <input ref={input} type="search" aria-label="Find in the terminal" placeholder="Find" onInput={() => find(false)} onKeyDown={onKeyDown} />
      <span class="why" role="status">
        {found && (found.of === 0 ? "not found" : `${found.at} of ${found.of}`)}
      </span>
      <button class="ghost" aria-label="Earlier" onClick={() => find(false)}>
        ↑
      </button>
      <button class="ghost" aria-label="Later" onClick={() => find(true)}>
        ↓
      </button>
      <button class="ghost" aria-label="Close the search" onClick={close}>
        ✕
      </button>
    </div>
  );
}

const KEYS: readonly (readonly [key: Key, text: string, label: string])[] = [
  ["Escape", "esc", "esc"],
  ["Tab", "tab", "tab"],
  ["ArrowLeft", "←", "ArrowLeft"],
  ["ArrowDown", "↓", "ArrowDown"],
  ["ArrowUp", "↑", "ArrowUp"],
  ["ArrowRight", "→", "ArrowRight"],
];

/** Keys that the keyboard of a touch screen has not. */
function KeyRow({ store }: { readonly store: TerminalStore }): JSX.Element {
  const { modifiers } = store;
  const paste = async () => {
    store.screen?.paste(await navigator.clipboard.readText());
    store.screen?.focus();
  };
  // The keyboard of the touch screen stays open.
  const keepFocus = (event: Event) => event.preventDefault();
  return (
    <div class="keys" role="toolbar" aria-label="Keys" onPointerDown={keepFocus}>
      {KEYS.map(([key, text, label]) => (
        <button aria-label={label} onClick={() => store.key(key)}>
          {text}
        </button>
      ))}
      <button aria-pressed={modifiers.ctrl} onClick={() => store.setModifiers({ ...modifiers, ctrl: !modifiers.ctrl })}>
        ctrl
      </button>
      <button aria-pressed={modifiers.alt} onClick={() => store.setModifiers({ ...modifiers, alt: !modifiers.alt })}>
        alt
      </button>
      {["|", "/", "-", "~"].map((sign) => (
        <button onClick={() => store.type(sign)}>{sign}</button>
      ))}
      <button onClick={() => void paste()}>paste</button>
    </div>
  );
}
