import type { RefObject } from "preact";
import type { List } from "../list/list.js";

/** Moves the focus to the next or previous of the elements that a selector names. */
export function walkElements(selector: string, step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Moves the focus to the next or previous row of a list, of which only some rows are elements. */
export function walkRows(list: RefObject<List | null>, scroller: Element | null, count: number, step: 1 | -1): void {
  if (!scroller || count === 0) return;
  const row = (index: number) => scroller.querySelector<HTMLElement>(`[data-row="${index}"]`);
  const focused = document.activeElement?.closest<HTMLElement>("[data-row]");
  const next = focused ? Number(focused.dataset["row"]) + step : firstVisible(scroller);
  const index = Math.min(count - 1, Math.max(0, next));
  const focus = () => {
    const element = row(index);
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: "nearest" });
  };
  if (row(index)) return focus();
  list.current?.show(index);
  // The row is drawn with the next frame.
  requestAnimationFrame(() => requestAnimationFrame(focus));
}

function firstVisible(scroller: Element): number {
  const { top } = scroller.getBoundingClientRect();
  const rows = [...scroller.querySelectorAll<HTMLElement>("[data-row]")];
  const first = rows.find((it) => it.getBoundingClientRect().bottom > top + 1);
  return Number(first?.dataset["row"] ?? 0);
}
