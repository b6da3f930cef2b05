//! What holds for lines in any order; what breaks it is made short.

use bowline_jsonl::Framer;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, to_value};

use super::random::{Dice, step};
use crate::feed::{Feed, text};
use crate::host::{End, Meta};
use crate::log::Cursor;
use crate::mirror::Mirror;
use crate::transcript::Transcript;

const NOW: Meta = Meta { at_ms: 0 };

/// Readers that look at one transcript, each at times of its own.
const READERS: usize = 3;

/// Numbers that each make one step, so that steps can be left out one by one.
fn steps() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 0..60)
}

fn walk(steps: &[u64], mut each: impl FnMut(&mut Feed)) -> Feed {
    let mut feed = Feed::new();
    for seed in steps {
        step(&mut feed, &mut Dice(seed | 1, 0));
        each(&mut feed);
    }
    feed
}

/// Applies a part of a stream, which begins at an offset and behind so many lines.
fn apply(it: &mut Transcript, stream: &[u8], from: usize, lines: usize) {
    let mut framer = Framer::at(usize::MAX >> 1, from as u64, lines as u64 + 1);
    framer.push(Bytes::copy_from_slice(&stream[from..]));
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        frame.items().for_each(|item| it.apply(&item, NOW));
    }
}

fn json(it: &Transcript) -> Value {
    to_value(it).unwrap()
}

/// Where lines begin, and where the last one ends.
fn lines(stream: &[u8]) -> Vec<usize> {
    let ends = stream
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0)
        .chain(ends.map(|(at, _)| at + 1))
        .collect()
}

/// Has a reader pull what changed.
fn pull(it: &mut Transcript, mirror: &mut Mirror, cursor: &mut Cursor, most: usize) {
    let changes = it.changes_up_to(*cursor, most);
    for change in changes.iter() {
        mirror.apply(&to_value(&change).unwrap());
    }
    *cursor = changes.cursor();
}

/// A reader that takes one change at a time, and comes late: what it is given of a text must fit to
/// what it has, though the text is another one by now.
#[test]
fn a_bounded_reader_is_never_given_a_text_from_within_a_character() {
    let mut feed = Feed::new();
    let (mut mirror, mut cursor) = (Mirror::new(), Cursor::default());
    feed.drafts("m").writes("m", 0, "a");
    pull(&mut feed.transcript, &mut mirror, &mut cursor, usize::MAX);
    for more in ["\u{e9}b", "z"] {
        feed.adds("m", 0, more);
        // Another reader looks on, so that each change is logged.
        feed.json();
    }
    feed.says("m", &text("a\u{1f600}\u{1f600}"));
    while cursor != Cursor::at(feed.transcript.revision()) {
        pull(&mut feed.transcript, &mut mirror, &mut cursor, 1);
    }
    assert_eq!(mirror.transcript(), json(&feed.transcript));
}

proptest! {
    /// A prefix, and then the stream once more from any line that it had, or the one behind it.
    #[test]
    fn a_prefix_and_any_replay_are_the_whole(
        steps in steps(),
        prefix in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
    ) {
        let stream = walk(&steps, |_| {}).log().to_vec();
        let lines = lines(&stream);
        let prefix = prefix.index(lines.len());
        let from = from.index(prefix + 1);
        let mut whole = Transcript::new();
        apply(&mut whole, &stream, 0, 0);
        let mut twice = Transcript::new();
        apply(&mut twice, &stream[..lines[prefix]], 0, 0);
        apply(&mut twice, &stream, lines[from], from);
        prop_assert_eq!(json(&twice), json(&whole));
    }

    /// A snapshot says for ever what was then, and nothing that comes later is any different for it.
    #[test]
    fn a_snapshot_in_between_changes_nothing(
        steps in steps(),
        at in any::<prop::sample::Index>(),
    ) {
        let stream = walk(&steps, |_| {}).log().to_vec();
        let lines = lines(&stream);
        let at = at.index(lines.len());
        let mut whole = Transcript::new();
        apply(&mut whole, &stream, 0, 0);
        let mut stopped = Transcript::new();
        apply(&mut stopped, &stream[..lines[at]], 0, 0);
        let then = json(&stopped);
        let snapshot = stopped.snapshot();
        apply(&mut stopped, &stream, lines[at], at);
        prop_assert_eq!(json(&stopped), json(&whole));
        prop_assert_eq!(to_value(&snapshot).unwrap(), then);
    }

    /// Whoever pulls changes, at whatever times and however few at once, has the same transcript.
    #[test]
    fn every_reader_comes_to_the_same(
        steps in steps(),
        times in prop::collection::vec((0..READERS, 1..9_usize), 60),
    ) {
        let mut readers: Vec<_> = (0..READERS)
            .map(|_| (Mirror::new(), Cursor::default()))
            .collect();
        let mut times = times.into_iter();
        let mut feed = walk(&steps, |feed| {
            if let Some((reader, most)) = times.next() {
                let (mirror, cursor) = &mut readers[reader];
                pull(&mut feed.transcript, mirror, cursor, most);
            }
        });
        feed.transcript.end(End::Recording, NOW);
        let wanted = json(&feed.transcript);
        for (mirror, cursor) in &mut readers {
            pull(&mut feed.transcript, mirror, cursor, usize::MAX);
            prop_assert_eq!(&mirror.transcript(), &wanted);
        }
    }
}
