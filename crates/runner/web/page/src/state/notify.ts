import { groupOf, type ListedSession } from "./sessions.js";

const KEY = "notifications";

/** Whether this browser notifies its reader of sessions that ask, which the reader has chosen. */
export function isNotifying(): boolean {
  return "Notification" in globalThis && Notification.permission === "granted" && localStorage.getItem(KEY) === "on";
}

/** Turns notifications on or off. Returns what came of it, as text. */
export async function setNotifying(isOn: boolean): Promise<string> {
  localStorage.setItem(KEY, isOn ? "on" : "off");
  if (!isOn) return "notifications are off";
  if (!("Notification" in globalThis)) throw new Error("this browser has no notifications");
  const permission = await Notification.requestPermission();
  if (permission !== "granted") throw new Error("the browser does not permit notifications; change it in the settings of this site");
  return "notifications are on: when a session asks while this tab is not looked at";
}

/** Notifies of sessions that begin to ask while the tab is hidden. */
export class Notifier {
  #asking: ReadonlySet<string> | null = null;

  read(sessions: readonly ListedSession[]): void {
    const asking = sessions.filter((session) => groupOf(session) === "asks");
    const before = this.#asking;
    this.#asking = new Set(asking.map(({ id }) => id));
    // What asked when the page was opened is on the page.
    if (before === null || !document.hidden || !isNotifying()) return;
    for (const session of asking) if (!before.has(session.id)) notify(session);
  }
}

function notify({ id, title, reason }: ListedSession): void {
  const notification = new Notification(title, { body: reason ?? "waits for you", tag: id });
  notification.onclick = () => {
    focus();
    location.hash = `#/${id}`;
    notification.close();
  };
}
