import type { Block, Call, CallContent, Entry, Transcript } from "@bowline/client";
import { plain } from "./format.js";

/** Returns a transcript, or one entry of it, as Markdown. */
export function exportMarkdown(transcript: Transcript, title: string, entries: readonly Entry[] = transcript.entries()): string {
  const isWhole = entries.length !== 1;
  const parts = entries.flatMap((entry) => markdownOf(entry, transcript, 0));
  return `${[...(isWhole ? [`# ${title}`] : []), ...parts].join("\n\n")}\n`;
}

function markdownOf(entry: Entry, transcript: Transcript, depth: number): string[] {
  const { value } = entry;
  switch (value.kind) {
    case "user":
      return [quote(value.text, depth > 0 || value.synthetic ? "Brief" : "Prompt")];
    case "assistant":
      return entry.blocks.flatMap((block) => blockMarkdown(block, transcript, depth));
    case "result": {
      const text = value.outcome === "completed" ? "" : `: ${value.text ?? ""}`;
      return [`*Turn ${value.outcome}${text}*`, "---"];
    }
    case "notice":
      return [`*${oneLine(value.text || value.notice)}*`];
    default:
      return [`**Error:** ${oneLine(value.text)}`];
  }
}

function blockMarkdown({ value }: Block, transcript: Transcript, depth: number): string[] {
  switch (value.type) {
    case "text":
      return value.text === "" ? [] : [value.text];
    case "thinking":
      return value.text === "" ? [] : [quote(value.text, "Thought")];
    case "tool_call": {
      const call = transcript.call(value.id);
      return call ? [callMarkdown(call, transcript, depth)] : [];
    }
    default:
      return [];
  }
}

function callMarkdown({ value }: Call, transcript: Transcript, depth: number): string {
  const title = oneLine(value.title ?? "");
  const parts = [`**${oneLine(value.name)}** ${title === "" ? "" : `\`${title.replaceAll("`", "ʼ")}\` `}(${value.state})`];
  for (const content of value.content) parts.push(...contentMarkdown(content));
  if (value.subagent) {
    const thread = transcript.entries(value.id).flatMap((entry) => markdownOf(entry, transcript, depth + 1));
    parts.push(thread.join("\n\n").replace(/^/gm, "> "));
  }
  const result = value.result?.text ?? value.output;
  if (result && !value.subagent) parts.push(fenced(result, ""));
  return parts.join("\n\n");
}

function contentMarkdown(content: CallContent): string[] {
  if (content.type === "terminal" && content.command !== null) return [fenced(content.command, "sh")];
  if (content.type !== "diff") return [];
  if (content.patch !== null) return [fenced(content.patch, "diff")];
  const side = (text: string | null, sign: string) => (text ?? "").split("\n").map((line) => sign + line).join("\n");
  return [fenced(`--- ${content.path}\n${side(content.old, "-")}\n${side(content.new, "+")}`, "diff")];
}

/** A code block whose fence does not occur in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function quote(text: string, label: string): string {
  return `> **${label}**\n>\n${text.replace(/^/gm, "> ")}`;
}

function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}

const STYLE = `:root{color-scheme:light dark}body{max-width:760px;margin:40px auto;padding:0 20px;font:15px/23px system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:22px}.you{font-weight:600;white-space:pre-wrap}.text{white-space:pre-wrap}.faint{color:color-mix(in srgb,currentColor 62%,transparent);font-size:13px}
pre{white-space:pre-wrap;font:12.5px/18px ui-monospace,monospace;padding:8px 12px;border:1px solid color-mix(in srgb,currentColor 18%,transparent);border-radius:6px;max-height:420px;overflow:auto}
details{margin:6px 0}summary{cursor:pointer}.sub{border-left:1px solid color-mix(in srgb,currentColor 30%,transparent);padding-left:14px}.bad{color:#c0392b}hr{border:0;border-top:1px solid color-mix(in srgb,currentColor 18%,transparent)}`;

/** Returns a transcript as one file of HTML, without script: it opens in any browser, and asks no server for anything. */
export function exportHtml(transcript: Transcript, title: string): string {
  const body = transcript.entries().map((entry) => htmlOf(entry, transcript, 0)).join("\n");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body>
<h1>${escaped(title)}</h1>
${body}
</body></html>
`;
}

function htmlOf(entry: Entry, transcript: Transcript, depth: number): string {
  const { value } = entry;
  switch (value.kind) {
    case "user":
      return `<p class="${depth > 0 || value.synthetic ? "faint text" : "you"}">${escaped(value.text)}</p>`;
    case "assistant":
      return entry.blocks.map((block) => blockHtml(block, transcript, depth)).join("\n");
    case "result":
      return `<p class="faint${value.is_error ? " bad" : ""}">turn ${escaped(value.outcome)}${value.is_error ? `: ${escaped(value.text ?? "")}` : ""}</p><hr>`;
    case "notice":
      return `<p class="faint">${escaped(value.text || value.notice)}</p>`;
    default:
      return `<p class="bad">${escaped(value.text)}</p>`;
  }
}

function blockHtml({ value }: Block, transcript: Transcript, depth: number): string {
  if (value.type === "text") return `<div class="text">${escaped(value.text)}</div>`;
  if (value.type === "thinking") return `<details class="faint"><summary>Thought</summary><div class="text">${escaped(value.text)}</div></details>`;
  const call = value.type === "tool_call" ? transcript.call(value.id) : undefined;
  return call ? callHtml(call, transcript, depth) : "";
}

function callHtml({ value }: Call, transcript: Transcript, depth: number): string {
  const parts = value.content.flatMap((content) => {
    if (content.type === "terminal" && content.command !== null) return [content.command];
    if (content.type === "diff") return [`${content.path}\n${content.patch ?? `- ${content.old ?? ""}\n+ ${content.new ?? ""}`}`];
    return [];
  });
  const result = value.subagent ? null : (value.result?.text ?? value.output);
  const thread = value.subagent ? `<div class="sub">${transcript.entries(value.id).map((entry) => htmlOf(entry, transcript, depth + 1)).join("\n")}</div>` : "";
  const blocks = [...parts, ...(result ? [result] : [])].map((text) => `<pre>${escaped(text)}</pre>`).join("");
  const isBad = value.state === "failed" || value.state === "lost";
  return `<details><summary${isBad ? ' class="bad"' : ""}>${escaped(value.name)} <code>${escaped(value.title ?? "")}</code> <span class="faint">${escaped(value.state)}</span></summary>${blocks}${thread}</details>`;
}

/** Text in HTML. Control and bidirectional characters are shown as what they are. */
function escaped(text: string): string {
  return plain(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
