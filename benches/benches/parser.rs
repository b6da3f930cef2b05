//! The parser on every corpus, with raw and with decoded strings.

use bowline_benches::contenders::{Contender, Slice};
use bowline_benches::corpus::Corpus;
use bowline_benches::job::Ends;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// One slice, of the size that `cargo bench-peers` uses.
const SIZE: usize = 4 << 20;

fn parser(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parser");
    for corpus in Corpus::ALL {
        let bytes = corpus
            .generate(SIZE)
            .expect("the recordings lie in the repository");
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        for contender in [Contender::Bowline, Contender::BowlineDecoded] {
            let mut slice = Slice::new(bytes.clone());
            let id = BenchmarkId::new(contender.name(), corpus.name());
            group.bench_function(id, |bencher| {
                bencher.iter(|| contender.run::<Ends>(&mut slice).expect("valid lines"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, parser);
criterion_main!(benches);
