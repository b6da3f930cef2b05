import type { SessionElement } from "./element.js";

export type { Token } from "./element.js";

/** The state of the connection to the terminal. */
export type TerminalState =
  | { readonly state: "connecting" }
  /** `read` only watches. */
  | { readonly state: "attached"; readonly mode: "write" | "read" }
  /** Another client types now. This one is attached again, and sees what it does. */
  | { readonly state: "taken_over" }
  | { readonly state: "reconnecting"; readonly attempt: number; readonly error: Error }
  | { readonly state: "ended"; readonly exit: { readonly code: number | null; readonly signal: number | null } | null }
  | { readonly state: "failed"; readonly error: Error };

/** `<bowline-terminal>`: a terminal session, which is typed into with the attribute `writable`, and watched without. */
export type TerminalElement = SessionElement<TerminalState>;

declare global {
  interface HTMLElementTagNameMap {
    "bowline-terminal": TerminalElement;
  }
}
