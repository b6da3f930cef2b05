import type { JSX } from "preact";

const SHAPES = {
  ok: <path d="M2.2 6.4 4.9 9l5-6" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />,
  bad: <path d="m3 3 6 6M9 3 3 9" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />,
  ask: <path d="M6 1.6 10.8 10.2H1.2z" fill="currentColor" stroke="currentColor" stroke-width="1" stroke-linejoin="round" />,
  run: <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="17 10" stroke-linecap="round" />,
  idle: <rect x="2.6" y="2.6" width="6.8" height="6.8" rx="1.2" fill="none" stroke="currentColor" stroke-width="1.5" />,
  terminal: <path d="M2 3.4 4.8 6 2 8.6M6.4 9H10" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />,
  notice: <path d="M6 3v3.6M6 8.8v.2" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />,
  more: <path d="M2.2 6h.1M6 6h.1M9.8 6h.1" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" />,
  back: <path d="M7.6 2 3.6 6l4 4" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />,
  forward: <path d="M4.4 2 8.4 6l-4 4" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />,
  play: <path d="M3.4 2.2 9.8 6l-6.4 3.8z" fill="currentColor" />,
  past: <path d="M1.8 6a4.2 4.2 0 1 0 1.3-3M1.8 1.4v2.2H4M6 3.8V6l1.6 1" fill="none" stroke="currentColor" stroke-width="1.3" stroke-linecap="round" stroke-linejoin="round" />,
  pause: <path d="M3.2 2.4h2v7.2h-2zM6.8 2.4h2v7.2h-2z" fill="currentColor" />,
} as const;

export type IconName = keyof typeof SHAPES;

/** A picture of 12 pixels. Without a label it is decoration. */
export function Icon({ name, label }: { readonly name: IconName; readonly label?: string }): JSX.Element {
  const role = label === undefined ? { "aria-hidden": true } : { role: "img" as const, "aria-label": label };
  return (
    <svg class={`mark icon-${name}`} viewBox="0 0 12 12" {...role}>
      {SHAPES[name]}
    </svg>
  );
}
