//! Memory allocated per line: gates that do not depend on clock or load.
//!
//! This file has only one test, because the allocator counts for the whole process.

use std::alloc::System;

use bowline_benches::contenders::{Contender, Slice};
use bowline_benches::corpus::Corpus;
use bowline_benches::job::Ends;
use bowline_benches::peers::fit;
use bowline_benches::reduce::{Feed, Script};
use bowline_jsonl::Framer;
use bowline_reducer::{Cursor, Window};
use bytes::Bytes;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations of a line of `messages`: 1.614 when measured, and a tenth more. The maximum for any
/// line is two.
const MESSAGE_LINE: f64 = 1.78;

/// Allocations of a streamed delta in the reducer.
const DELTA: f64 = 0.001;

/// Heap bytes per byte of content of long texts.
const HEAP: f64 = 1.05;

/// Heap bytes of a finished message with a text, a call and its result, 103 bytes of text in total:
/// 533 when measured, and a tenth more.
const ENTRY: f64 = 587.0;

/// Maximum cost in bytes of a snapshot every 1,000 events, with the copies that it causes. It
/// copies what was added last: pages of 64 records and a chunk of 4 KiB.
const SNAPSHOT: usize = 128 << 10;

/// Accepted ratio of heap after ten times the stream, in a window of some megabytes: 1.07 when
/// measured. The difference is bounded: each index table doubles once after removals, and the
/// number of old checkpoints is limited.
const HEAP_GROWTH: f64 = 1.1;

#[test]
fn allocations_stay_within_budget() {
    a_delta_is_parsed_without_an_allocation();
    a_line_of_a_message_is_parsed_with_few();
    a_long_line_is_held_once_whatever_the_chunks();
    a_delta_is_reduced_without_an_allocation();
    many_messages_are_reduced_with_hardly_any();
    changes_are_as_many_bytes_in_any_transcript();
    long_texts_are_held_once();
    a_short_entry_is_small();
    a_snapshot_costs_the_same_in_any_transcript();
    a_window_holds_the_same_of_any_stream();
}

fn counted(job: impl FnOnce()) -> Stats {
    let region = Region::new(ALLOCATOR);
    job();
    region.change()
}

fn calls(stats: Stats) -> usize {
    stats.allocations + stats.reallocations
}

fn deltas(lines: usize) -> Bytes {
    Corpus::Partial
        .generate(4 << 20)
        .expect("generated in memory")
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| {
            line.windows(21)
                .any(|part| part == b"\"content_block_delta\"")
        })
        .take(lines)
        .flatten()
        .copied()
        .collect()
}

/// Returns the allocations to parse these lines, and the number of lines.
fn parsing(contender: Contender, lines: Bytes) -> (usize, usize) {
    let mut slice = Slice::new(lines);
    contender.prepare(&mut slice);
    let mut events = 0;
    let stats = counted(|| {
        let folded = contender.run::<Ends>(&mut slice).expect("valid lines");
        events = folded.events as usize;
    });
    (calls(stats), events)
}

fn a_delta_is_parsed_without_an_allocation() {
    for contender in [Contender::Bowline, Contender::BowlineSafe] {
        let [few, many] = [500, 5_000].map(|lines| parsing(contender, deltas(lines)));
        assert_eq!((few.1, many.1), (500, 5_000));
        assert_eq!(few.0, many.0, "{} allocates a delta", contender.name());
    }
    let [few, many] =
        [500, 5_000].map(|lines| parsing(Contender::SerdeJsonTagged, deltas(lines)).0);
    assert!(many > few + 4_500, "the counter counts: {few} and {many}");
}

fn a_line_of_a_message_is_parsed_with_few() {
    let corpus = Corpus::Messages.generate(4 << 20);
    let (lines, _) = fit(&corpus.expect("generated in memory"));
    let (calls, events) = parsing(Contender::Bowline, lines);
    let each = calls as f64 / events as f64;
    assert!(each <= MESSAGE_LINE.min(2.0), "{each} for a line");
}

/// Copied once into a buffer that doubles: at most twice its length, and some windows.
fn a_long_line_is_held_once_whatever_the_chunks() {
    for chunk in [1 << 10, 4_095, 64 << 10, 1 << 20] {
        let [short, long] = [1 << 20, 10 << 20].map(|length| {
            let line = Script::default().long(length).take();
            let stats = counted(|| assert_eq!(receive(&line, chunk), 1));
            stats.bytes_allocated as f64 / line.len() as f64
        });
        assert!(
            long <= 3.0 && long <= short * 1.5,
            "{long} bytes a byte in chunks of {chunk}, {short} when the line is short"
        );
    }
}

fn receive(stream: &Bytes, chunk: usize) -> usize {
    let (mut framer, mut rest, mut lines) = (Framer::default(), stream.clone(), 0);
    while !rest.is_empty() {
        framer.push(rest.split_to(chunk.min(rest.len())));
        while let Some(frame) = framer.next_frame() {
            lines += frame.items().filter(|item| item.event.is_ok()).count();
        }
    }
    lines
}

/// Returns the allocations in the reducer alone.
fn reducing(feed: &mut Feed, lines: Bytes) -> usize {
    let mut sum = 0;
    feed.around(lines, |apply| sum += calls(counted(apply)));
    sum
}

