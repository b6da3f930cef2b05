//! Cuts and overlaps change nothing.

use bowline_jsonl::Framer;
use bowline_reducer::{Meta, Schema, Transcript};

use crate::recording::{Recording, drain, recordings};
use crate::seen::Seen;

/// The lines of output that end with this part of the stream, and the inputs before each, by offset.
fn inputs(recording: &Recording) -> Vec<(usize, String)> {
    let (mut at, mut inputs) = (0, Vec::new());
    let mut output = recording.output.lines();
    for (direction, message) in &recording.messages {
        if direction == "host>" {
            inputs.push((at, message.to_string()));
        } else {
            at += output.next().expect("a line").len() + 1;
        }
    }
    inputs
}

/// Folds the stream in two parts, and the second one from `again` on, which lies before the cut.
fn fold(recording: &Recording, cut: usize, again: usize) -> (String, Seen) {
    let inputs = inputs(recording);
    let mut transcript = Transcript::with_dialect(recording.dialect);
    let bytes = recording.output.as_bytes();
    let mut next_input = 0;
    for (from, to) in [(0, cut), (again, bytes.len())] {
        let mut framer = Framer::at(usize::MAX >> 1, from as u64, 1);
        let mut at = from;
        loop {
            while let Some((place, line)) = inputs.get(next_input).filter(|(place, _)| *place <= at)
            {
                if *place as u64 > transcript.applied() {
                    break;
                }
                transcript.apply_input(line, Meta::default());
                next_input += 1;
            }
            if at == to {
                break;
            }
            let next = inputs.get(next_input).map_or(to, |(place, _)| *place);
            let end = if next > at && next < to { next } else { to };
            framer.push(bytes[at..end].to_vec().into());
            drain(&mut framer, &mut transcript);
            at = end;
        }
    }
    let json = transcript.json(Schema::Two).to_string();
    (json, Seen::of_transcript(&transcript))
}

/// Streams up to this many bytes are cut at every byte.
const SHORT: usize = 3_000;

/// A cut within a line has the same lines before it wherever it is, so that one place in each line stands for all of
/// them. Each is combined with each line as the beginning of what comes again.
#[test]
fn cut_at_any_byte_and_any_overlap_change_nothing() {
    for recording in recordings() {
        let size = recording.output.len();
        let whole = fold(&recording, size, size);
        let check = |cut: usize, again: usize| {
            let cut_and_again = fold(&recording, cut, again);
            assert!(cut_and_again == whole, "{} {cut} {again}", recording.name);
        };
        let ends = recording.output.match_indices('\n').map(|(at, _)| at + 1);
        let starts: Vec<_> = std::iter::once(0).chain(ends).collect();
        for (line, ends) in starts.windows(2).enumerate() {
            let (start, length) = (ends[0], ends[1] - ends[0]);
            // The beginning, the last byte, and places between.
            let cut = start + line * (length - 1) / starts.len();
            for again in &starts[..=line] {
                check(cut, *again);
            }
        }
        if size <= SHORT {
            (0..size).for_each(|cut| check(cut, 0));
        }
    }
}
