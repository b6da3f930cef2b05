import type { Timeline } from "@bowline/client";
import type { JSX, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { position, type PastTranscript } from "../state/past_transcript.js";
import { useStore } from "../state/store.js";
import { MAX_LANES, bars, placeOf, ticks, wholeAxis, type Axis, type Bar } from "../text/lanes.js";
import { cost, count, duration, elapsed, line, plain } from "../text/format.js";
import { Scrubber } from "./scrubber.js";

const AXIS_HEIGHT = 18;
const MODEL_HEIGHT = 10;
const LANE_HEIGHT = 17;
const CONTEXT_HEIGHT = 12;

interface Props {
  readonly store: PastTranscript;
  /** Called with the number of an entry of the main thread. */
  readonly onEntry: (entry: number) => void;
}

/** What lasts in the session, over time or over its bytes, and the moment that is shown. */
export function TimelineStrip({ store, onEntry }: Props): JSX.Element | null {
  useStore(store);
  const { timeline } = store;
  const [zoom, setZoom] = useState<Axis | null>(null);
  const [box, width] = useWidth();
  if (!timeline || timeline.lines === 0) return null;
  const whole = wholeAxis(timeline);
  const axis = zoom?.unit === whole.unit ? zoom : whole;
  return (
    <section class="timeline" aria-label="Timeline" ref={box}>
      {width > 0 && <Lanes timeline={timeline} axis={axis} width={width} at={position(store, whole)} onEntry={onEntry} onZoom={setZoom} />}
      <Scrubber store={store} timeline={timeline} axis={axis} onWhole={axis === whole ? null : () => setZoom(null)} />
    </section>
  );
}

function useWidth() {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(([size]) => setWidth(Math.max(0, Math.floor(size!.contentRect.width))));
    observer.observe(element);
    return () => observer.disconnect();
  });
  return [box, width] as const;
}

interface LanesProps {
  readonly timeline: Timeline;
  readonly axis: Axis;
  readonly width: number;
  /** Where the moment is that is shown. */
  readonly at: number;
  readonly onEntry: (entry: number) => void;
  readonly onZoom: (axis: Axis) => void;
}

function Lanes({ timeline, axis, width, at, onEntry, onZoom }: LanesProps): JSX.Element {
  // In the order of time, in which the keys move.
  const shown = useMemo(() => bars(timeline, axis, width).sort((a, b) => a.from - b.from || a.lane - b.lane), [timeline, axis.from, axis.to, axis.unit, width]);
  const lanes = Math.min(MAX_LANES, Math.max(1, ...shown.map(({ lane }) => lane)));
  const height = AXIS_HEIGHT + MODEL_HEIGHT + lanes * LANE_HEIGHT + CONTEXT_HEIGHT;
  const x = (value: number) => ((value - axis.from) / Math.max(1, axis.to - axis.from)) * width;
  const playhead = Math.min(width - 1, Math.max(0, x(at)));
  const [focused, setFocused] = useState(0);
  const stop = Math.min(focused, shown.length - 1);
  const press = (event: TargetedKeyboardEvent<SVGSVGElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { entry = null } = shown[stop] ?? {};
    const next = { ArrowLeft: stop - 1, ArrowRight: stop + 1, Home: 0, End: shown.length - 1 }[event.key];
    if (next !== undefined) event.currentTarget.querySelectorAll<SVGElement>(".bar")[next]?.focus();
    else if (event.key !== "Enter" && event.key !== " ") return;
    else if (entry !== null) onEntry(entry);
    event.preventDefault();
  };
  return (
    <svg class="lanes" onKeyDown={press} width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={summary(timeline)}>
      <Ticks axis={axis} width={width} height={height} x={x} />
      <Turns timeline={timeline} axis={axis} width={width} x={x} onZoom={onZoom} />
      <ContextArea timeline={timeline} axis={axis} x={x} bottom={height} />
      {shown.map((bar, index) => (
        <BarView bar={bar} axis={axis} isStop={index === stop} onEntry={onEntry} onFocus={() => setFocused(index)} />
      ))}
      <line class="playhead" x1={playhead} x2={playhead} y1={2} y2={height} />
    </svg>
  );
}

function summary({ turns, model_calls, tools, permissions }: Timeline): string {
  return `${turns.length} turns, ${model_calls.length} model calls, ${tools.length} tool calls, ${permissions.length} permission requests`;
}

interface AxisProps {
  readonly axis: Axis;
  readonly x: (value: number) => number;
}

function Ticks({ axis, width, height, x }: AxisProps & { readonly width: number; readonly height: number }): JSX.Element {
  const at = ticks(axis, Math.max(2, Math.floor(width / 90)));
  return (
    <g class="ticks" aria-hidden>
      {at.map((value) => (
        <g key={value}>
          <line x1={x(value) + 0.5} x2={x(value) + 0.5} y1={4} y2={height} />
          <text x={x(value) + 5} y={12}>
            {tickText(value - axis.from, axis)}
          </text>
        </g>
      ))}
    </g>
  );
}

