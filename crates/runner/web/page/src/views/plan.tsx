import type { TaskValue, Transcript } from "@bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { line } from "../text/format.js";
import { Icon, type IconName } from "./icon.js";

const STEPS: Record<string, readonly [IconName, string]> = {
  pending: ["idle", "to do"],
  in_progress: ["run", "in progress"],
  completed: ["ok", "done"],
};

/** Returns the tasks in the background that have not ended, by their ids. */
export function openTasks({ tasks }: Transcript): readonly (readonly [string, TaskValue])[] {
  return [...tasks].filter(([, { state }]) => state === "running" || state === "pending");
}

interface Props {
  readonly transcript: Transcript;
  /** Called with the id of a task that is to be stopped. */
  readonly onStop: (task: string) => void;
}

/** The agent's plan, and its tasks in the background, of which one line is shown until it is opened. */
export function Plan({ transcript, onStop }: Props): JSX.Element | null {
  const [isOpen, open] = useState(false);
  const plan = transcript.session?.plan ?? [];
  const tasks = openTasks(transcript);
  if (plan.length === 0 && tasks.length === 0) return null;
  const done = plan.filter(({ state }) => state === "completed").length;
  const current = plan.find(({ state }) => state === "in_progress") ?? plan.find(({ state }) => state === "pending");
  return (
    <section class="plan" aria-label="Plan and tasks">
      <button class="head" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        {plan.length > 0 && (
          <b>
            {done} of {plan.length}
          </b>
        )}
        {current && <span class="title">{line(current.text)}</span>}
        {tasks.length > 0 && <span class="why">{tasks.length === 1 ? "1 task in the background" : `${tasks.length} tasks in the background`}</span>}
      </button>
      {isOpen && (
        <ul>
          {plan.map(({ text, state }) => (
            <li class={state}>
              <Icon name={STEPS[state]?.[0] ?? "idle"} label={STEPS[state]?.[1] ?? state} />
              <span>{line(text)}</span>
            </li>
          ))}
          {tasks.map(([id, task]) => (
            <li key={id}>
              <Icon name="run" label="task in the background" />
              <span>{line(task.description ?? task.kind ?? id)}</span>
              <button class="ghost" aria-label={`Stop ${line(task.description ?? id)}`} onClick={() => onStop(id)}>
                Stop
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
