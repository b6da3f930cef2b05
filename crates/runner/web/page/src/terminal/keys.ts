/** A key of the row that touch screens have below a terminal. */
export type Key = "Escape" | "Tab" | "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight" | "Home" | "End" | "PageUp" | "PageDown";

export interface Modifiers {
  readonly ctrl: boolean;
  readonly alt: boolean;
}

const FINAL: Partial<Record<Key, string>> = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };

/** Returns what a terminal sends for a key (xterm, ctlseqs: PC-Style Function Keys). */
export function keySequence(key: Key, { ctrl, alt }: Modifiers, isApplication: boolean): string {
  if (key === "Escape") return alt ? "\x1b\x1b" : "\x1b";
  if (key === "Tab") return alt ? "\x1b\t" : "\t";
  const modifier = 1 + (alt ? 2 : 0) + (ctrl ? 4 : 0);
  const final = FINAL[key];
  if (final === undefined) {
    const number = key === "PageUp" ? 5 : 6;
    return modifier === 1 ? `\x1b[${number}~` : `\x1b[${number};${modifier}~`;
  }
  if (modifier > 1) return `\x1b[1;${modifier}${final}`;
  return isApplication ? `\x1bO${final}` : `\x1b[${final}`;
}

/** Applies modifiers that were chosen in the row to what was typed next. */
export function modified(typed: string, { ctrl, alt }: Modifiers): string {
  let text = typed;
  if (ctrl && text.length === 1) {
    const code = text.toUpperCase().charCodeAt(0);
    if (code >= 0x40 && code < 0x60) text = String.fromCharCode(code & 0x1f);
    else if (text === " ") text = "\0";
    else if (text === "?") text = "\x7f";
  }
  return alt ? `\x1b${text}` : text;
}
