/** Returns a duration in milliseconds as text, such as `0.7 s`, `22 s` or `3 min`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

/** Returns how long something took as text; what was short in milliseconds. */
export function elapsed(ms: number): string {
  return ms < 100 ? `${Math.round(Math.max(0, ms))} ms` : duration(ms);
}

const NARROW_SPACE = "\u202f";

/** Returns a number with its digits in groups of three. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}

/** Returns a cost in US dollars. */
export function cost(usd: number): string {
  return `$${usd.toFixed(usd < 0.1 && usd > 0 ? 3 : 2)}`;
}

/** Returns a path with the home folder as `~`. */
export function shortPath(path: string): string {
  return path.replace(/^\/(?:home|Users)\/[^/]+/, "~").replace(/^\/root(?=\/|$)/, "~");
}

/** Longest text of one line, in characters. */
const MAX_LINE = 300;

/** Returns the first line of a text, cut to a length that fits no screen, with {@link plain} characters. */
export function line(text: string): string {
  const first = text.slice(0, MAX_LINE + 1).split("\n")[0]!;
  return plain(first.length > MAX_LINE ? `${first.slice(0, MAX_LINE)}…` : first);
}

/** Makes control and bidirectional characters visible, so that a name cannot pretend to be something else. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    return `\\u{${c.codePointAt(0)!.toString(16)}}`;
  });
}
