//! Framing and parsing by the size of the chunks that a stream comes in.

use bowline_benches::corpus::Corpus;
use bowline_jsonl::Framer;
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const SIZE: usize = 4 << 20;

/// What a terminal delivers at once, among powers of two.
const TERMINAL: usize = 4095;

const CHUNKS: [usize; 6] = [1 << 10, TERMINAL, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Pushes the stream in chunks and parses what is ready, as a receiver does. Gives the lines.
fn receive(stream: &Bytes, chunk: usize) -> usize {
    let mut framer = Framer::default();
    let mut rest = stream.clone();
    let mut lines = 0;
    while !rest.is_empty() {
        framer.push(rest.split_to(chunk.min(rest.len())));
        lines += ready(&mut framer);
    }
    framer.finish();
    lines + ready(&mut framer)
}

fn ready(framer: &mut Framer) -> usize {
    let mut lines = 0;
    while let Some(frame) = framer.next_frame() {
        lines += frame.items().filter(|item| item.event.is_ok()).count();
    }
    lines
}

fn by_chunk(criterion: &mut Criterion) {
    for corpus in [Corpus::Partial, Corpus::Huge] {
        let stream = corpus.generate(SIZE).expect("generated in memory");
        let mut group = criterion.benchmark_group(format!("framer_{}", corpus.name()));
        group.throughput(Throughput::Bytes(stream.len() as u64));
        for chunk in CHUNKS {
            group.bench_function(BenchmarkId::from_parameter(chunk), |bencher| {
                bencher.iter(|| receive(&stream, chunk));
            });
        }
        group.finish();
    }
}

/// One line of 10 MB, in the chunks of a terminal and whole.
fn one_line(criterion: &mut Criterion) {
    let text = "A line of a tool result\\n".repeat(10_000_000 / 25);
    let line = format!(
        "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"t\",\"type\":\"tool_result\",\"content\":\"{text}\"}}]}}}}\n"
    );
    let stream = Bytes::from(line);
    let mut group = criterion.benchmark_group("framer_10_mb_line");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    for (name, chunk) in [("chunks_of_4095", TERMINAL), ("whole", stream.len())] {
        group.bench_function(name, |bencher| bencher.iter(|| receive(&stream, chunk)));
    }
    group.finish();
}

criterion_group!(benches, by_chunk, one_line);
criterion_main!(benches);
