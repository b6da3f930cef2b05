import type { ComponentChild, JSX } from "preact";
import { useState } from "preact/hooks";
import { count, plain } from "../text/format.js";
import type { MarkedText } from "../text/lines.js";

/** Longest text that is shown at once, in characters. Layout of more would hold up the page. */
const MAX_LENGTH = 20_000;

/** Characters that a reader sees more at each request. */
const STEP = 200_000;

/** Shows the beginning and the end of a long text; `show` makes elements of a part, which begins at `from`. */
export function Long({ text, show = plain }: { readonly text: string; readonly show?: (part: string, from: number) => ComponentChild }): JSX.Element {
  const [length, setLength] = useState(MAX_LENGTH);
  const hidden = text.length - length;
  if (hidden <= 0) return <>{show(text, 0)}</>;
  const tail = MAX_LENGTH / 4;
  return (
    <>
      {show(text.slice(0, length - tail), 0)}
      <button class="more" onClick={() => setLength(length + STEP)}>
        {count(hidden)} more characters
      </button>
      {show(text.slice(-tail), text.length - tail)}
    </>
  );
}

interface OutputProps {
  readonly text: string;
  readonly label: string;
  readonly isError?: boolean;
  /** Where marked parts of the text begin and end, in order. */
  readonly marks?: MarkedText["marks"];
}

/** Text in fixed width. */
export function Output({ text, label, isError = false, marks = [] }: OutputProps): JSX.Element | null {
  if (text === "") return null;
  return (
    <pre class={isError ? "bad" : undefined} tabIndex={0} role="region" aria-label={label}>
      <Long text={text} show={(part, from) => marked(part, from, marks)} />
    </pre>
  );
}

/** Makes elements of a part of a text, which begins at `from`. */
function marked(part: string, from: number, marks: MarkedText["marks"]): ComponentChild {
  const shown: ComponentChild[] = [];
  let at = 0;
  for (const [begin, end] of marks) {
    const [first, last] = [Math.max(at, begin - from), Math.min(part.length, end - from)];
    if (first >= last) continue;
    shown.push(plain(part.slice(at, first)), <mark>{plain(part.slice(first, last))}</mark>);
    at = last;
  }
  return [...shown, plain(part.slice(at))];
}
