import type { Client, Scrollback, ScrollbackPage } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Screen } from "../terminal/screen.js";
import { count, plain } from "../text/format.js";
import { loadScreen } from "./load_screen.js";

/** Lines that are shown at once. */
const LINES = 2_000;

interface Props {
  readonly client: Client;
  readonly session: string;
  /** Lines above the screen that the terminal has. */
  readonly skip: number;
  readonly onClose: () => void;
}

/** The lines above those that a terminal keeps, by page. */
export function TerminalLines({ client, session, skip, onClose }: Props): JSX.Element {
  const parent = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const [pages, setPages] = useState<readonly ScrollbackPage[]>([{ skip, lines: LINES }]);
  const [found, setFound] = useState<Scrollback | null>(null);
  const [error, setError] = useState<string | null>(null);
  const page = pages.at(-1)!;
  useEffect(() => {
    const abort = new AbortController();
    const read = async () => {
      const [{ Screen }, lines] = await Promise.all([loadScreen(), client.scrollback(session, page, abort.signal)]);
      if (abort.signal.aborted) return;
      screen.current ??= new Screen(parent.current!, { label: "Earlier lines", onInput: () => {} });
      const size = screen.current.fitting() ?? { cols: 80, rows: 24 };
      screen.current.replace(new TextEncoder().encode(lines.lines.join("\r\n")), size);
      setError(null);
      setFound(lines);
    };
    read().catch((cause: unknown) => {
      if (!abort.signal.aborted) setError(cause instanceof Error ? cause.message : String(cause));
    });
    return () => abort.abort();
  }, [client, session, page]);
  useEffect(() => () => screen.current?.dispose(), []);
  const older = found?.older ?? null;
  return (
    <section class="terminal-past" aria-label="Earlier lines">
      <div class="screen read" ref={parent} />
      <div class="past-tools">
        <div class="replay">
          <button class="ghost" disabled={older === null} onClick={() => older && setPages([...pages, { ...older, lines: LINES }])}>
            Older
          </button>
          <button class="ghost" disabled={pages.length === 1} onClick={() => setPages(pages.slice(0, -1))}>
            Newer
          </button>
          <span class="why" role="status">
            {found && said(found)}
          </span>
          {error && (
            <span class="bad" role="alert">
              {plain(error)}
            </span>
          )}
          <button class="now" onClick={onClose}>
            Back to the terminal
          </button>
        </div>
      </div>
    </section>
  );
}

function said({ lines, older, lost }: Scrollback): string {
  if (lines.length === 0) return lost ? "Older lines are not recorded any more." : "There are no older lines.";
  const text = `${count(lines.length)} lines`;
  if (lost) return `${text}; older ones are not recorded any more`;
  return older === null ? `${text}, from the beginning` : text;
}
