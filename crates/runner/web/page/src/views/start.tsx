import type { AgentOnMachine, Client, NewSession } from "@bowline/client";
import type { JSX } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import { splitTools } from "../text/tools.js";
import { plain } from "../text/format.js";
import { ActionsContext } from "./actions.js";

/** Pause in writing after which folders are asked for, in milliseconds. */
const PAUSE_MS = 120;

/** What was chosen last, for the next form. */
const LAST = "last start";

interface Draft {
  readonly agent: string;
  readonly cwd: string;
  readonly prompt: string;
  readonly model: string;
  readonly mode: string;
  readonly tools: string;
  readonly budget: string;
  readonly name: string;
}

const EMPTY: Draft = { agent: "claude", cwd: "", prompt: "", model: "", mode: "", tools: "", budget: "", name: "" };

/** Modes that Claude Code and Qwen Code have; another agent's own one can be written. */
const MODES = ["default", "plan", "acceptEdits", "dontAsk", "bypassPermissions"];

/** A form that starts a session. */
export function Start({ client, onClose }: { readonly client: Client; readonly onClose: () => void }): JSX.Element {
  const actions = useContext(ActionsContext)!;
  const [draft, setDraft] = useState<Draft>(lastDraft);
  const [isStarting, setStarting] = useState(false);
  const [hasMore, showMore] = useState(false);
  const { agents, error } = useAgents(client);
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const start = async (event: Event) => {
    event.preventDefault();
    if (isStarting) return;
    setStarting(true);
    const { agent, cwd, model, mode, tools } = draft;
    localStorage.setItem(LAST, JSON.stringify({ agent, cwd, model, mode, tools }));
    await actions.start(request(draft));
    setStarting(false);
  };
  useEffect(() => {
    const installed = agents.find(({ path }) => path !== null);
    const isThere = agents.some(({ name, path }) => name === draft.agent && path !== null);
    if (installed && !isThere) set({ agent: installed.name });
  }, [agents]);
  const chosen = agents.find(({ name }) => name === draft.agent);
  return (
    <main id="main" tabIndex={-1} class="form">
      <form onSubmit={(event) => void start(event)} aria-labelledby="start-title">
        <header>
          <h1 id="start-title">New session</h1>
          <button type="button" class="ghost" onClick={onClose}>
            Close
          </button>
        </header>
        <fieldset class="agents">
          <legend class="vh">Agent</legend>
          {agents.map((agent) => (
            <label class={agent.path === null ? "absent" : undefined} title={agent.path ?? agent.install}>
              <input type="radio" name="agent" value={agent.name} checked={agent.name === draft.agent} onChange={() => set({ agent: agent.name })} />
              <span>{agent.name}</span>
            </label>
          ))}
        </fieldset>
        {error && (
          <p class="bad" role="alert">
            {error}
          </p>
        )}
        {chosen?.path === null && (
          <p class="why" role="status">
            {chosen.name} is not installed; run <code>{chosen.install}</code> on the runner's machine.
          </p>
        )}
        <label class="field">
          Prompt
          <textarea autoFocus rows={5} value={draft.prompt} placeholder="What is to be done" onInput={(event) => set({ prompt: event.currentTarget.value })} />
        </label>
        <Folder client={client} value={draft.cwd} onChange={(cwd) => set({ cwd })} />
        <button type="button" class="ghost toggle" aria-expanded={hasMore} onClick={() => showMore(!hasMore)}>
          {hasMore ? "Fewer options" : "More options"}
        </button>
        {hasMore && (
          <div class="grid">
            <label class="field">
              Model
              <input value={draft.model} placeholder="the agent's own" onInput={(event) => set({ model: event.currentTarget.value })} />
            </label>
            <label class="field">
              Permission mode
              <input list="modes" value={draft.mode} placeholder="the agent's own" onInput={(event) => set({ mode: event.currentTarget.value })} />
              <datalist id="modes">
                {MODES.map((mode) => (
                  <option value={mode} />
                ))}
              </datalist>
            </label>
            <label class="field">
              Tools that need no permission
              <input value={draft.tools} placeholder="Read, Bash(git status)" onInput={(event) => set({ tools: event.currentTarget.value })} />
            </label>
            <label class="field">
              Budget in US dollars
              <input inputMode="decimal" pattern="[0-9]*[.]?[0-9]+" value={draft.budget} placeholder="no limit" onInput={(event) => set({ budget: event.currentTarget.value })} />
            </label>
            <label class="field">
              Name
              <input value={draft.name} placeholder="from the prompt" onInput={(event) => set({ name: event.currentTarget.value })} />
            </label>
          </div>
        )}
        <footer>
          <button class="primary" disabled={isStarting}>
            {isStarting ? "Starting…" : "Start"}
          </button>
        </footer>
      </form>
    </main>
  );
}

