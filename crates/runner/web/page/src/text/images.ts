/** Types that a browser draws without running anything. */
const TYPES = /^image\/(?:png|jpeg|gif|webp)$/;

/** Returns the pictures in lines of an agent's output, wherever they are nested. Lines that are no JSON have none. */
export function imagesOf(lines: string): Blob[] {
  const images: Blob[] = [];
  for (const line of lines.split("\n")) {
    if (!line.includes("base64") && !line.includes('"data"')) continue;
    try {
      collect(JSON.parse(line), images);
    } catch {
      // A line that is cut.
    }
  }
  return images;
}

function collect(value: unknown, images: Blob[]): void {
  if (typeof value !== "object" || value === null) return;
  const { type, media_type, mimeType, data } = value as Record<string, unknown>;
  const media = media_type ?? mimeType;
  if (typeof data === "string" && typeof media === "string" && TYPES.test(media) && type !== undefined) {
    const bytes = decoded(data);
    if (bytes) images.push(new Blob([bytes], { type: media }));
    return;
  }
  // Structured results repeat what the message has.
  for (const [name, inner] of Object.entries(value)) if (name !== "tool_use_result") collect(inner, images);
}

function decoded(data: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  } catch {
    return null;
  }
}
