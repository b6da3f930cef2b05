//! Strings only: validated, and decoded.

use bowline_jsonl::RawJson;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const LENGTH: usize = 1 << 20;

/// A JSON string of about [`LENGTH`] bytes.
fn string(piece: &str) -> String {
    format!("\"{}\"", piece.repeat(LENGTH / piece.len()))
}

fn strings(criterion: &mut Criterion) {
    let inputs = [
        ("plain", string("the parser keeps its bytes in place and ")),
        ("code", string("    let mut total = count(\\\"all\\\");\\n")),
        ("numbered", string("   120→    total += line.len();\\n")),
        ("escapes_only", string("\\n\\t\\\"\\\\")),
        ("surrogates", string("\\ud83d\\ude00 ok ")),
    ];
    let mut group = criterion.benchmark_group("string");
    for (name, input) in &inputs {
        group.throughput(Throughput::Bytes(input.len() as u64));
        group.bench_function(BenchmarkId::new("scan", name), |bencher| {
            bencher.iter(|| RawJson::parse(input).expect("one string"));
        });
        let text = RawJson::parse(input).and_then(RawJson::as_str);
        let text = text.expect("one string");
        let mut out = String::with_capacity(input.len());
        group.bench_function(BenchmarkId::new("decode", name), |bencher| {
            bencher.iter(|| {
                out.clear();
                text.decode_into(&mut out);
                out.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, strings);
criterion_main!(benches);
