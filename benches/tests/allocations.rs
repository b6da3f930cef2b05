//! A streamed delta is parsed without an allocation.
//!
//! One test alone in this file: the allocator counts for the whole process.

use std::alloc::System;

use bowline_benches::contenders::{Contender, Slice};
use bowline_benches::corpus::Corpus;
use bowline_benches::job::Ends;
use bytes::Bytes;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

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

/// Calls of the allocator for so many deltas.
fn calls(contender: Contender, lines: usize) -> usize {
    let mut slice = Slice::new(deltas(lines));
    contender.prepare(&mut slice);
    let region = Region::new(ALLOCATOR);
    let folded = contender.run::<Ends>(&mut slice).expect("valid lines");
    let change = region.change();
    assert_eq!(folded.events, lines as u64);
    change.allocations + change.reallocations
}

#[test]
fn a_delta_is_parsed_without_an_allocation() {
    for contender in [Contender::Bowline, Contender::BowlineSafe] {
        let (few, many) = (calls(contender, 500), calls(contender, 5_000));
        assert_eq!(few, many, "{} allocates for each delta", contender.name());
    }
    let (few, many) = (
        calls(Contender::SerdeJsonTagged, 500),
        calls(Contender::SerdeJsonTagged, 5_000),
    );
    assert!(many > few + 4_500, "the counter counts: {few} and {many}");
}
