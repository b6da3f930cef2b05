import type { SessionElement } from "./element.js";

export type { Token } from "./element.js";

/** The state of the connection to the runner. */
export type ConnectionState =
  | { readonly state: "connecting" }
  | { readonly state: "connected" }
  /** `retryAt` is a time of `Date.now()`. */
  | { readonly state: "reconnecting"; readonly attempt: number; readonly retryAt: number; readonly error: Error }
  /** It is not tried again: the token was revoked, or the session is gone. */
  | { readonly state: "failed"; readonly error: Error };

/** `<bowline-transcript>`: a dialogue as it grows, with its permission requests. */
export type TranscriptElement = SessionElement<ConnectionState>;

declare global {
  interface HTMLElementTagNameMap {
    "bowline-transcript": TranscriptElement;
  }
}
