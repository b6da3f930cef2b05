/**
 * Stands in for `<style>`, which the page's policy forbids: its text becomes a constructed style sheet of the document
 * or the shadow root that it is in. The build makes xterm.js create this element instead.
 */
class StyleElement extends HTMLElement {
  readonly #sheet = new CSSStyleSheet();
  #root: Document | ShadowRoot | null = null;

  override get textContent(): string {
    return "";
  }

  override set textContent(text: string) {
    this.#sheet.replaceSync(text);
  }

  connectedCallback(): void {
    this.hidden = true;
    const root = this.getRootNode();
    if (!(root instanceof Document || root instanceof ShadowRoot)) return;
    this.#root = root;
    root.adoptedStyleSheets.push(this.#sheet);
  }

  disconnectedCallback(): void {
    if (!this.#root) return;
    this.#root.adoptedStyleSheets = this.#root.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
    this.#root = null;
  }
}

/** Must be called before a terminal is opened. */
export function defineStyleElement(): void {
  if (!customElements.get("bowline-style")) customElements.define("bowline-style", StyleElement);
}

/** Adopts a style sheet in the document or shadow root of an element, once. */
export function adoptStyle(element: Element, css: string): void {
  const root = element.getRootNode() as Document | ShadowRoot;
  const sheets = adopted.get(root) ?? new Set();
  adopted.set(root, sheets);
  if (sheets.has(css)) return;
  sheets.add(css);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets.push(sheet);
}

const adopted = new WeakMap<Document | ShadowRoot, Set<string>>();
