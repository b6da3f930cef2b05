import type { Attachment } from "@bowline/client";
import { Store } from "./store.js";

/** Maximum size of all attachments of a prompt, in bytes: the runner's limit, without the growth by base64. */
const MAX_BYTES = 10 << 20;

/** Longest side of a picture, in pixels. Models scale larger ones down. */
const MAX_SIDE = 2_000;

export interface AttachedFile extends Attachment {
  readonly name: string;
  readonly bytes: number;
}

/** A prompt as it is sent. */
export interface Attempt {
  readonly id: string;
  readonly text: string;
  readonly files: readonly AttachedFile[];
}

/** A prompt that is being written. Its text is kept in the tab until it is sent. */
export class Draft extends Store {
  #text: string;
  #files: readonly AttachedFile[] = [];
  #attempt: Attempt | null = null;
  readonly #key: string;

  constructor(session: string) {
    super();
    this.#key = `draft ${session}`;
    this.#text = sessionStorage.getItem(this.#key) ?? "";
  }

  get text(): string {
    return this.#text;
  }

  get files(): readonly AttachedFile[] {
    return this.#files;
  }

  get isEmpty(): boolean {
    return this.#text.trim() === "" && this.#files.length === 0;
  }

  write(text: string): void {
    // At once, since the page may be reloaded before it is rendered again.
    sessionStorage.setItem(this.#key, text);
    this.#text = text;
    this.changed();
  }

  /** Attaches files. Throws if one cannot be attached, or if they are too large together. */
  async attach(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      const attached = await read(file);
      const total = this.#files.reduce((sum, { bytes }) => sum + bytes, attached.bytes);
      if (total > MAX_BYTES) throw new Error(`${file.name} is too large; attach at most 10 MB`);
      this.#files = [...this.#files, attached];
      this.changed();
    }
  }

  detach(file: AttachedFile): void {
    this.#files = this.#files.filter((it) => it !== file);
    this.changed();
  }

  /** Returns the prompt to send. The same one has the same id again, so that it is sent once; a changed one is another prompt. */
  attempt(): Attempt {
    const [text, files] = [this.#text, this.#files];
    if (this.#attempt?.text !== text || this.#attempt.files !== files) this.#attempt = { id: crypto.randomUUID(), text, files };
    return this.#attempt;
  }

  /** The prompt was sent: begins the next one, with what has been written and attached meanwhile. */
  sent({ text, files }: Attempt): void {
    this.#attempt = null;
    this.#files = this.#files.filter((it) => !files.includes(it));
    this.write(this.#text === text ? "" : this.#text);
  }
}

async function read(file: File): Promise<AttachedFile> {
  const { name } = file;
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
    const image = await scaled(file);
    return { name, media_type: image.type, data: await base64(image), bytes: image.size };
  }
  if (file.type === "application/pdf") return { name, media_type: file.type, data: await base64(file), title: name, bytes: file.size };
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (text.includes("\0")) throw new TypeError();
    return { name, media_type: "text/plain", data: await base64(file), title: name, bytes: file.size };
  } catch {
    throw new Error(`${name} is neither a picture, nor a PDF, nor text; name its path in the prompt instead`);
  }
}

/** Makes a large picture smaller. An animation stays as it is. */
async function scaled(file: File): Promise<Blob> {
  if (file.type === "image/gif") return file;
  const bitmap = await createImageBitmap(file);
  const scale = MAX_SIDE / Math.max(bitmap.width, bitmap.height);
  if (scale >= 1) return file;
  const canvas = new OffscreenCanvas(Math.round(bitmap.width * scale), Math.round(bitmap.height * scale));
  canvas.getContext("2d")!.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: file.type });
}

function base64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve((reader.result as string).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(blob);
  });
}
