//! Some thousand mutated streams (`cargo fuzz-jsonl` runs more).

use bowline_fuzz::{Corpus, Fuzzer, Tally};

#[test]
fn both_builds_agree_with_serde_json() {
    let fuzzer = Fuzzer::new(Corpus::load().expect("the recordings are there"), 7);
    let mut tally = Tally::default();
    for number in 0..5_000 {
        if let Err(finding) = fuzzer.check(number, &mut tally) {
            panic!("{finding}");
        }
    }
    assert!(tally.mutants > 5_000, "{tally:?}");
    assert!(tally.taken > tally.mutants / 4, "{tally:?}");
    assert!(tally.refused > tally.mutants / 4, "{tally:?}");
}
