import "@bowline/elements/transcript.js";
import type { TerminalElement } from "@bowline/elements/terminal.js";

const transcript = document.createElement("bowline-transcript");
transcript.token = () => sessionStorage.getItem("token");
transcript.setAttribute("session", "11111111-2222-4333-8444-555555555555");
transcript.addEventListener("bowline-state", ({ detail }) => {
  document.title = detail.state === "failed" ? detail.error.message : detail.state;
});

const terminal: TerminalElement | null = document.querySelector("bowline-terminal");
terminal?.addEventListener("bowline-state", ({ detail }) => {
  if (detail.state === "ended") document.title = `ended with ${detail.exit?.code ?? "a signal"}`;
});
document.body.append(transcript);
