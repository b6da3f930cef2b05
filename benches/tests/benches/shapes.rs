//! The generated corpora have the shapes of the real streams.

use bowline_benches::corpus::{Corpus, Shape};

/// Large enough for stable shares, small enough for a second.
const SIZE: usize = 6 << 20;

/// Accepted relative difference.
const TOLERANCE: f64 = 0.15;

/// Bytes per line, backslashes and quotes per KB, bytes outside ASCII in per cent.
fn check(corpus: Corpus, expected: [f64; 4]) {
    let bytes = corpus.generate(SIZE).expect("generated in memory");
    assert!(bytes.ends_with(b"\n"));
    let shape = Shape::of(&bytes);
    let actual = [
        shape.bytes_per_line(),
        shape.backslashes_per_kb(),
        shape.quotes_per_kb(),
        shape.non_ascii_percent(),
    ];
    for (actual_one, expected_one) in actual.into_iter().zip(expected) {
        let off = (actual_one / expected_one - 1.0).abs();
        assert!(
            off <= TOLERANCE,
            "{corpus:?} is {actual:.3?}, not {expected:.3?}"
        );
    }
}

#[test]
fn partial_has_short_deltas() {
    check(Corpus::Partial, [327.0, 3.2, 112.0, 0.04]);
}

#[test]
fn messages_has_lines_of_kilobytes() {
    check(Corpus::Messages, [3643.0, 27.7, 28.5, 0.7]);
}

/// The number of lines is that of 71 MB of the real shape, for any size.
#[test]
fn huge_has_numbered_code() {
    check(Corpus::Huge, [SIZE as f64 / 35.0, 33.2, 3.9, 7.0]);
}

#[test]
fn mixed_has_partial_and_whole_messages() {
    check(Corpus::Mixed, [494.0, 12.3, 80.9, 0.3]);
}

#[test]
fn corpora_are_deterministic() {
    for corpus in Corpus::ALL {
        let [once, again] = [(); 2].map(|()| corpus.generate(1 << 18).unwrap());
        assert!(once == again, "{corpus:?}");
    }
}

/// Share of lines with a `type`, in percent.
fn share(bytes: &[u8], wanted: &str) -> usize {
    let lines: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
    let is_it = |line: &&&[u8]| {
        let line = serde_json::from_slice::<serde_json::Value>(line);
        line.is_ok_and(|it| it["type"] == wanted)
    };
    100 * lines.iter().filter(is_it).count() / lines.len()
}

#[test]
fn corpora_of_recorded_lines_have_their_types() {
    let short = Corpus::Short.generate(1 << 20).unwrap();
    assert_eq!(share(&short, "stream_event"), 0);
    for (wanted, corpus, least) in [
        ("system", Corpus::System, 25),
        ("result", Corpus::Results, 8),
        ("user", Corpus::Users, 12),
    ] {
        let found = share(&short, wanted);
        assert!(found >= least, "{found} % are {wanted}");
        let alone = corpus.generate(1 << 18).unwrap();
        assert!(share(&alone, wanted) >= 98, "{corpus:?}");
    }
}

#[test]
fn realloop_excludes_noise_and_long_lines() {
    let bytes = Corpus::Realloop.generate(6 << 20).unwrap();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        assert!(line.starts_with(b"{") && line.ends_with(b"}\n"));
        assert!(line.len() <= 64 << 10);
    }
}