function tickText(value: number, { unit, from, to }: Axis): string {
  if (unit === "bytes") return count(value + from);
  if (value === 0) return "0 s";
  if (to - from < 200) return `${Math.round(value)} ms`;
  return to - from < 10_000 ? `${(value / 1000).toFixed(to - from < 2_000 ? 2 : 1)} s` : duration(value);
}

/** The turns along the top; a click shows one as wide as possible. */
function Turns({ timeline, axis, width, x, onZoom }: AxisProps & { readonly timeline: Timeline; readonly width: number; readonly onZoom: (axis: Axis) => void }): JSX.Element {
  const end = wholeAxis(timeline).to;
  const places = timeline.turns.flatMap((turn) => {
    const place = placeOf(turn, axis, end);
    return place && place[1] >= axis.from && place[0] <= axis.to ? [{ turn, place }] : [];
  });
  // More than fit are not told apart.
  const shown = places.length > width / 6 ? [] : places;
  return (
    <g class="turns">
      {shown.map(({ turn, place: [from, to] }) => {
        const left = Math.max(0, x(from));
        const right = Math.min(width, x(to));
        const text = `turn ${turn.turn}${turn.cost_usd === null ? "" : `, ${cost(turn.cost_usd)}`}: click to zoom`;
        return (
          <rect
            key={turn.entry}
            x={left}
            y={0}
            width={Math.max(2, right - left - 1)}
            height={AXIS_HEIGHT}
            onClick={() => onZoom({ unit: axis.unit, from, to: Math.max(from + 1, to) })}
          >
            <title>{plain(text)}</title>
          </rect>
        );
      })}
    </g>
  );
}

/** How full the context was, with compactions. */
function ContextArea({ timeline, axis, x, bottom }: AxisProps & { readonly timeline: Timeline; readonly bottom: number }): JSX.Element | null {
  const { context, compactions } = timeline;
  const value = (it: { readonly at_ms: number | null; readonly offset: number }) => (axis.unit === "bytes" ? it.offset : it.at_ms);
  const points = context.filter((it) => value(it) !== null);
  if (points.length === 0) return null;
  const size = Math.max(1, ...points.map((it) => it.size ?? it.used));
  const y = (used: number) => bottom - 1 - (used / size) * (CONTEXT_HEIGHT - 2);
  const steps = points.map((it, at) => `${at === 0 ? "M" : "H"}${x(value(it)!).toFixed(1)}${at === 0 ? ` ${y(it.used).toFixed(1)}` : `V${y(it.used).toFixed(1)}`}`);
  const last = points.at(-1)!;
  const label = `context: ${count(last.used)} tokens${last.size === null ? "" : ` of ${count(last.size)}`}`;
  return (
    <g class="context">
      <path d={`${steps.join("")}H${x(axis.to).toFixed(1)}`}>
        <title>{label}</title>
      </path>
      {compactions.map((it) => {
        const at = value(it);
        return at === null ? null : (
          <circle key={it.entry} cx={x(at)} cy={bottom - 5} r={3}>
            <title>context compacted</title>
          </circle>
        );
      })}
    </g>
  );
}

interface BarProps {
  readonly bar: Bar;
  readonly axis: Axis;
  /** Whether it is the bar to which Tab leads. */
  readonly isStop: boolean;
  readonly onEntry: (entry: number) => void;
  readonly onFocus: () => void;
}

function BarView({ bar, axis, isStop, onEntry, onFocus }: BarProps): JSX.Element {
  const isModel = bar.kind === "model";
  const y = isModel ? AXIS_HEIGHT + 1 : AXIS_HEIGHT + MODEL_HEIGHT + (bar.lane - 1) * LANE_HEIGHT;
  const height = isModel ? 4 : LANE_HEIGHT - 3;
  const { entry } = bar;
  const room = Math.floor((bar.width - 10) / 6.1);
  const label = line(bar.label);
  const length = axis.unit === "ms" ? elapsed(bar.to - bar.from) : `${count(bar.to - bar.from)} bytes`;
  const about = bar.spans > 1 ? `${bar.spans} spans, ${length}` : `${label}, ${length}`;
  return (
    <g
      class={`bar ${bar.kind} ${bar.isBad ? "bad" : ""}`}
      role="img"
      aria-label={about}
      tabIndex={isStop ? 0 : -1}
      onFocus={onFocus}
      onClick={() => entry !== null && onEntry(entry)}
    >
      <rect x={bar.x} y={y} width={bar.width} height={height} rx={isModel ? 2 : 3}>
        <title>{about}</title>
      </rect>
      {!isModel && room >= 4 && (
        <text x={bar.x + 5} y={y + 10.5} aria-hidden>
          {label.length > room ? `${label.slice(0, room - 1)}…` : label}
        </text>
      )}
    </g>
  );
}
