import type { Client, Moment, Timeline } from "@bowline/client";
import { wholeAxis, type Axis } from "../text/lanes.js";
import { PagedTranscript } from "./paged.js";
import { Store } from "./store.js";

/** Pause between two reads of the timeline of a session that runs. */
const REFRESH_MS = 2_000;

/** Lines per second without times, at speed 1. */
const LINES_PER_SECOND = 10;

export const SPEEDS = [1, 2, 5, 20] as const;

/** What lasts in a session, and the moment at which it is shown. */
export class ReplayStore extends Store {
  timeline: Timeline | null = null;
  /** The transcript at the moment that is shown; `null` at the present. */
  past: PagedTranscript | null = null;
  isPlaying = false;
  speed: number = SPEEDS[0];
  error: Error | null = null;
  #wanted: Moment | null | undefined;
  #isReading = false;
  #isStale = false;
  #refresh: ReturnType<typeof setTimeout> | null = null;
  #lastFrame = 0;
  #abort = new AbortController();

  constructor(
    readonly client: Client,
    readonly session: string,
  ) {
    super();
  }

  /** Reads the timeline, at most every two seconds. */
  refresh(): void {
    this.#isStale = true;
    if (this.#refresh !== null) return;
    void this.#readTimeline();
    this.#refresh = setTimeout(() => {
      this.#refresh = null;
      if (this.#isStale && !this.#abort.signal.aborted) this.refresh();
    }, REFRESH_MS);
  }

  /** Shows a moment, or the present. Of moments that are asked for meanwhile, the last one counts. */
  show(moment: Moment | null): void {
    this.#wanted = moment;
    void this.#showWanted();
  }

  /** Shows the moment so many lines later, or earlier. */
  step(lines: number): void {
    this.pause();
    const line = (this.past?.part?.line ?? this.timeline?.lines ?? 0) + lines;
    this.#showLine(line);
  }

  play(): void {
    if (!this.timeline) return;
    const { unit, from } = wholeAxis(this.timeline);
    if (!this.past) this.show(unit === "bytes" ? { at: 0 } : { at_ms: from });
    this.isPlaying = true;
    this.#lastFrame = performance.now();
    requestAnimationFrame((now) => this.#frame(now));
    this.changed();
  }

  pause(): void {
    this.isPlaying = false;
    this.changed();
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.changed();
  }

  close(): void {
    this.isPlaying = false;
    if (this.#refresh !== null) clearTimeout(this.#refresh);
    this.#abort.abort();
    this.past?.close();
  }

  #showLine(line: number): void {
    const last = this.timeline?.lines ?? 0;
    if (line >= last) this.show(null);
    else this.show(line <= 0 ? { at: 0 } : { line });
  }

  #time = 0;

  #frame(now: number): void {
    const { timeline, past } = this;
    if (!this.isPlaying || !timeline) return;
    const elapsed = (now - this.#lastFrame) * this.speed;
    requestAnimationFrame((next) => this.#frame(next));
    // The next moment waits for the last one to be shown.
    if (this.#isReading || !past?.part) return;
    this.#lastFrame = now;
    const { unit, from, to } = wholeAxis(timeline);
    if (past.part.at >= timeline.end) {
      this.pause();
      this.show(null);
    } else if (unit === "ms") {
      const shown = past.moment && "at_ms" in past.moment ? past.moment.at_ms : (past.part.at_ms ?? from);
      const next = shown + elapsed;
      if (next >= to) this.#finish();
      else this.show({ at_ms: Math.round(next) });
    } else {
      this.#time += (elapsed / 1000) * LINES_PER_SECOND;
      const lines = Math.floor(this.#time);
      if (lines < 1) return;
      this.#time -= lines;
      this.#showLine(past.part.line + lines);
    }
  }

  #finish(): void {
    this.isPlaying = false;
    this.show(null);
  }

  async #readTimeline(): Promise<void> {
    this.#isStale = false;
    try {
      this.timeline = await this.client.timeline(this.session, this.#abort.signal);
    } catch {
      // Without a timeline, the session is shown without one.
    }
    this.changed();
  }

  async #showWanted(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#wanted !== undefined) {
      const moment = this.#wanted;
      this.#wanted = undefined;
      const next = moment === null ? null : new PagedTranscript(this.client, this.session, moment);
      await next?.open();
      if (this.#abort.signal.aborted) return;
      this.error = next?.error ?? null;
      if (this.error) {
        next?.close();
        this.isPlaying = false;
      } else {
        this.past?.close();
        this.past = next;
      }
      this.changed();
    }
    this.#isReading = false;
  }
}

/** Returns the position of what is shown on an axis. */
export function position({ past, timeline }: ReplayStore, whole: Axis): number {
  const part = past?.part;
  if (!past || !part || !timeline) return whole.to;
  if (whole.unit === "bytes") return part.at;
  if (past.moment && "at_ms" in past.moment) return past.moment.at_ms;
  return part.at === 0 ? whole.from : (part.at_ms ?? whole.from);
}
