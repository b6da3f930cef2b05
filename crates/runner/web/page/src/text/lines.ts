/** A row is shown as JSON if it is not longer, in characters. */
const MAX_PRETTY = 200_000;

/** Returns lines as indented JSON, each after a blank line; one that is not JSON as it is. */
export function pretty(text: string): string {
  if (text.length > MAX_PRETTY) return text;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map(prettyLine).join("\n\n");
}

function prettyLine(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}

/** The name of a line without what all lines of its kind share. */
export function shortKind(kind: string): string {
  return kind.replace(/^stream_event\//, "");
}
