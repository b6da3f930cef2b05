import { Client } from "@bowline/client";
import type { Token } from "../types/element.js";
import type { TerminalState } from "../types/terminal.js";
import type { ConnectionState } from "../types/transcript.js";

/** What both elements have in common: the session that they show. */
export abstract class SessionElement extends HTMLElement {
  static readonly observedAttributes: readonly string[] = ["src", "session"];
  #token: Token = null;
  #isDue = false;
  #hasStyle = false;
  protected readonly root = this.attachShadow({ mode: "open" });

  /** Set before `session`, or with it. */
  get token(): Token {
    return this.#token;
  }

  set token(token: Token) {
    this.#token = token;
    this.#later();
  }

  connectedCallback(): void {
    this.#later();
  }

  disconnectedCallback(): void {
    this.hide();
  }

  attributeChangedCallback(): void {
    this.#later();
  }

  protected abstract show(client: Client, session: string): void;
  protected abstract hide(): void;

  protected adopt(css: string): void {
    if (this.#hasStyle) return;
    this.#hasStyle = true;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    this.root.adoptedStyleSheets.push(sheet);
  }

  protected report(detail: ConnectionState | TerminalState): void {
    this.dispatchEvent(new CustomEvent("bowline-state", { detail, bubbles: true }));
  }

  /** Shows the session once all attributes of one change are set. */
  #later(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.hide();
      const session = this.getAttribute("session");
      if (!this.isConnected || !session) return;
      const url = this.getAttribute("src") ?? "";
      const token = this.#token;
      this.show(new Client({ url, name: "page", ...(token === null ? {} : { token }) }), session);
    });
  }
}
