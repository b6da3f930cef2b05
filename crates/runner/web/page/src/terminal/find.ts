/** A line of a terminal's buffer. */
export interface BufferLine {
  readonly isWrapped: boolean;
  /** The text, without blanks at its end if it is the last row of a line. */
  text(isLast: boolean): string;
}

/** A place in the buffer. */
export interface Match {
  readonly row: number;
  /** Offset of the first character in the row's text. */
  readonly at: number;
  readonly length: number;
}

/** Maximum number of places that are found. */
export const MAX_MATCHES = 1_000;

/** Finds a text in the lines of a buffer, in any case, also where a line is wrapped. */
export function find(lines: { readonly length: number; line(row: number): BufferLine | undefined }, wanted: string): Match[] {
  const matches: Match[] = [];
  const needle = wanted.toLowerCase();
  if (needle === "") return matches;
  for (let row = 0; row < lines.length && matches.length < MAX_MATCHES; ) {
    const first = row;
    const parts: string[] = [];
    do {
      const isLast = lines.line(row + 1)?.isWrapped !== true;
      parts.push(lines.line(row)?.text(isLast) ?? "");
      row += 1;
    } while (row < lines.length && lines.line(row)?.isWrapped === true);
    const text = parts.join("").toLowerCase();
    for (let at = text.indexOf(needle); at >= 0 && matches.length < MAX_MATCHES; at = text.indexOf(needle, at + needle.length)) {
      matches.push({ ...place(parts, first, at), length: needle.length });
    }
  }
  return matches;
}

function place(parts: readonly string[], first: number, at: number): { row: number; at: number } {
  let [row, rest] = [0, at];
  while (row < parts.length - 1 && rest >= parts[row]!.length) {
    rest -= parts[row]!.length;
    row += 1;
  }
  return { row: first + row, at: rest };
}
