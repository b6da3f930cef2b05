import { Client } from "@bowline/client";
import { render } from "preact";
import { login } from "./login.js";
import { App, Refused } from "./views/app.js";

const root = document.getElementById("root")!;

login().then(
  (token) => render(token === null ? <Refused reason="This page needs a login link" /> : <App client={new Client({ token, name: "page" })} />, root),
  (error: unknown) => render(<Refused reason={error instanceof Error ? error.message : String(error)} />, root),
);
