//! Handoff of programs whose output exceeds the ring.

use super::oracle::{self, Oracle};
use super::programs::{RING, SIZE, program};
use super::sessions::Random;
use super::{DIRT, compare};
use crate::screen::SessionScreen;

/// A client attaches long after the ring has evicted the beginning, and reads the rest from the
/// ring.
#[test]
fn handoff_is_exact_after_the_ring_overflowed() {
    for seed in 0..30 {
        let output = program(seed);
        let mut random = Random::new(seed + 1_000);
        let cut = output.len() - random.below(10_000);
        let mut screen = SessionScreen::new(SIZE);
        let mut at = 0;
        while at < cut {
            let chunk = random.up_to(8_192).min(cut - at);
            screen.feed(at as u64, &output[at..at + chunk]);
            at += chunk;
        }
        let snapshot = screen.snapshot();
        let from = snapshot.at_offset as usize;
        assert!(from > output.len() - RING, "the ring has the rest");
        assert!(
            snapshot.bytes.len() < 64 << 10,
            "{} bytes",
            snapshot.bytes.len()
        );
        let mut direct = Oracle::new(SIZE);
        direct.feed(&output);
        if seed % 6 == 0 {
            let mut raw = Oracle::new(SIZE);
            raw.feed(&output[output.len() - RING..]);
            assert!(
                oracle::same(&direct, &raw).is_err(),
                "the ring alone is insufficient"
            );
        }
        let mut client = Oracle::new(SIZE);
        client.feed(DIRT);
        client.feed(&snapshot.bytes);
        client.feed(&output[from..]);
        compare(&mut direct, &mut client).unwrap_or_else(|it| panic!("program {seed}: {it}"));
    }
}
