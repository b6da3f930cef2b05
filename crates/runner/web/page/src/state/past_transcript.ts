import type { Client, Moment, Timeline } from "@bowline/client";
import { wholeAxis, type Axis } from "../text/lanes.js";
import { PagedTranscript } from "./paged.js";
import { Replay } from "./replay.js";

/** Pause between two reads of the timeline of a session that runs. */
const REFRESH_MS = 2_000;

/** Lines per second without times, at speed 1. */
const LINES_PER_SECOND = 10;

/** What lasts in a session, and the transcript at an earlier moment; `null` stands for the present. */
export class PastTranscript extends Replay<Moment | null> {
  timeline: Timeline | null = null;
  /** The transcript at the moment that is shown; `null` at the present. */
  past: PagedTranscript | null = null;
  #isStale = false;
  #refresh: ReturnType<typeof setTimeout> | null = null;
  /** The part of a line that was played, without times. */
  #played = 0;

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
      if (this.#isStale && !this.signal.aborted) this.refresh();
    }, REFRESH_MS);
  }

  override step(lines: number): void {
    this.pause();
    this.#showLine((this.past?.part?.line ?? this.timeline?.lines ?? 0) + lines);
  }

  override play(): void {
    if (!this.timeline) return;
    const { unit, from } = wholeAxis(this.timeline);
    if (!this.past) this.show(unit === "bytes" ? { at: 0 } : { at_ms: from });
    super.play();
  }

  override close(): void {
    super.close();
    if (this.#refresh !== null) clearTimeout(this.#refresh);
    this.past?.close();
  }

  protected override async read(moment: Moment | null): Promise<void> {
    const next = moment === null ? null : new PagedTranscript(this.client, this.session, moment);
    await next?.open();
    const error = next?.error ?? null;
    if (error || this.signal.aborted) {
      next?.close();
      if (error) throw error;
      return;
    }
    this.past?.close();
    this.past = next;
  }

  protected override advance(elapsed: number): void {
    const { timeline, past } = this;
    if (!timeline || !past?.part) return;
    const { unit, from, to } = wholeAxis(timeline);
    if (past.part.at >= timeline.end) return this.#finish();
    if (unit === "ms") {
      const shown = past.moment && "at_ms" in past.moment ? past.moment.at_ms : (past.part.at_ms ?? from);
      const next = shown + elapsed;
      if (next >= to) this.#finish();
      else this.show({ at_ms: Math.round(next) });
    } else {
      this.#played += (elapsed / 1000) * LINES_PER_SECOND;
      const lines = Math.floor(this.#played);
      if (lines < 1) return;
      this.#played -= lines;
      this.#showLine(past.part.line + lines);
    }
  }

  #showLine(line: number): void {
    const last = this.timeline?.lines ?? 0;
    if (line >= last) this.show(null);
    else this.show(line <= 0 ? { at: 0 } : { line });
  }

  #finish(): void {
    this.pause();
    this.show(null);
  }

  async #readTimeline(): Promise<void> {
    this.#isStale = false;
    try {
      this.timeline = await this.client.timeline(this.session, this.signal);
    } catch {
      // Without a timeline, the session is shown without one.
    }
    this.changed();
  }
}

/** Returns the position of what is shown on an axis. */
export function position({ past, timeline }: PastTranscript, whole: Axis): number {
  const part = past?.part;
  if (!past || !part || !timeline) return whole.to;
  if (whole.unit === "bytes") return part.at;
  if (past.moment && "at_ms" in past.moment) return past.moment.at_ms;
  return part.at === 0 ? whole.from : (part.at_ms ?? whole.from);
}
