import { Component, createRef, type ComponentChild, type RefObject } from "preact";
import { Heights } from "./heights.js";

interface Props {
  readonly count: number;
  /** Estimated height of a row in pixels, until it is measured. */
  readonly estimate: number;
  readonly row: (index: number) => ComponentChild;
  /** A stable key of a row. */
  readonly rowKey: (index: number) => string | number;
  readonly label: string;
  /** Pixels above and below the visible part in which rows are kept, so that scrolling shows no gap. Default: 400. */
  readonly margin?: number;
  /** Whether the list stays at its end while it grows, until the reader scrolls up. */
  readonly follows?: boolean;
  readonly class?: string;
  /** Gets this list, for {@link List.show}. */
  readonly handle?: RefObject<List | null>;
  /** Called when a reader leaves the end or comes back to it. */
  readonly onEnd?: (isAtEnd: boolean) => void;
}

interface State {
  readonly from: number;
  readonly to: number;
}

const MARGIN = 400;

/** Distance from the end, in pixels, at which a reader is taken to be there. */
const END_SLACK = 24;

/**
 * A list of which only the visible rows are elements. Rows have any height, and may change it.
 *
 * What is read stays where it is: a row that grows above the visible part moves nothing.
 */
export class List extends Component<Props, State> {
  override state: State = { from: 0, to: 0 };
  readonly #scroller = createRef<HTMLDivElement>();
  readonly #heights: Heights;
  readonly #elements = new Map<Element, number>();
  readonly #resized = new ResizeObserver((sizes) => this.#measure(sizes));
  #isAtEnd = true;
  /** The scroll position that this list has set, which is not the reader's. */
  #ownTop = -1;

  constructor(props: Props) {
    super(props);
    this.#heights = new Heights(props.estimate);
    this.#heights.resize(props.count);
  }

  /** Scrolls so that a row is visible. */
  show(row: number): void {
    const scroller = this.#scroller.current;
    if (!scroller) return;
    this.#setAtEnd(false);
    scroller.scrollTop = Math.max(0, this.#heights.top(row) - scroller.clientHeight / 3);
    this.#update();
  }

  showEnd(): void {
    this.#setAtEnd(true);
    this.#update();
  }

  override componentDidMount(): void {
    if (this.props.handle) this.props.handle.current = this;
    this.#resized.observe(this.#scroller.current!);
    this.#update();
  }

  override componentDidUpdate(): void {
    this.#update();
  }

  override componentWillUnmount(): void {
    if (this.props.handle) this.props.handle.current = null;
    this.#resized.disconnect();
  }

  override render(props: Props, { from, to }: State): ComponentChild {
    this.#heights.resize(props.count);
    const rows: ComponentChild[] = [];
    for (let row = from; row < Math.min(to, props.count); row += 1) {
      rows.push(
        <div key={props.rowKey(row)} class="row" ref={(element) => this.#keep(element, row)}>
          {props.row(row)}
        </div>,
      );
    }
    // A region that scrolls can be focused, so that a keyboard scrolls it.
    return (
      <div
        class={`list ${props.class ?? ""}`}
        ref={this.#scroller}
        tabIndex={0}
        role="region"
        aria-label={props.label}
        data-count={props.count}
        onScroll={() => this.#scrolled()}
      >
        <div class="rows" style={{ height: `${this.#heights.total}px` }}>
          <div style={{ transform: `translateY(${this.#heights.top(from)}px)` }}>{rows}</div>
        </div>
      </div>
    );
  }

  #keep(element: HTMLDivElement | null, row: number): void {
    if (!element) return;
    if (!this.#elements.has(element)) this.#resized.observe(element);
    this.#elements.set(element, row);
  }

  #measure(sizes: readonly ResizeObserverEntry[]): void {
    const scroller = this.#scroller.current!;
    const anchor = this.#heights.rowAt(scroller.scrollTop);
    let above = 0;
    for (const { target, borderBoxSize } of sizes) {
      const row = this.#elements.get(target);
      if (row === undefined) continue;
      if (!target.isConnected) {
        this.#elements.delete(target);
        this.#resized.unobserve(target);
        continue;
      }
      const change = this.#heights.set(row, borderBoxSize[0]!.blockSize);
      if (row < anchor) above += change;
    }
    if (above !== 0 && !this.#pinned) this.#scrollTo(scroller.scrollTop + above);
    // Renders again with the new heights.
    this.#update(true);
  }

  #scrolled(): void {
    const scroller = this.#scroller.current!;
    if (Math.abs(scroller.scrollTop - this.#ownTop) > 1) {
      const rest = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
      this.#setAtEnd(rest <= END_SLACK);
    }
    this.#update();
  }

  get #pinned(): boolean {
    return this.props.follows === true && this.#isAtEnd;
  }

  #setAtEnd(isAtEnd: boolean): void {
    if (this.#isAtEnd === isAtEnd) return;
    this.#isAtEnd = isAtEnd;
    this.props.onEnd?.(isAtEnd);
  }

  #scrollTo(top: number): void {
    const scroller = this.#scroller.current!;
    scroller.scrollTop = top;
    this.#ownTop = scroller.scrollTop;
  }

  #update(isForced = false): void {
    const scroller = this.#scroller.current;
    if (!scroller) return;
    if (this.#pinned) {
      const end = Math.max(0, this.#heights.total - scroller.clientHeight);
      // The element has the height of the last rendering.
      (scroller.firstElementChild as HTMLElement).style.height = `${this.#heights.total}px`;
      if (Math.abs(scroller.scrollTop - end) > 0.5) this.#scrollTo(end);
    }
    const top = scroller.scrollTop;
    const margin = this.props.margin ?? MARGIN;
    const from = this.#heights.rowAt(top - margin);
    const to = Math.min(this.props.count, this.#heights.rowAt(top + scroller.clientHeight + margin) + 1);
    if (isForced || from !== this.state.from || to !== this.state.to) this.setState({ from, to });
  }
}
