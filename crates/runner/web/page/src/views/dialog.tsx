import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  readonly title: string;
  readonly class?: string;
  readonly isTitleHidden?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog. Escape and a click beside it close it; what had the focus gets it back from the browser. */
export function Dialog({ title, onClose, children, isTitleHidden = false, class: name = "" }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    if (!element.open) element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={name}
      aria-labelledby="dialog-title"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="sheet">
        <h2 id="dialog-title" class={isTitleHidden ? "vh" : undefined}>
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  );
}
