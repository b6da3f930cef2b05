use bowline_jsonl::{Framer, ParseErrorKind};
use bytes::Bytes;

use crate::support::{Random, fixtures, for_each, seen};

/// Recordings up to this size are cut at every byte; larger ones at [`RANDOM_CUTS`] places.
const SMALL: usize = 12 << 10;
const RANDOM_CUTS: usize = 200;

fn cuts(length: usize) -> Vec<usize> {
    if length <= SMALL {
        return (0..=length).collect();
    }
    let mut random = Random(length as u64);
    let count = if length > 1 << 20 { 10 } else { RANDOM_CUTS };
    (0..count).map(|_| random.below(length)).collect()
}

#[test]
fn a_cut_anywhere_changes_nothing() {
    for fixture in fixtures() {
        let whole = seen([fixture.bytes.clone()]);
        for cut in cuts(fixture.bytes.len()) {
            let chunks = [fixture.bytes.slice(..cut), fixture.bytes.slice(cut..)];
            assert!(seen(chunks) == whole, "{} cut at {cut}", fixture.name);
        }
    }
}

#[test]
fn chunks_of_any_size_change_nothing() {
    for fixture in fixtures().into_iter().filter(|it| it.bytes.len() < 1 << 20) {
        let whole = seen([fixture.bytes.clone()]);
        for size in [1, 3, 64, 4095] {
            let chunks = fixture.bytes.chunks(size).map(Bytes::copy_from_slice);
            assert!(
                seen(chunks) == whole,
                "{} in chunks of {size}",
                fixture.name
            );
        }
    }
}

/// A recording that stops anywhere ends in whole lines and at most one line that says so.
#[test]
fn an_end_anywhere_is_whole_or_truncated() {
    let mut random = Random(7);
    for fixture in fixtures()
        .into_iter()
        .filter(|it| !it.name.starts_with("pty"))
    {
        let mut start = 0;
        for line in fixture.bytes.split_inclusive(|&byte| byte == b'\n') {
            let step = if line.len() < 400 {
                1
            } else {
                1 + random.below(line.len() / 16)
            };
            for cut in (1..line.len()).step_by(step) {
                let head = fixture.bytes.slice(start..start + cut);
                let mut last = None;
                for_each([head], |item| last = Some(item.event.map(|_| ())));
                match last {
                    Some(Ok(())) => assert_eq!(cut, line.len() - 1, "{} {start}", fixture.name),
                    Some(Err(error)) => assert_eq!(
                        error.kind(),
                        ParseErrorKind::Truncated,
                        "{} {start}+{cut}",
                        fixture.name
                    ),
                    None => panic!("{}: {start}+{cut} vanished", fixture.name),
                }
            }
            start += line.len();
        }
    }
}

#[test]
fn a_reader_may_start_again_at_the_resume_offset() {
    for fixture in fixtures().into_iter().filter(|it| it.bytes.len() < 1 << 16) {
        let whole = seen([fixture.bytes.clone()]);
        let cut = fixture.bytes.len() / 2;
        let mut first = Framer::default();
        first.push(fixture.bytes.slice(..cut));
        let mut lines = 0;
        while let Some(frame) = first.next_frame() {
            lines += frame.items().count();
        }
        let resume = first.resume_offset();
        let line = 1 + bytecount(&fixture.bytes[..resume as usize]);
        let mut second = Framer::at(bowline_jsonl::DEFAULT_MAX_LINE, resume, line);
        second.push(fixture.bytes.slice(resume as usize..));
        second.finish();
        let mut rest = Vec::new();
        while let Some(frame) = second.next_frame() {
            rest.extend(frame.items().map(|item| item.at));
        }
        assert_eq!(lines + rest.len(), whole.len(), "{}", fixture.name);
        assert!(
            whole[lines..]
                .iter()
                .zip(&rest)
                .all(|(a, b)| a.starts_with(&format!("{b:?}")))
        );
    }
}

fn bytecount(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}
