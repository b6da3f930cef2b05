//! Encoding of the lines that a host writes: prompts, answers, requests.

use bowline_jsonl::{Decision, HostRequest, Prompt, RawJson, control_request, permission};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn prompts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode_prompt");
    for length in [100, 10_000, 1_000_000] {
        let text = "Look at \"src\" and\nfix it. ".repeat(length / 26 + 1);
        let prompt = Prompt::text(text);
        group.throughput(Throughput::Bytes(length as u64));
        group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
            bencher.iter(|| prompt.encode());
        });
    }
    group.finish();
}

fn answers(criterion: &mut Criterion) {
    let input = RawJson::parse(r#"{"command":"cargo test","description":"run the tests"}"#);
    criterion.bench_function("encode_permission", |bencher| {
        bencher.iter(|| permission("req-1", &Decision::allow(), input));
    });
    let interrupt = HostRequest::Interrupt {
        cancel_queued: true,
    };
    criterion.bench_function("encode_interrupt", |bencher| {
        bencher.iter(|| control_request("req-2", &interrupt));
    });
}

criterion_group!(benches, prompts, answers);
criterion_main!(benches);
