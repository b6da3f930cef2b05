import { Client, RunnerError } from "@bowline/client";
import { render } from "preact";
import { forget, login } from "./login.js";
import { PAGE } from "./state/answers.js";
import { App, Refused } from "./views/app.js";

const root = document.getElementById("root")!;

/** Shows a page that cannot go on, and its reason. */
function refuse(reason: string): void {
  render(<Refused reason={reason} />, root);
}

/** Sends a request. A token that is refused was revoked, and nothing of the page may go on with it. */
const watched = (async (target: string, init?: RequestInit) => {
  const response = await fetch(target, init);
  if (response.status === 401) {
    forget();
    refuse("This page's token is no longer valid");
  }
  return response;
}) as typeof fetch;

login().then(
  (token) => {
    if (token === null) return refuse("This page needs a login link");
    render(<App client={new Client({ token, name: PAGE, fetch: watched })} />, root);
  },
  (error: unknown) => {
    const isUsed = error instanceof RunnerError && error.code === "LINK_WRONG";
    refuse(isUsed ? "The login link was used or has expired" : String(error instanceof Error ? error.message : error));
  },
);
