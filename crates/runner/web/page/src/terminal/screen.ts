import type { TerminalSize } from "@bowline/client";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";
import css from "@xterm/xterm/css/xterm.css";
import { find, type Match } from "./find.js";
import { adoptStyle, defineStyleElement } from "./style_element.js";

/** Lines above the screen that are kept. */
const SCROLLBACK = 10_000;

/** RIS: the screen that follows replaces everything. In one piece with it, so that no empty screen is drawn. */
const RESET = new TextEncoder().encode("\x1bc");

export interface ScreenOptions {
  /** Called with what the reader types. */
  readonly onInput: (bytes: Uint8Array) => void;
  /** Called when the text that is selected has changed. */
  readonly onSelection?: (hasSelection: boolean) => void;
  /** Called when the place that is looked at has changed: whether it is the end, and whether it is the oldest line above it. */
  readonly onScroll?: (isAtEnd: boolean, isAtStart: boolean) => void;
  /** Called with keys that are not for the session. Returns whether it has handled one. */
  readonly onKey?: (event: KeyboardEvent) => boolean;
  readonly label: string;
  readonly isScreenReader?: boolean;
}

/** Draws a terminal. This module is loaded when the first one is shown. */
export class Screen {
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #parent: HTMLElement;
  readonly #scheme = matchMedia("(prefers-color-scheme: dark)");
  readonly #isMac = navigator.platform.startsWith("Mac");
  /** Whether replayed output is read: its queries were answered before. */
  #replays = 0;
  #matches: Match[] = [];
  #wanted = "";
  #match = -1;

