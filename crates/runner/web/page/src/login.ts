import { RunnerError } from "@bowline/client";

const TOKEN = "bowline token";

/** Where a page is without a token. */
export const LOGIN_HINT = "run `bowline ui` for a new login link";

/**
 * Exchanges the ticket of a login link for a token, which this tab keeps.
 *
 * The ticket is in the fragment of the address, which no server and no log sees, and leaves it at once.
 */
export async function login(): Promise<string | null> {
  const link = /^#login=([\w-]+)(?:&open=([\w-]+))?$/.exec(location.hash);
  if (!link) return sessionStorage.getItem(TOKEN);
  const [, ticket, session] = link;
  history.replaceState(null, "", session === undefined ? location.pathname : `#/${session}`);
  const response = await fetch("/api/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ticket }),
    credentials: "omit",
  });
  if (!response.ok) throw await RunnerError.of(response);
  const { token } = (await response.json()) as { token: string };
  sessionStorage.setItem(TOKEN, token);
  return token;
}

/** Forgets the token: it was revoked. */
export function forget(): void {
  sessionStorage.removeItem(TOKEN);
}
