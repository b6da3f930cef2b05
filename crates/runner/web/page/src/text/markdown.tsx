import { Lexer, type Token, type Tokens } from "marked";
import { Component, type ComponentChild } from "preact";
import { highlight } from "./highlight.js";

/** Nesting beyond which Markdown is shown as it was written. */
const MAX_DEPTH = 32;

/** Longest text that is read as Markdown, in characters; a longer one is shown as it was written. */
const MAX_LENGTH = 400_000;

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

  override render({ text }: { readonly text: string }): ComponentChild {
    if (text.length > MAX_LENGTH) return <pre>{text}</pre>;
    this.#read(text);
    return <div class="md">{this.#pieces.map(({ node }) => node)}</div>;
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

/** Limits the nesting before the lexer sees it, which is recursive. */
function lex(text: string): Token[] {
  const deep = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)]))(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){31}/m;
  const isDeep = deep.test(text) || /[[(*_~]{200}/.test(text) || /^[ \t]{200}/m.test(text);
  if (isDeep) return [{ type: "plain", raw: text, text } as Tokens.Generic];
  try {
    return new Lexer({ gfm: true, breaks: false }).lex(text);
  } catch {
    return [{ type: "plain", raw: text, text } as Tokens.Generic];
  }
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
  const entries = items.map((item) => (
    <li class={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" disabled checked={item.checked === true} aria-label="Done" />}
      {item.tokens.map((it) => block(it, depth + 1))}
    </li>
  ));
  return ordered ? <ol start={typeof start === "number" ? start : 1}>{entries}</ol> : <ul>{entries}</ul>;
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
          {rows.map((row) => (
            <tr>
              {row.map(({ tokens }, at) => (
                <td style={side(at)}>{inlines(tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
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
