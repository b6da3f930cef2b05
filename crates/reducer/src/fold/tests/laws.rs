//! LoggedHostEvent holds for lines in any order; what breaks it is made short.

use bowline_jsonl::Framer;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, to_value};

use super::random::{RandomSteps, step};
use crate::host::{End, Meta};
use crate::log::Cursor;
use crate::mirror::Mirror;
use crate::test_util::{TestSession, text};
use crate::transcript::Transcript;

const NOW: Meta = Meta { at_ms: 0 };

/// Readers that look at one transcript, each at times of its own.
const READERS: usize = 3;

/// Numbers that each make one step, so that steps can be left out one by one.
fn steps() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 0..60)
}

fn walk(steps: &[u64], mut each: impl FnMut(&mut TestSession)) -> TestSession {
    let mut session = TestSession::new();
    for seed in steps {
        step(&mut session, &mut RandomSteps(seed | 1, 0));
        each(&mut session);
    }
    session
}

/// Applies a part of a stream, which begins at an offset and after a number of lines.
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
fn bounded_reader_gets_text_at_character_boundary() {
    let mut session = TestSession::new();
    let (mut mirror, mut cursor) = (Mirror::new(), Cursor::default());
    session.message_start("m").text_block("m", 0, "a");
    pull(
        &mut session.transcript,
        &mut mirror,
        &mut cursor,
        usize::MAX,
    );
    for more in ["\u{e9}b", "z"] {
        session.text_delta("m", 0, more);
        // Another reader looks on, so that each change is logged.
        session.json();
    }
    session.assistant_block("m", &text("a\u{1f600}\u{1f600}"));
    while cursor != Cursor::at(session.transcript.revision()) {
        pull(&mut session.transcript, &mut mirror, &mut cursor, 1);
    }
    assert_eq!(mirror.transcript(), json(&session.transcript));
}

proptest! {
    /// A prefix, and then the stream once more from any line that it had, or the one after it.
    #[test]
    fn prefix_and_overlapping_replay_equal_the_whole(
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
    fn snapshot_does_not_affect_the_fold(
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

    /// A fork is folded like the transcript that it was taken from, and neither affects the other.
    #[test]
    fn fork_is_folded_like_its_origin(steps in steps()) {
        let plain = walk(&steps, |_| {});
        let mut origins = Vec::new();
        let forked = walk(&steps, |session| {
            let fork = session.transcript.fork();
            let origin = std::mem::replace(&mut session.transcript, fork);
            origins.push((json(&origin), origin));
        });
        prop_assert_eq!(json(&forked.transcript), json(&plain.transcript));
        for (then, origin) in &origins {
            prop_assert_eq!(&json(origin), then);
        }
    }

    /// A reader that loses the end of what it reads, or reads again what it has, has the same transcript.
    #[test]
    fn interrupted_reader_converges(
        steps in steps(),
        reads in prop::collection::vec((0..6_usize, 0..3_usize), 60),
    ) {
        let (mut mirror, mut cursors) = (Mirror::new(), vec![Cursor::default()]);
        let mut reads = reads.iter();
        let mut session = walk(&steps, |session| {
            let Some(&(taken, back)) = reads.next() else {
                return;
            };
            let from = cursors[cursors.len().saturating_sub(1 + back)];
            let changes = session.transcript.changes_since(from);
            for change in changes.iter().take(taken) {
                mirror.apply(&to_value(&change).unwrap());
            }
            cursors.push(changes.cursor_after(taken));
        });
        let last = *cursors.last().unwrap();
        let changes = session.transcript.changes_since(last);
        for change in changes.iter() {
            mirror.apply(&to_value(&change).unwrap());
        }
        prop_assert_eq!(mirror.transcript(), json(&session.transcript));
    }

    /// A snapshot in parts is the transcript, and what comes later continues it.
    #[test]
    fn parts_of_a_snapshot_are_continued(
        steps in steps(),
        at in any::<prop::sample::Index>(),
        size in 1..5_usize,
    ) {
        let at = at.index(steps.len() + 1);
        let (mut mirror, mut place, mut parts) = (Mirror::new(), 0, None);
        let mut session = walk(&steps, |session| {
            if place == at {
                parts = Some(session.transcript.change_parts());
            }
            place += 1;
        });
        let mut parts = parts.unwrap_or_else(|| session.transcript.change_parts());
        while let Some(changes) = parts.next_part(size) {
            for change in changes.iter() {
                mirror.apply(&to_value(&change).unwrap());
            }
        }
        let changes = session.transcript.changes_since(parts.cursor());
        for change in changes.iter() {
            mirror.apply(&to_value(&change).unwrap());
        }
        prop_assert_eq!(mirror.transcript(), json(&session.transcript));
    }

    /// A reader of changes has the same transcript, whenever it reads and however few it takes.
    #[test]
    fn every_reader_converges(
        steps in steps(),
        times in prop::collection::vec((0..READERS, 1..9_usize), 60),
    ) {
        let mut readers: Vec<_> = (0..READERS)
            .map(|_| (Mirror::new(), Cursor::default()))
            .collect();
        let mut times = times.into_iter();
        let mut session = walk(&steps, |session| {
            if let Some((reader, most)) = times.next() {
                let (mirror, cursor) = &mut readers[reader];
                pull(&mut session.transcript, mirror, cursor, most);
            }
        });
        session.transcript.end(End::Recording, NOW);
        let wanted = json(&session.transcript);
        for (mirror, cursor) in &mut readers {
            pull(&mut session.transcript, mirror, cursor, usize::MAX);
            prop_assert_eq!(&mirror.transcript(), &wanted);
        }
    }
}
