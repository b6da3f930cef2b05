/** Loads the part of the page that draws terminals. */
export function loadScreen(): Promise<typeof import("../terminal/screen.js")> {
  const path = "/terminal.js";
  return import(path) as Promise<typeof import("../terminal/screen.js")>;
}
