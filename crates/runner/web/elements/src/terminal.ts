import type { Client, TerminalConnection } from "@bowline/client";
import css from "../../page/style.css";
import { Screen } from "../../page/src/terminal/screen.js";
import { SessionElement } from "./element.js";

/** `<bowline-terminal>`: a terminal session, which is typed into with `writable`, and watched without. */
class TerminalElement extends SessionElement {
  static override readonly observedAttributes = ["src", "session", "writable"];
  #screen: Screen | null = null;
  #connection: TerminalConnection | null = null;
  #observer: ResizeObserver | null = null;

  protected show(client: Client, session: string): void {
    this.adopt(css);
    const isWritable = this.hasAttribute("writable");
    const parent = document.createElement("div");
    parent.className = `screen embedded ${isWritable ? "write" : "read"}`;
    this.root.replaceChildren(parent);
    const screen = new Screen(parent, { label: "Terminal", onInput: (bytes) => this.#connection?.input(bytes) });
    this.#screen = screen;
    const size = screen.fitting();
    this.#connection = client.terminal(
      session,
      {
        screen: (bytes, of) => screen.replace(bytes, of),
        output: (bytes, isReplay, done) => screen.write(bytes, isReplay, done),
        resized: (of) => screen.resize(of),
        lost: () => {},
        state: (state) => {
          screen.setWritable(isWritable && state.state === "attached" && state.mode === "write");
          this.report(state);
        },
      },
      { mode: isWritable ? "write" : "read", ...(size ? { size } : {}) },
    );
    if (!isWritable) return;
    this.#observer = new ResizeObserver(() => {
      const fitting = screen.fitting();
      if (!fitting) return;
      screen.resize(fitting);
      this.#connection?.resize(fitting);
    });
    this.#observer.observe(parent);
  }

  protected hide(): void {
    this.#observer?.disconnect();
    this.#connection?.close();
    this.#screen?.dispose();
    this.#connection = this.#screen = this.#observer = null;
    this.root.replaceChildren();
  }
}

customElements.define("bowline-terminal", TerminalElement);