  constructor(parent: HTMLElement, options: ScreenOptions) {
    defineStyleElement();
    adoptStyle(parent, css);
    this.#parent = parent;
    const style = getComputedStyle(parent);
    this.#terminal = new Terminal({
      fontFamily: style.getPropertyValue("--mono") || "monospace",
      fontSize: 13,
      lineHeight: 1.15,
      scrollback: SCROLLBACK,
      minimumContrastRatio: 4.5,
      cursorInactiveStyle: "outline",
      macOptionIsMeta: true,
      screenReaderMode: options.isScreenReader ?? false,
      disableStdin: true,
      theme: this.#theme(),
    });
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.open(parent);
    this.#terminal.textarea!.setAttribute("aria-label", options.label);
    const encoder = new TextEncoder();
    const send = (bytes: Uint8Array) => {
      if (this.#replays === 0) options.onInput(bytes);
    };
    this.#terminal.onData((text) => send(encoder.encode(text)));
    this.#terminal.onBinary((text) => send(Uint8Array.from(text, (unit) => unit.charCodeAt(0))));
    this.#terminal.onSelectionChange(() => options.onSelection?.(this.#terminal.hasSelection()));
    const scrolled = () => options.onScroll?.(this.isAtEnd, this.#isAtStart);
    this.#terminal.onScroll(scrolled);
    // Of what the reader scrolls, xterm.js reports nothing.
    for (const type of ["wheel", "pointermove", "keyup"]) parent.addEventListener(type, () => requestAnimationFrame(scrolled), { passive: true });
    this.#terminal.attachCustomKeyEventHandler((event) => this.#onKey(event, options.onKey));
    this.#scheme.addEventListener("change", this.#onScheme);
  }

  get isAtEnd(): boolean {
    const { viewportY, baseY } = this.#terminal.buffer.active;
    return viewportY >= baseY;
  }

  get #isAtStart(): boolean {
    const { viewportY, baseY } = this.#terminal.buffer.active;
    return viewportY === 0 && baseY > 0;
  }

  /** Number of lines above the screen; rows that continue one are a part of it. */
  get linesAbove(): number {
    const buffer = this.#terminal.buffer.normal;
    let lines = 0;
    for (let row = 0; row < buffer.baseY; row += 1) lines += buffer.getLine(row)!.isWrapped ? 0 : 1;
    return lines;
  }

  get isApplicationCursor(): boolean {
    return this.#terminal.modes.applicationCursorKeysMode;
  }

  get selection(): string {
    return this.#terminal.getSelection();
  }

  /** Replaces all that is shown. */
  replace(bytes: Uint8Array, size: TerminalSize): void {
    this.resize(size);
    const all = new Uint8Array(RESET.length + bytes.length);
    all.set(RESET);
    all.set(bytes, RESET.length);
    this.write(all, true, () => {});
  }

  /** Draws more output, and calls `done` once it was read. */
  write(bytes: Uint8Array, isReplay: boolean, done: () => void): void {
    if (isReplay) this.#terminal.write("", () => (this.#replays += 1));
    this.#terminal.write(bytes, () => {
      if (isReplay) this.#replays -= 1;
      done();
    });
  }

  resize({ cols, rows }: TerminalSize): void {
    if (cols !== this.#terminal.cols || rows !== this.#terminal.rows) this.#terminal.resize(cols, rows);
  }

  /** Returns the size that fills the element, if it is visible. */
  fitting(): TerminalSize | null {
    const size = this.#fit.proposeDimensions();
    return size && size.cols > 1 && size.rows > 1 ? { cols: Math.min(size.cols, 1_000), rows: Math.min(size.rows, 1_000) } : null;
  }

  setWritable(isWritable: boolean): void {
    this.#terminal.options.disableStdin = !isWritable;
    this.#terminal.options.cursorBlink = isWritable && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  setScreenReader(isOn: boolean): void {
    this.#terminal.options.screenReaderMode = isOn;
  }

  paste(text: string): void {
    this.#terminal.paste(text);
  }

  focus(): void {
    this.#terminal.focus();
  }

  showEnd(): void {
    this.#terminal.scrollToBottom();
  }

  /** Selects the next or previous place that has a text. Returns which of how many it is; the first one is the newest. */
  find(wanted: string, isForward: boolean): { readonly at: number; readonly of: number } {
    const buffer = this.#terminal.buffer.active;
    const line = (row: number) => {
      const it = buffer.getLine(row);
      return it && { isWrapped: it.isWrapped, text: (isLast: boolean) => it.translateToString(isLast) };
    };
    this.#matches = find({ length: buffer.length, line }, wanted);
    const last = this.#matches.length - 1;
    const next = this.#match + (isForward ? 1 : -1);
    this.#match = wanted !== this.#wanted ? last : next < 0 ? last : next > last ? 0 : next;
    this.#wanted = wanted;
    const match = this.#matches[this.#match];
    if (!match) {
      this.#terminal.clearSelection();
      return { at: 0, of: 0 };
    }
    const { column, columns } = this.#columns(match);
    this.#terminal.select(column, match.row, columns);
    this.#terminal.scrollToLine(Math.max(0, match.row - (this.#terminal.rows >> 1)));
    return { at: last - this.#match + 1, of: this.#matches.length };
  }

  endFind(): void {
    this.#wanted = "";
    this.#match = -1;
    this.#terminal.clearSelection();
  }

  /** Returns the text of the whole buffer. */
  text(): string {
    const buffer = this.#terminal.buffer.active;
    let text = "";
    for (let row = 0; row < buffer.length; row += 1) {
      const line = buffer.getLine(row)!;
      const isWrapped = buffer.getLine(row + 1)?.isWrapped === true;
      text += line.translateToString(!isWrapped) + (isWrapped ? "" : "\n");
    }
    return text.replace(/\n+$/, "\n");
  }

  dispose(): void {
    this.#scheme.removeEventListener("change", this.#onScheme);
    this.#terminal.dispose();
  }

  /** Returns the cells of a match: a wide character has two of them, and one may have several units of text. */
  #columns({ row, at, length }: Match): { readonly column: number; readonly columns: number } {
    const buffer = this.#terminal.buffer.active;
    const { cols } = this.#terminal;
    let [cell, column, seen] = [0, 0, 0];
    for (; seen < at + length; cell += 1) {
      const shown = buffer.getLine(row + Math.floor(cell / cols))?.getCell(cell % cols);
      if (!shown) break;
      if (seen < at) column = cell + 1;
      if (shown.getWidth() > 0) seen += shown.getChars().length || 1;
    }
    return { column, columns: cell - column };
  }

  #onKey(event: KeyboardEvent, handle: ScreenOptions["onKey"]): boolean {
    if (event.type === "keydown" && handle?.(event)) return false;
    const isCommand = this.#isMac ? event.metaKey : event.ctrlKey && event.shiftKey;
    if (!isCommand) return true;
    const key = event.key.toLowerCase();
    if (key === "c" && this.#terminal.hasSelection()) {
      if (event.type === "keydown") void navigator.clipboard.writeText(this.selection);
      return false;
    }
    // The browser pastes, which xterm.js brackets.
    return key !== "v";
  }

  readonly #onScheme = () => {
    this.#terminal.options.theme = this.#theme();
  };

  #theme(): ITheme {
    const probe = document.createElement("span");
    this.#parent.append(probe);
    const color = (name: string) => {
      probe.style.color = `var(--${name})`;
      return hex(getComputedStyle(probe).color);
    };
    const [paper, ink, faint] = [color("paper"), color("ink"), color("ink-3")];
    const theme = {
      background: paper,
      foreground: ink,
      cursor: ink,
      cursorAccent: paper,
      selectionBackground: color("rope-line"),
      black: this.#scheme.matches ? "#2b2f31" : "#1d1c1a",
      brightBlack: faint,
      red: color("red"),
      green: color("green"),
      yellow: color("amber"),
      blue: this.#scheme.matches ? "#8fb0ec" : "#2b5bb0",
      magenta: this.#scheme.matches ? "#d3a2dc" : "#8a3d94",
      cyan: color("rope"),
      white: this.#scheme.matches ? "#cfccc5" : "#5d5a54",
      brightWhite: ink,
    };
    probe.remove();
    return {
      ...theme,
      brightRed: theme.red,
      brightGreen: theme.green,
      brightYellow: theme.yellow,
      brightBlue: theme.blue,
      brightMagenta: theme.magenta,
      brightCyan: theme.cyan,
    };
  }
}

/** xterm.js reads colors in hexadecimal digits. */
function hex(color: string): string {
  const parts = /(\d+(?:\.\d+)?)\D+(\d+(?:\.\d+)?)\D+(\d+(?:\.\d+)?)/.exec(color);
  if (!parts) return "#888888";
  return `#${parts.slice(1, 4).map((part) => Math.round(Number(part)).toString(16).padStart(2, "0")).join("")}`;
}
