import type { InterruptScope, Status, Transcript } from "@bowline/client";
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { SessionStore } from "../state/session.js";
import type { ListedSession } from "../state/sessions.js";
import { cost, count, line, shortPath } from "../text/format.js";
import { ActionsContext } from "./actions.js";
import { Icon, type IconName } from "./icon.js";
import { Menu, MenuItem } from "./menu.js";
import { openTasks } from "./plan.js";
import { SessionMenuItems } from "./session_menu.js";

const PHASES: Record<string, readonly [IconName, string]> = {
  starting: ["run", "starting"],
  idle: ["idle", "idle"],
  running: ["run", "working"],
  awaiting_permission: ["ask", "waits for you"],
  ended: ["ok", "ended"],
  lost: ["bad", "lost"],
};

interface Props {
  readonly store: SessionStore;
  /** That of the moment that is shown. */
  readonly transcript: Transcript;
  /** Opens the bytes and the usage. */
  readonly onInspect: () => void;
  /** What the list says of it. */
  readonly listed: ListedSession | null;
  readonly onClose: () => void;
  readonly onExport: (kind: "copy" | "markdown" | "html") => void;
}

/** What a session is, and what can be done with it. */
export function Head({ store, transcript, listed, onClose, onExport, onInspect }: Props): JSX.Element {
  const { session, status, usage } = transcript;
  const context = session?.context;
  return (
    <header class="top">
      <button class="back" aria-label="All sessions" onClick={onClose}>
        <Icon name="back" />
      </button>
      <div class="about">
        <h1>{line(listed?.title ?? session?.title ?? "Session")}</h1>
        <p>
          {status && <PhaseText status={status} />}
          {session?.model && <span>{line(session.model)}</span>}
          {session?.cwd && <span>{line(shortPath(session.cwd))}</span>}
        </p>
      </div>
      <dl>
        {context?.used != null && (
          <div>
            <dt>context</dt>
            <dd>{context.size ? `${Math.round((100 * context.used) / context.size)} %` : count(context.used)}</dd>
          </div>
        )}
        {usage && usage.cost_usd > 0 && (
          <div>
            <dt>cost</dt>
            <dd>{cost(usage.cost_usd)}</dd>
          </div>
        )}
      </dl>
      <button class="ghost inspect" onClick={onInspect}>
        Inspect
      </button>
      <SessionActions store={store} listed={listed} onExport={onExport} />
    </header>
  );
}

function PhaseText({ status }: { readonly status: Status }): JSX.Element {
  const [icon, text] = PHASES[status.phase] ?? ["notice", status.phase];
  return (
    <span class={`phase ${status.phase}`} role="status">
      <Icon name={icon} />
      <span>{line(status.reason || text)}</span>
    </span>
  );
}

function SessionActions({ store, listed, onExport }: Pick<Props, "store" | "listed" | "onExport">): JSX.Element {
  const actions = useContext(ActionsContext)!;
  const { status, session } = store.transcript;
  const isOver = !status || status.phase === "ended" || status.phase === "lost";
  const isBusy = status?.phase === "running" || status?.phase === "awaiting_permission";
  const tasks = openTasks(store.transcript).length;
  const interrupt = (scope: InterruptScope) => void actions.run(() => store.client.interrupt(store.id, scope));
  return (
    <div class="acts">
      {isBusy && (
        <button class="ghost" onClick={() => interrupt({})}>
          Interrupt
        </button>
      )}
      {!isOver && (
        <button class="ghost end-session" onClick={() => void actions.run(() => store.client.end(store.id))}>
          End
        </button>
      )}
      <Menu label="Session">
        {isBusy && (session?.queue.length ?? 0) > 0 && <MenuItem onSelect={() => interrupt({ cancel_queued: true })}>Interrupt, and drop what waits</MenuItem>}
        {!isOver && tasks > 0 && <MenuItem onSelect={() => interrupt({ tasks: true })}>{isBusy ? "Interrupt, and stop the tasks" : "Stop the tasks in the background"}</MenuItem>}
        <MenuItem onSelect={() => onExport("copy")}>Copy as Markdown</MenuItem>
        <MenuItem onSelect={() => onExport("markdown")}>Save as Markdown</MenuItem>
        <MenuItem onSelect={() => onExport("html")}>Save as HTML</MenuItem>
        {listed && <SessionMenuItems session={listed} client={store.client} />}
      </Menu>
    </div>
  );
}
