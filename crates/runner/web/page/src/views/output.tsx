import type { ComponentChild, JSX } from "preact";
import { useState } from "preact/hooks";
import { count, plain } from "../text/format.js";

/** Longest text that is shown at once, in characters. Layout of more would hold up the page. */
const MAX_LENGTH = 20_000;

/** Characters that a reader sees more at each request. */
const STEP = 200_000;

/** Shows the beginning and the end of a long text; `show` makes elements of a part. */
export function Long({ text, show = plain }: { readonly text: string; readonly show?: (part: string) => ComponentChild }): JSX.Element {
  const [length, setLength] = useState(MAX_LENGTH);
  const hidden = text.length - length;
  if (hidden <= 0) return <>{show(text)}</>;
  const tail = MAX_LENGTH / 4;
  return (
    <>
      {show(text.slice(0, length - tail))}
      <button class="more" onClick={() => setLength(length + STEP)}>
        {count(hidden)} more characters
      </button>
      {show(text.slice(-tail))}
    </>
  );
}

/** Text in fixed width. */
export function Output({ text, label, isError = false }: { readonly text: string; readonly label: string; readonly isError?: boolean }): JSX.Element | null {
  if (text === "") return null;
  return (
    <pre class={isError ? "bad" : undefined} tabIndex={0} role="region" aria-label={label}>
      <Long text={text} />
    </pre>
  );
}