/** A field for a folder of the runner's machine, with completion. */
function Folder({ client, value, onChange }: { readonly client: Client; readonly value: string; readonly onChange: (value: string) => void }): JSX.Element {
  const [folders, setFolders] = useState<readonly string[]>([]);
  const [at, setAt] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const wanted = client.folders(value === "" ? "~/" : value, abort.signal);
      // A folder that is written whole is no choice, and a list of it alone would cover what is below.
      wanted.then((all) => setFolders(all.filter((it) => it !== value)), () => setFolders([]));
      setAt(-1);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [value, isOpen]);
  const choose = (folder: string) => {
    // The next part of the path can be written at once.
    onChange(`${folder}/`);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const shown = isOpen && folders.length > 0;
    if (event.key === "ArrowDown" && shown) setAt((at + 1) % folders.length);
    else if (event.key === "ArrowUp" && shown) setAt((at + folders.length - 1) % folders.length);
    else if (event.key === "Enter" && shown && at >= 0) choose(folders[at]!);
    else if (event.key === "Escape" && shown) setOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <div class="field folder">
      <label for={id}>Folder</label>
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-expanded={isOpen && folders.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={value}
        placeholder="the runner's home folder"
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onInput={(event) => {
          setOpen(true);
          onChange(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Folders" hidden={!isOpen || folders.length === 0}>
        {folders.map((folder, index) => (
          <li key={folder} id={`${id}-${index}`} role="option" aria-selected={index === at} onPointerDown={(event) => (event.preventDefault(), choose(folder))}>
            {plain(folder)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function useAgents(client: Client): { readonly agents: readonly AgentOnMachine[]; readonly error: string | null } {
  const [agents, setAgents] = useState<readonly AgentOnMachine[]>([]);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    client.agents().then(
      (all) => setAgents([...all].sort((a, b) => Number(a.path === null) - Number(b.path === null))),
      (cause: unknown) => setError(cause instanceof Error ? cause.message : String(cause)),
    );
  }, [client]);
  return { agents, error };
}

function lastDraft(): Draft {
  try {
    return { ...EMPTY, ...(JSON.parse(localStorage.getItem(LAST) ?? "{}") as Partial<Draft>) };
  } catch {
    return EMPTY;
  }
}

function request({ agent, cwd, prompt, model, mode, tools, budget, name }: Draft): NewSession {
  const folder = cwd.replace(/(.)\/+$/, "$1");
  return {
    agent,
    ...(folder === "" ? {} : { cwd: folder }),
    ...(prompt.trim() === "" ? {} : { prompt }),
    ...(model === "" ? {} : { model }),
    ...(mode === "" ? {} : { mode }),
    ...(tools.trim() === "" ? {} : { allowed_tools: splitTools(tools) }),
    ...(budget === "" ? {} : { budget: { cost_usd: Number(budget) } }),
    ...(name.trim() === "" ? {} : { name: name.trim() }),
  };
}
