/** The token of a runner, or what returns it for each request. */
export type Token = string | (() => string | null) | null;

/** What both elements have in common: the session that they show. Attributes: `src`, the runner's address, and `session`. */
export interface SessionElement<State> extends HTMLElement {
  /** Set before `session`, or with it. */
  token: Token;
  addEventListener(
    type: "bowline-state",
    listener: (event: CustomEvent<State>) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<Type extends keyof HTMLElementEventMap>(
    type: Type,
    listener: (event: HTMLElementEventMap[Type]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}
