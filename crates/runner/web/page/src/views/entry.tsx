import type { Block, Entry, EntryJson, Transcript } from "@bowline/client";
import { Fragment, type JSX } from "preact";
import { useState } from "preact/hooks";
import { isOfKind, type Kind } from "../state/filter.js";
import { duration, line } from "../text/format.js";
import { MAX_MARKDOWN, Markdown } from "../text/markdown.js";
import { ToolCall } from "./call.js";
import { Icon } from "./icon.js";
import { Long, Output } from "./output.js";

interface Props {
  readonly entry: Entry;
  readonly transcript: Transcript;
  readonly depth: number;
  /** The blocks that are shown. */
  readonly kind?: Kind;
}

/** All entries of a thread, as in the call of a sub-agent. */
export function Entries({ thread, transcript, depth }: { readonly thread: string; readonly transcript: Transcript; readonly depth: number }): JSX.Element {
  return (
    <>
      {transcript.entries(thread).map((entry) => (
        <EntryView key={entry.number} entry={entry} transcript={transcript} depth={depth} />
      ))}
    </>
  );
}

/** One entry of a transcript. */
export function EntryView({ entry, transcript, depth, kind = "all" }: Props): JSX.Element | null {
  const { value } = entry;
  switch (value.kind) {
    case "assistant":
      return (
        <>
          {entry.blocks.filter((block) => isOfKind(block, kind, transcript)).map((block) => (
            <Fragment key={block.number}>
              <BlockView block={block} transcript={transcript} depth={depth} />
            </Fragment>
          ))}
          {value.state === "aborted" && <Notice icon="bad" text="this message was cut off" />}
        </>
      );
    case "user":
      return <Prompt value={value} depth={depth} />;
    case "result":
      return <TurnEnd value={value} />;
    case "notice":
      return <Notice icon="notice" text={value.text || value.notice} why={value.text ? value.notice : ""} />;
    case "error":
      return <Notice icon="bad" text={value.text} why={value.error} />;
    default:
      return null;
  }
}

function Prompt({ value, depth }: { readonly value: Extract<EntryJson, { kind: "user" }>; readonly depth: number }): JSX.Element {
  // What the agent was told by a program, or a sub-agent by its parent, is not what a person wrote.
  const isBrief = depth > 0 || value.synthetic;
  return (
    <p class={isBrief ? "brief" : "you"}>
      <Long text={value.text} />
    </p>
  );
}

function BlockView({ block, transcript, depth }: { readonly block: Block; readonly transcript: Transcript; readonly depth: number }): JSX.Element | null {
  const { value } = block;
  switch (value.type) {
    case "text":
      return value.text === "" ? null : <Text text={value.text} />;
    case "thinking":
      return value.text === "" ? null : <Thinking text={value.text} />;
    case "redacted_thinking":
      return <p class="think">thought, encrypted by the model's provider</p>;
    case "tool_call": {
      const call = transcript.call(value.id);
      return call ? <ToolCall call={call} transcript={transcript} depth={depth} /> : null;
    }
    default:
      return <Notice icon="notice" text="a block of an unknown type" />;
  }
}

/** Markdown; a text that is too long for it as it was written. */
function Text({ text }: { readonly text: string }): JSX.Element {
  return text.length > MAX_MARKDOWN ? <Output text={text} label="Text" /> : <Markdown text={text} />;
}

function Thinking({ text }: { readonly text: string }): JSX.Element {
  const [isOpen, open] = useState(false);
  return (
    <div class="think">
      <button class="head" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        <span class="label">Thought</span>
        {!isOpen && <span class="title">{line(text.trimStart())}</span>}
      </button>
      {isOpen && <Text text={text} />}
    </div>
  );
}

function TurnEnd({ value }: { readonly value: Extract<EntryJson, { kind: "result" }> }): JSX.Element {
  const isGood = value.outcome === "completed" && !value.is_error;
  const words = { completed: "turn finished", cancelled: "turn interrupted", failed: "turn failed", suspended: "turn suspended" };
  const time = value.duration_ms > 0 ? ` after ${duration(value.duration_ms)}` : "";
  return (
    <div class={isGood ? "end" : "end bad"}>
      <span>
        {words[value.outcome] ?? value.outcome}
        {time}
      </span>
      {!isGood && value.text && (
        <p>
          <Long text={value.text} />
        </p>
      )}
    </div>
  );
}

function Notice({ icon, text, why }: { readonly icon: "notice" | "bad"; readonly text: string; readonly why?: string }): JSX.Element {
  return (
    <p class={`notice ${icon}`}>
      <Icon name={icon} />
      <span>
        <Long text={text} />
      </span>
      {why && <span class="why">{line(why)}</span>}
    </p>
  );
}
