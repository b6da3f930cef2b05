use bowline_jsonl::{Framer, ParseErrorKind};
use bytes::Bytes;

use crate::support::{Random, fixtures, for_each, observed, observed_read};

/// Size in bytes up to which recordings are cut at every byte; larger ones at [`RANDOM_CUTS`] offsets.
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
fn chunk_boundary_changes_nothing() {
    for fixture in fixtures() {
        let whole = observed([fixture.bytes.clone()]);
        for cut in cuts(fixture.bytes.len()) {
            let chunks = [fixture.bytes.slice(..cut), fixture.bytes.slice(cut..)];
            assert!(observed(chunks) == whole, "{} cut at {cut}", fixture.name);
        }
    }
}

#[test]
fn chunk_size_changes_nothing() {
    for fixture in fixtures().into_iter().filter(|it| it.bytes.len() < 1 << 20) {
        let whole = observed([fixture.bytes.clone()]);
        for size in [1, 3, 64, 4095] {
            let chunks = fixture.bytes.chunks(size).map(Bytes::copy_from_slice);
            assert!(
                observed(chunks.clone()) == whole,
                "{} in chunks of {size}",
                fixture.name
            );
            assert!(
                observed_read(chunks) == whole,
                "{} read in pieces of {size}",
                fixture.name
            );
        }
        assert!(
            observed_read([fixture.bytes.clone()]) == whole,
            "{}",
            fixture.name
        );
    }
}

#[test]
fn limit_holds_in_chunks_of_any_size() {
    let mut random = Random(3);
    let mut stream = Vec::new();
    for _ in 0..400 {
        let longest = if random.below(10) == 0 { 40_000 } else { 90 };
        let length = random.below(longest);
        stream.extend(std::iter::repeat_n(b'x', length));
        stream.push(b'\n');
    }
    stream.extend(b"tail");
    let skipped = |chunk: usize, limit: usize| {
        let mut framer = Framer::new(limit);
        let mut out = Vec::new();
        for bytes in stream.chunks(chunk) {
            framer.push(Bytes::copy_from_slice(bytes));
            while let Some(frame) = framer.next_frame() {
                out.extend(frame.items().map(|item| (item.at, item.raw.to_vec())));
            }
        }
        framer.finish();
        while let Some(frame) = framer.next_frame() {
            out.extend(frame.items().map(|item| (item.at, item.raw.to_vec())));
        }
        out
    };
    for limit in [10, 88, 20_000] {
        let whole = skipped(stream.len(), limit);
        assert!(
            whole
                .iter()
                .any(|(at, raw)| at.end - at.offset > limit as u64 + 1 && raw.len() <= 256)
        );
        assert_eq!(whole.last().expect("a tail").1, b"tail");
        for chunk in [1, 7, 1000, 9000, 33_000] {
            assert!(
                skipped(chunk, limit) == whole,
                "chunks of {chunk}, limit {limit}"
            );
        }
    }
}

/// A recording that ends anywhere gives whole lines and at most one truncated line.
#[test]
fn cut_line_is_whole_or_truncated() {
    let mut random = Random(7);
    for fixture in fixtures()
        .into_iter()
        .filter(|it| !it.name.starts_with("pty"))
    {
        let mut start = 0;
        for line in fixture.bytes.split_inclusive(|&byte| byte == b'\n') {
            let stride = if line.len() < 400 {
                1
            } else {
                1 + random.below(line.len() / 16)
            };
            for cut in (1..line.len()).step_by(stride) {
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
fn stream_resumes_at_resume_offset() {
    for fixture in fixtures().into_iter().filter(|it| it.bytes.len() < 1 << 16) {
        let whole = observed([fixture.bytes.clone()]);
        let cut = fixture.bytes.len() / 2;
        let mut first = Framer::default();
        first.push(fixture.bytes.slice(..cut));
        let mut lines = 0;
        while let Some(frame) = first.next_frame() {
            lines += frame.items().count();
        }
        let resume = first.resume_offset();
        let line = 1 + count_lines(&fixture.bytes[..resume as usize]);
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

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}
