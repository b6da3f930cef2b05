/** Characters that a file name has not everywhere. */
const UNSAFE = /[\u0000-\u001f\u007f<>:"/\\|?*\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;

/** Saves a text as a file of the reader's machine. */
export function saveFile(text: string, name: string, type: string): void {
  saveBlob(new Blob([text], { type }), name);
}

/** Saves bytes as a file of the reader's machine. */
export function saveBytes(name: string, parts: Uint8Array<ArrayBuffer>[]): void {
  saveBlob(new Blob(parts, { type: "application/octet-stream" }), name);
}

function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(UNSAFE, " ").trim().slice(-120);
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
