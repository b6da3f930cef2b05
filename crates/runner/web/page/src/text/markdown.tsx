import { Lexer, type Token, type Tokens } from "marked";
import { Component, type ComponentChild } from "preact";
import { highlight } from "./highlight.js";

/** Nesting beyond which Markdown is shown as it was written. */
const MAX_DEPTH = 32;

/** Longest text that is read as Markdown, in characters. */
export const MAX_MARKDOWN = 400_000;

/** Longest paragraph that is read as Markdown, in characters: the time of the lexer grows with its square. */
const MAX_PARAGRAPH = 6_000;

/** Blocks of a text, items of a list or rows of a table that are shown. */
const MAX_PARTS = 1_000;

interface Piece {
  readonly raw: string;
  readonly node: ComponentChild;
}

/**
 * Shows Markdown as elements, without a string of HTML at any place: HTML in it is text, and a link leads only to
 * http, https or mailto.
 *
 * A text that grows is read again from its last block on.
 */
export class Markdown extends Component<{ readonly text: string }> {
  #text = "";
  #pieces: Piece[] = [];

  override shouldComponentUpdate({ text }: { readonly text: string }): boolean {
    return text !== this.props.text;
  }

  override render({ text: written }: { readonly text: string }): ComponentChild {
    const text = written.replace(/\r\n?/g, "\n");
    this.#read(text);
    return (
      <div class="md">
        {this.#pieces.slice(0, MAX_PARTS).map(({ node }) => node)}
        {rest(this.#pieces.length)}
      </div>
    );
  }

  #read(text: string): void {
    let kept = 0;
    if (this.#text !== "" && text.startsWith(this.#text)) {
      // The last block may go on, and so may blank lines before it.
      this.#pieces.splice(-2);
      for (const { raw } of this.#pieces) kept += raw.length;
    } else this.#pieces = [];
    this.#text = text;
    for (const token of lex(text.slice(kept))) {
      this.#pieces.push({ raw: token.raw, node: block(token, 0) });
    }
  }
}

/** Reads a text, unless the lexer would take too long or recurse too deep. */
function lex(text: string): Token[] {
  const asWritten = () => [{ type: "plain", raw: text, text } as Tokens.Generic];
  const isDeep = DEEP.some((pattern) => pattern.test(text));
  if (isDeep || hasLongParagraph(text)) return asWritten();
  try {
    return new Lexer({ gfm: true, breaks: false }).lex(text);
  } catch {
    return asWritten();
  }
}

/** Deep nesting of blocks, of inline marks, and of indentation. */
const DEEP = [
  /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)]))(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){31}/m,
  /[[(*_~`\\|#]{200}/,
  /^[ \t]{200}/m,
];

/** Returns whether lines without a blank one between them are too long. Code blocks have none of a paragraph's marks. */
function hasLongParagraph(text: string): boolean {
  let [length, isCode] = [0, false];
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    const start = text.slice(at, Math.min(end, at + 8)).trimStart();
    if (start.startsWith("```") || start.startsWith("~~~")) isCode = !isCode;
    length = start === "" || isCode ? 0 : length + end - at;
    if (length > MAX_PARAGRAPH) return true;
    at = end + 1;
  }
  return false;
}

function block(token: Token, depth: number): ComponentChild {
  if (depth > MAX_DEPTH) return token.raw;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return <p>{inlines((token as Tokens.Paragraph).tokens, depth)}</p>;
    case "heading": {
      const { depth: level, tokens } = token as Tokens.Heading;
      // The page has the headings of the first two levels.
      const Tag = `h${Math.min(level + 2, 6)}` as "h3";
      return <Tag>{inlines(tokens, depth)}</Tag>;
    }
    case "code": {
      const { text, lang } = token as Tokens.Code;
      const language = /^[\w+#-]*/.exec(lang ?? "")![0];
      return (
        <pre tabIndex={0}>
          <code>{highlight(text, language)}</code>
        </pre>
      );
    }
    case "blockquote":
      return <blockquote>{(token as Tokens.Blockquote).tokens.map((it) => block(it, depth + 1))}</blockquote>;
    case "list":
      return list(token as Tokens.List, depth);
    case "table":
      return table(token as Tokens.Table, depth);
    case "hr":
      return <hr />;
    case "html":
      return <p>{token.raw}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inlines(tokens, depth) : text;
    }
    case "checkbox":
      return null;
    case "plain":
      return <pre>{token.raw}</pre>;
    default:
      return token.raw;
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): ComponentChild {
  const entries = items.slice(0, MAX_PARTS).map((item) => (
    <li class={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" disabled checked={item.checked === true} aria-label="Done" />}
      {item.tokens.map((it) => block(it, depth + 1))}
    </li>
  ));
  const shown = ordered ? <ol start={typeof start === "number" ? start : 1}>{entries}</ol> : <ul>{entries}</ul>;
  return [shown, rest(items.length)];
}

/** Says how many parts are not shown. */
function rest(length: number): ComponentChild {
  return length > MAX_PARTS ? <p class="why">{length - MAX_PARTS} more; copy the text to read them</p> : null;
}

function table({ header, rows, align }: Tokens.Table, depth: number): ComponentChild {
  const side = (at: number) => (align[at] ? { textAlign: align[at]! } : undefined);
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, at) => (
              <th style={side(at)}>{inlines(tokens, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_PARTS).map((row) => (
            <tr>
              {row.map(({ tokens }, at) => (
                <td style={side(at)}>{inlines(tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rest(rows.length)}
    </div>
  );
}

function inlines(tokens: readonly Token[] | undefined, depth: number): ComponentChild {
  return tokens?.map((token) => inline(token, depth + 1));
}

function inline(token: Token, depth: number): ComponentChild {
  if (depth > MAX_DEPTH) return token.raw;
  switch (token.type) {
    case "strong":
      return <strong>{inlines((token as Tokens.Strong).tokens, depth)}</strong>;
    case "em":
      return <em>{inlines((token as Tokens.Em).tokens, depth)}</em>;
    case "del":
      return <del>{inlines((token as Tokens.Del).tokens, depth)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      const target = safeTarget(href);
      if (!target) return inlines(tokens, depth);
      return (
        <a href={target} target="_blank" rel="noopener noreferrer">
          {inlines(tokens, depth)}
        </a>
      );
    }
    case "image": {
      // An image of another host would tell it that the page was read.
      const { text, href } = token as Tokens.Image;
      return `[image ${text || href}]`;
    }
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inlines(tokens, depth) : text;
    }
    case "escape":
      return (token as Tokens.Escape).text;
    default:
      return token.raw;
  }
}

/** Returns the target of a link if it is one that a reader may follow. */
export function safeTarget(href: string): string | null {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
