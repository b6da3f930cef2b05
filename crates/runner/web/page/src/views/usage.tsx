import type { Timeline } from "@bowline/client";
import type { JSX } from "preact";
import type { PastTranscript } from "../state/past_transcript.js";
import { useStore } from "../state/store.js";
import { cost, count, elapsed, line } from "../text/format.js";

/** Calls that are listed; the newest ones. */
const MAX_LISTED = 200;

/** Tokens of each model call, the cost of each turn, and how full the context is. */
export function UsageTable({ store, onEntry }: { readonly store: PastTranscript; readonly onEntry: (entry: number) => void }): JSX.Element {
  useStore(store);
  const { timeline } = store;
  if (!timeline) return <p class="empty">The runner has no timeline of this session.</p>;
  const calls = timeline.model_calls.slice(-MAX_LISTED);
  return (
    <div class="usage" role="region" aria-label="Usage" tabIndex={0}>
      <Context timeline={timeline} />
      <h3>Turns</h3>
      <table>
        <thead>
          <tr>
            <th>turn</th>
            <th>time</th>
            <th>end</th>
            <th>cost</th>
          </tr>
        </thead>
        <tbody>
          {timeline.turns.slice(-MAX_LISTED).map((turn) => (
            <tr key={turn.entry}>
              <td>
                <button class="link" onClick={() => onEntry(turn.entry)}>
                  {line(turn.turn.length > 8 ? `${turn.turn.slice(0, 8)}…` : turn.turn)}
                </button>
              </td>
              <td>{lasted(turn)}</td>
              <td>{turn.outcome ?? "open"}</td>
              <td>{turn.cost_usd === null ? "" : cost(turn.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Model calls</h3>
      {timeline.model_calls.length > calls.length && <p class="why">The last {MAX_LISTED} of {count(timeline.model_calls.length)}.</p>}
      <table>
        <thead>
          <tr>
            <th>model</th>
            <th>time</th>
            <th>in</th>
            <th>cache</th>
            <th>out</th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <tr key={call.entry} class={call.thread === null ? "" : "nested"}>
              <td>
                <button class="link" disabled={call.thread !== null} onClick={() => onEntry(call.entry)}>
                  {line(call.model ?? "model")}
                </button>
              </td>
              <td>{lasted(call)}</td>
              <td>{call.usage ? count(call.usage.input_tokens + call.usage.cache_creation_tokens) : ""}</td>
              <td>{call.usage ? count(call.usage.cache_read_tokens) : ""}</td>
              <td>{call.usage?.output_tokens != null ? count(call.usage.output_tokens) : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function lasted({ from_ms, to_ms }: { readonly from_ms: number | null; readonly to_ms: number | null }): string {
  return from_ms === null || to_ms === null ? "" : elapsed(to_ms - from_ms);
}

function Context({ timeline }: { readonly timeline: Timeline }): JSX.Element | null {
  const last = timeline.context.at(-1);
  if (!last) return null;
  return (
    <p class="context-now">
      Context: {count(last.used)} tokens
      {last.size !== null && ` of ${count(last.size)} (${Math.round((100 * last.used) / last.size)} %)`}
      {timeline.compactions.length > 0 && `, compacted ${timeline.compactions.length} times`}
    </p>
  );
}
