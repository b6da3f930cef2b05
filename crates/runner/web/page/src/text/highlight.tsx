import type { ComponentChild } from "preact";

/** Longest code that is highlighted, in characters. */
const MAX_LENGTH = 100_000;

const WORDS = new Set(
  (
    "abstract as async await bool boolean break case catch char class const continue crate def default del delete do " +
    "double elif else enum export extends extern false final finally float fn for from func function go goto guard if " +
    "impl implements import in include instanceof int interface internal is let long loop match mod module move mut " +
    "namespace new nil none None not null or and open override package pass private protected protocol pub public " +
    "raise ref return select self Self static str string struct super switch this throw throws trait true True False " +
    "try type typeof undefined union unsafe use var void volatile when where while with yield then fi done echo local"
  ).split(" "),
);

const HASH_COMMENTS = new Set(["sh", "bash", "zsh", "shell", "console", "py", "python", "rb", "ruby", "toml", "yaml", "yml", "make"]);

/**
 * Marks comments, strings, numbers and common keywords of a code block. It is one scanner for all languages, and
 * leaves plain what it does not know.
 */
export function highlight(code: string, language: string): ComponentChild {
  const name = language.toLowerCase();
  if (code.length > MAX_LENGTH || name === "" || name === "text" || name === "diff") return code;
  const hash = HASH_COMMENTS.has(name) ? "|#[^\\n]*" : "";
  const scanner = new RegExp(
    `(\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)${hash})` +
      `|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'|\`(?:[^\`\\\\]|\\\\.)*\`?)` +
      `|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`,
    "g",
  );
  const parts: ComponentChild[] = [];
  let plain = 0;
  for (const match of code.matchAll(scanner)) {
    const [text, comment, string, number] = match;
    const kind = comment ? "comment" : string ? "string" : number ? "number" : WORDS.has(text) ? "word" : null;
    if (!kind) continue;
    if (match.index > plain) parts.push(code.slice(plain, match.index));
    parts.push(<span class={`hl-${kind}`}>{text}</span>);
    plain = match.index + text.length;
  }
  parts.push(code.slice(plain));
  return parts;
}
