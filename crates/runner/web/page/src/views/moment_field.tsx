import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { MomentUnit } from "../text/moments.js";

const HINTS: Record<MomentUnit, string> = { line: "a number, such as 120", byte: "a number, such as 4096", time: "a time, such as 1:30.5" };

interface Props {
  /** How the moment can be written; the first is chosen until another is. */
  readonly units: readonly MomentUnit[];
  readonly shown: (unit: MomentUnit) => string;
  /** Shows a moment that was written. Returns whether it is one. */
  readonly onWritten: (text: string, unit: MomentUnit) => boolean;
}

/** The moment that is shown, as a line, an offset or a time; another one can be written. */
export function MomentField({ units, shown, onWritten }: Props): JSX.Element {
  const [unit, setUnit] = useState<MomentUnit>(units[0]!);
  // What is being written, so that an update of the page does not replace it.
  const [written, write] = useState<string | null>(null);
  const [isWrong, setWrong] = useState(false);
  const go = (text: string) => {
    const isMoment = onWritten(text, unit);
    setWrong(!isMoment);
    if (isMoment) write(null);
  };
  const choose = (chosen: MomentUnit) => {
    setUnit(chosen);
    setWrong(false);
    write(null);
  };
  return (
    <span class="at-moment">
      <select aria-label="Unit of the moment" value={unit} onChange={(event) => choose(event.currentTarget.value as MomentUnit)}>
        {units.map((it) => (
          <option key={it} value={it}>
            {it}
          </option>
        ))}
      </select>
      <input
        aria-label={`Moment, as a ${unit}`}
        aria-invalid={isWrong}
        title={HINTS[unit]}
        inputMode={unit === "time" ? "text" : "numeric"}
        value={written ?? shown(unit)}
        onInput={(event) => write(event.currentTarget.value)}
        onChange={(event) => go(event.currentTarget.value)}
      />
      {isWrong && (
        <span class="bad" role="alert">
          Write {HINTS[unit]}
        </span>
      )}
    </span>
  );
}
