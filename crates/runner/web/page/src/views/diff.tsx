import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { diffLines, nearChanges, readPatch, type DiffLine } from "../text/diff.js";

/** Longest texts that are compared, in characters; of longer ones the new text is shown. */
const MAX_LENGTH = 500_000;

/** Longest part of a line that is shown, in characters. */
const MAX_TEXT = 2_000;

/** Lines of a diff that are shown at first. */
const MAX_LINES = 400;

interface Props {
  readonly old: string | null;
  readonly new: string | null;
  readonly patch: string | null;
}

/** Returns the lines of a diff with three lines of context, and how many lines were added and removed. */
export function useDiff({ old, new: now, patch }: Props): { lines: (DiffLine | null)[]; added: number; removed: number } {
  return useMemo(() => {
    const isTooLong = (old?.length ?? 0) + (now?.length ?? 0) > MAX_LENGTH;
    const all = patch !== null ? readPatch(patch) : isTooLong ? diffLines("", now ?? "") : diffLines(old ?? "", now ?? "");
    const number = (kind: DiffLine["kind"]) => all.filter((line) => line.kind === kind).length;
    return { lines: nearChanges(all, 3), added: number("added"), removed: number("removed") };
  }, [old, now, patch]);
}

/** A diff, by lines and words. */
export function Diff(props: Props & { readonly label: string }): JSX.Element {
  const { lines } = useDiff(props);
  const shown = lines.slice(0, MAX_LINES);
  return (
    <div class="diff" tabIndex={0} role="region" aria-label={props.label}>
      <table>
        <tbody>
          {shown.map((line) => (line ? <Line {...line} /> : <tr class="gap"><td colSpan={4}>⋯</td></tr>))}
          {lines.length > shown.length && (
            <tr class="gap">
              <td colSpan={4}>{lines.length - shown.length} more lines</td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function Line({ kind, old, new: now, text, words }: DiffLine): JSX.Element {
  const Tag = kind === "added" ? "ins" : kind === "removed" ? "del" : "span";
  const sign = kind === "added" ? "+" : kind === "removed" ? "−" : "";
  const content = words?.map((part) => (part.kind === "same" ? part.text : <mark>{part.text}</mark>)) ?? (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
  return (
    <tr class={kind}>
      <td class="ln">{old}</td>
      <td class="ln">{now}</td>
      <td class="sign" aria-hidden>
        {sign}
      </td>
      <td>
        <Tag>{content}</Tag>
      </td>
    </tr>
  );
}
