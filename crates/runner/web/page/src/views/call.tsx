import type { Call, CallContent, CallState, CallValue, TokenUsage, Transcript } from "@bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { count, elapsed, line } from "../text/format.js";
import { Diff, useDiff } from "./diff.js";
import { Entries } from "./entry.js";
import { Icon, type IconName } from "./icon.js";
import { Images } from "./images.js";
import { Output } from "./output.js";

const ICONS: Record<CallState, readonly [IconName, string]> = {
  pending: ["run", "being written"],
  awaiting_permission: ["ask", "waits for permission"],
  running: ["run", "running"],
  succeeded: ["ok", "succeeded"],
  failed: ["bad", "failed"],
  interrupted: ["bad", "interrupted"],
  lost: ["bad", "lost"],
};

interface Props {
  readonly call: Call;
  readonly transcript: Transcript;
  readonly depth: number;
}

/** A tool call: one line, and below it what it does, prints and returns, and the thread of its sub-agent. */
export function ToolCall({ call, transcript, depth }: Props): JSX.Element {
  const { value } = call;
  const [icon, label] = ICONS[value.state] ?? ["notice", value.state];
  const isOpenByItself = value.state === "failed" || value.state === "running" || value.subagent !== null;
  const [chosen, choose] = useState<boolean | null>(null);
  const isOpen = chosen ?? (isOpenByItself && depth < 4);
  const diff = value.content.find((it) => it.type === "diff");
  return (
    <div class={`call ${value.state}`}>
      <button class="head" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
        <Icon name={icon} label={label} />
        <b>{line(value.name)}</b>
        <CallTitle value={value} />
        {diff && <DiffCount content={diff} />}
        {value.exit_code !== null && value.exit_code !== 0 && <span class="why">exit {value.exit_code}</span>}
        {value.subagent?.usage && <span class="why">{count(totalTokens(value.subagent.usage))} tokens</span>}
        <Elapsed value={value} />
      </button>
      {isOpen && <Body call={call} transcript={transcript} depth={depth} />}
    </div>
  );
}

/** What the call does: a command or path in fixed width, otherwise words. */
export function CallTitle({ value }: { readonly value: CallValue }): JSX.Element {
  const isCode = value.kind !== "think" && value.kind !== "other" && value.kind !== null;
  const title = line(value.title ?? "");
  return isCode ? <code class="title">{title}</code> : <span class="title">{title}</span>;
}

function totalTokens({ input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens }: TokenUsage): number {
  return input_tokens + output_tokens + cache_read_tokens + cache_creation_tokens;
}

function DiffCount({ content }: { readonly content: Extract<CallContent, { type: "diff" }> }): JSX.Element {
  const { added, removed } = useDiff(content);
  return (
    <span class="count">
      <ins>+{added}</ins> <del>−{removed}</del>
    </span>
  );
}

function Elapsed({ value }: { readonly value: CallValue }): JSX.Element | null {
  if (value.started_ms === null || value.ended_ms === null) return null;
  return <time>{elapsed(value.ended_ms - value.started_ms)}</time>;
}

function Body({ call, transcript, depth }: Props): JSX.Element {
  const { value } = call;
  const name = line(value.name);
  const hasContent = value.content.some((it) => it.type !== "text");
  return (
    <div class="detail">
      {value.content.map((content) => <Content content={content} name={name} />)}
      {!hasContent && value.input !== null && !value.subagent && <Output text={inputText(value.input)} label={`Input of ${name}`} />}
      {value.subagent && (
        <div class="sub">
          <Entries thread={value.id} transcript={transcript} depth={depth + 1} />
        </div>
      )}
      {!(value.subagent && value.state === "succeeded") && <Result value={value} name={name} />}
    </div>
  );
}

function Content({ content, name }: { readonly content: CallContent; readonly name: string }): JSX.Element | null {
  switch (content.type) {
    case "diff":
      return <Diff {...content} label={`What ${name} changes in ${line(content.path)}`} />;
    case "terminal":
      return <Output text={content.command === null ? "" : `$ ${content.command}`} label={`Command of ${name}`} />;
    default:
      return null;
  }
}

function Result({ value, name }: { readonly value: CallValue; readonly name: string }): JSX.Element | null {
  if (value.result) {
    const label = `Result of ${name}`;
    return (
      <>
        <Output text={value.result.text} label={label} isError={value.result.is_error} />
        <Images text={value.result.text} bytes={value.bytes} />
      </>
    );
  }
  return value.output === null ? null : <Output text={value.output} label={`Output of ${name}`} />;
}

function inputText(input: unknown): string {
  if (typeof input !== "object" || input === null) return String(input);
  if (Object.keys(input).length === 0) return "";
  return JSON.stringify(input, null, 2);
}
