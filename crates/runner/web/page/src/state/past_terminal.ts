import type { Client, PastScreen, StreamArrival } from "@bowline/client";
import { Replay } from "./replay.js";
import type { Axis } from "../text/lanes.js";

/** Output whose times are read, in bytes. A longer one is shown by its bytes. */
const MAX_TIMED = 64 << 20;

/** Bytes per second without times, at speed 1. */
const BYTES_PER_SECOND = 2_000;

/** The screen of a terminal at an earlier moment: after so many bytes of its output. */
export class PastTerminal extends Replay<number> {
  end = 0;
  /** The parts of the output with their times; empty without times. */
  arrivals: readonly StreamArrival[] = [];
  /** The offset that is shown, or that is about to be. */
  at = 0;
  /** The moment that is played, on the axis. */
  #played = 0;

  constructor(
    readonly client: Client,
    readonly session: string,
    readonly onScreen: (screen: PastScreen) => void,
  ) {
    super();
  }

  /** Reads how long the output is and when it arrived, and shows its end. */
  async open(): Promise<void> {
    try {
      this.end = (await this.client.log(this.session, 0, 0, this.signal)).end;
      if (this.end <= MAX_TIMED) this.arrivals = await this.#readArrivals();
    } catch (error) {
      this.fail(error);
    }
    this.show(this.end);
  }

  get axis(): Axis {
    const [from, to] = [this.arrivals[0]?.at_ms, this.arrivals.at(-1)?.at_ms];
    if (from == null || to == null || to <= from) return { unit: "bytes", from: 0, to: Math.max(1, this.end) };
    return { unit: "ms", from, to };
  }

  /** Returns where the shown moment is on the axis. */
  get position(): number {
    return this.axis.unit === "bytes" ? this.at : (this.#partAt(this.at - 1)?.at_ms ?? this.axis.from);
  }

  override show(offset: number): void {
    this.at = Math.min(this.end, Math.max(0, offset));
    this.changed();
    super.show(this.at);
  }

  /** Shows a place on the axis. */
  showAt(place: number): void {
    this.show(this.#offsetAt(place));
  }

  /** Shows the moment at which the next part had arrived, or the one before. */
  override step(parts: number): void {
    this.pause();
    const next = this.#partIndex(this.at - 1) + parts + 1;
    if (this.arrivals.length === 0) this.show(this.at + parts);
    else this.show(next < 0 ? 0 : (this.arrivals[next]?.offset ?? this.end));
  }

  override play(): void {
    this.#played = this.at >= this.end ? this.axis.from : this.position;
    super.play();
  }

  protected override async read(offset: number): Promise<void> {
    this.onScreen(await this.client.screen(this.session, offset, this.signal));
  }

  protected override advance(elapsed: number): void {
    const { unit, to } = this.axis;
    this.#played += unit === "ms" ? elapsed : (elapsed / 1000) * BYTES_PER_SECOND;
    const next = this.#offsetAt(this.#played);
    if (this.#played >= to) this.pause();
    if (next !== this.at) this.show(next);
  }

  #offsetAt(place: number): number {
    const { unit, to } = this.axis;
    if (unit === "bytes") return Math.round(place);
    if (place >= to) return this.end;
    const later = this.arrivals.findIndex(({ at_ms }) => at_ms !== null && at_ms > place);
    return later < 0 ? this.end : this.arrivals[later]!.offset;
  }

  /** Returns the index of the part that has an offset; -1 before the first one. */
  #partIndex(offset: number): number {
    let [low, high] = [0, this.arrivals.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.arrivals[middle]!.offset <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #partAt(offset: number): StreamArrival | undefined {
    return this.arrivals[this.#partIndex(offset)];
  }

  async #readArrivals(): Promise<StreamArrival[]> {
    const all: StreamArrival[] = [];
    for (let from = 0; from < this.end; ) {
      const { arrivals, next } = await this.client.arrivals(this.session, from, this.signal);
      if (next <= from) break;
      all.push(...arrivals);
      from = next;
    }
    return all;
  }
}
