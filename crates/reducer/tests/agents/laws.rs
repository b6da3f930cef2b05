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

/// About so many cuts of the others.
const CUTS: usize = 60;

#[test]
fn cut_at_any_byte_and_overlap_change_nothing() {
    for recording in recordings() {
        let size = recording.output.len();
        let whole = fold(&recording, size, size);
        let starts: Vec<_> = std::iter::once(0)
            .chain(recording.output.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let step = if size <= SHORT { 1 } else { (size / CUTS) | 1 };
        for (number, cut) in (0..size).step_by(step).enumerate() {
            let line = starts.partition_point(|start| *start <= cut) - 1;
            let again = [starts[line], starts[line / 2], 0][number % 3];
            let cut_and_again = fold(&recording, cut, again);
            assert!(cut_and_again == whole, "{} {cut} {again}", recording.name);
        }
    }
}