fn a_delta_is_reduced_without_an_allocation() {
    let (mut feed, mut script) = (Feed::default(), Script::default().begin());
    feed.take(script.take());
    let lines = script.deltas(100_000).take();
    let each = reducing(&mut feed, lines) as f64 / 100_000.0;
    assert!(each <= DELTA, "{each} for a delta of one block");
    assert_eq!(text_length(&feed), 25 * 100_000, "the block has grown");
}

fn text_length(feed: &Feed) -> usize {
    let entries = feed.transcript.entries();
    entries.fold(0, |sum, entry| match entry.kind() {
        bowline_reducer::EntryKind::Assistant { blocks, .. } => {
            let texts = blocks.iter().filter_map(|block| block.text());
            sum + texts.map(|text| text.len()).sum::<usize>()
        }
        _ => sum,
    })
}

/// The remaining allocations are growth of vectors and an occasional chunk of text.
fn many_messages_are_reduced_with_hardly_any() {
    const MESSAGES: usize = 4_000;
    let (mut feed, mut script) = (Feed::default(), Script::default());
    let mut sum = 0;
    for _ in 0..MESSAGES {
        script = script.begin();
        feed.take(script.take());
        script = script.deltas(40);
        sum += reducing(&mut feed, script.take());
        script = script.end(40);
        feed.take(script.take());
    }
    let each = sum as f64 / (40 * MESSAGES) as f64;
    assert!(each <= DELTA, "{each} for a delta of many messages");
}

fn changes_are_as_many_bytes_in_any_transcript() {
    let [short, long] = [1_000, 100_000].map(|entries| {
        let (mut feed, mut script) = (Feed::default(), Script::default().finished(entries));
        feed.take(script.take());
        script = script.begin();
        feed.take(script.take());
        let cursor = feed.transcript.changes_since(Cursor::default()).cursor();
        feed.take(script.deltas(64).take());
        let mut changes = 0;
        let stats = counted(|| changes = feed.transcript.changes_since(cursor).iter().count());
        (changes, stats.bytes_allocated)
    });
    assert_eq!(short, long, "changes, and their size in bytes");
    assert!((1..=4).contains(&short.0), "{short:?} for one block");
}

fn long_texts_are_held_once() {
    const TEXTS: usize = 16;
    let mut feed = Feed::default();
    let mut script = Script::default();
    let stats = counted(|| {
        for _ in 0..TEXTS {
            script = std::mem::take(&mut script).long(300_000);
            feed.take(script.take());
        }
    });
    let held = stats.bytes_allocated - stats.bytes_deallocated;
    let each = held as f64 / text_length(&feed) as f64;
    assert!((0.9..=HEAP).contains(&each), "{each} bytes for a byte");
}

fn held(stats: Stats) -> f64 {
    (stats.bytes_allocated as f64) - (stats.bytes_deallocated as f64)
}

fn a_short_entry_is_small() {
    const ENTRIES: usize = 50_000;
    let mut feed = Feed::default();
    let stats = counted(|| finish(&mut feed, &mut Script::default(), ENTRIES));
    let each = held(stats) / ENTRIES as f64;
    assert!(each <= ENTRY, "{each} bytes for an entry");
}

/// Applies finished messages, generated a few at a time.
fn finish(feed: &mut Feed, script: &mut Script, messages: usize) {
    for _ in 0..messages / 500 {
        *script = std::mem::take(script).finished(500);
        feed.take(script.take());
    }
}

/// Returns the additional cost of a snapshot every 1,000 lines, with its shared pages.
fn a_snapshot_costs_the_same_in_any_transcript() {
    let (mut feed, mut script) = (Feed::default(), Script::default());
    let mut first = None;
    let mut costs = Vec::new();
    for _ in 0..100 {
        finish(&mut feed, &mut script, 500);
        let mut snapshot = None;
        costs.push(counted(|| snapshot = Some(feed.transcript.snapshot())).bytes_allocated);
        let snapshot = snapshot.expect("it was taken");
        let (first, json) = first.get_or_insert_with(|| {
            let json = serde_json::to_string(&snapshot).expect("it is JSON");
            (snapshot, json)
        });
        assert_eq!(serde_json::to_string(first).expect("it is JSON"), *json);
    }
    assert!(costs.iter().all(|&cost| cost <= SNAPSHOT), "{costs:?}");
    let mean = |costs: &[usize]| costs.iter().sum::<usize>() as f64 / costs.len() as f64;
    let [early, late] = [mean(&costs[..20]), mean(&costs[80..])];
    assert!(late <= 1.5 * early, "{early} bytes, then {late}");
}

fn a_window_holds_the_same_of_any_stream() {
    const WINDOW: usize = 8_000;
    let [short, long] = [30_000, 300_000].map(|messages| {
        let mut feed = Feed::with_window(Window::of_entries(WINDOW));
        let stats = counted(|| finish(&mut feed, &mut Script::default(), messages));
        assert!(feed.transcript.entries().count() <= WINDOW);
        held(stats)
    });
    assert!(long <= HEAP_GROWTH * short, "{short} bytes, then {long}");
}
