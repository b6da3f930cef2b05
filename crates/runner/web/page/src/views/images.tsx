import { useContext, useEffect, useState } from "preact/hooks";
import { createContext, type JSX } from "preact";
import type { Client, Range } from "@bowline/client";
import { count } from "../text/format.js";
import { imagesOf } from "../text/images.js";

/** Longest part of the output that is read for its pictures, in bytes. */
const MAX_BYTES = 16 << 20;

/** Where the bytes of entries are read from. */
export const LogContext = createContext<{ readonly client: Client; readonly session: string } | null>(null);

type Shown = { readonly state: "closed" } | { readonly state: "failed"; readonly text: string } | { readonly state: "open"; readonly urls: readonly string[] };

/** Pictures of a tool's result. The transcript has only their place: they are read from the bytes when asked for. */
export function Images({ text, bytes }: { readonly text: string; readonly bytes: Range | null }): JSX.Element | null {
  const log = useContext(LogContext);
  const [shown, show] = useState<Shown>({ state: "closed" });
  const urls = shown.state === "open" ? shown.urls : null;
  useEffect(() => () => urls?.forEach((url) => URL.revokeObjectURL(url)), [urls]);
  const number = text.match(/\[image image\/[\w.+-]+ \d+ bytes\]/g)?.length ?? 0;
  if (number === 0 || !log || !bytes) return null;
  const open = async () => {
    try {
      if (bytes[1] - bytes[0] > MAX_BYTES) throw new Error(`the output of ${count(bytes[1] - bytes[0])} bytes is too long to be read here`);
      const images = imagesOf(await read(log.client, log.session, bytes));
      if (images.length === 0) throw new Error("the bytes of the picture are no longer kept");
      show({ state: "open", urls: images.map((image) => URL.createObjectURL(image)) });
    } catch (cause) {
      show({ state: "failed", text: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  return (
    <div class="images">
      {shown.state !== "open" && (
        <button class="more" onClick={() => void open()}>
          {number === 1 ? "Show the picture" : `Show ${number} pictures`}
        </button>
      )}
      {shown.state === "failed" && (
        <p class="bad" role="alert">
          {shown.text}
        </p>
      )}
      {urls?.map((url, at) => <img key={url} src={url} alt={`Picture ${at + 1} of the result`} />)}
    </div>
  );
}

async function read(client: Client, session: string, [from, to]: Range): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let at = from; at < to; ) {
    const { bytes } = await client.log(session, at, Math.min(to - at, 1 << 20));
    if (bytes.length === 0) break;
    text += decoder.decode(bytes, { stream: true });
    at += bytes.length;
  }
  return text;
}
