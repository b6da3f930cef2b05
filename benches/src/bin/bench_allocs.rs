//! Counts the allocations per line. A separate program, because the counting allocator slows down
//! contenders that allocate.

use std::alloc::System;
use std::io::{self, Write as _};
use std::process::ExitCode;

use bowline_benches::contenders::{Contender, Refused, Slice};
use bowline_benches::corpus::{Corpus, DEFAULT_SIZE, SourceError};
use bowline_benches::exit_code;
use bowline_benches::job::Ends;
use bowline_benches::peers::fit;
use bowline_benches::reduce::{Feed, Outcome};
use bytes::Bytes;
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Size of a corpus in bytes; the counts of a parser do not depend on it.
const SIZE: usize = 4 << 20;

/// Size of a corpus for the reducer, in bytes. Part of what a transcript holds beside its texts
/// does not grow with its length: recent uuids, and the unused space of the current chunk.
const LONG: usize = DEFAULT_SIZE;

/// Counts the allocations per line, for every contender
#[derive(Debug, Parser)]
#[command(name = "bench-allocs", bin_name = "cargo bench-allocs")]
struct Arguments {
    /// Corpus; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    corpus: Vec<Corpus>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    exit_code(
        Arguments::parse()
            .run()
            .map_err(|error| format!("failed to {error}")),
    )
}

impl Arguments {
    fn run(&self) -> Result<(), Box<dyn std::error::Error>> {
        let corpora = if self.corpus.is_empty() {
            &Corpus::ALL[..]
        } else {
            &self.corpus
        };
        for &corpus in corpora {
            let bytes = stream(corpus, SIZE)?;
            self.measure(corpus.name(), &bytes)?;
            self.reduce(corpus.name(), stream(corpus, LONG)?)?;
            if corpus == Corpus::Partial {
                self.measure("deltas", &deltas(&bytes))?;
            }
        }
        Ok(())
    }

    /// Measures the reducer alone, and the memory that it holds at the end.
    fn reduce(&self, name: &str, bytes: Bytes) -> Result<(), Box<dyn std::error::Error>> {
        let (mut feed, mut calls, mut held) = (Feed::default(), 0, 0);
        feed.around(bytes, |apply| {
            let region = Region::new(ALLOCATOR);
            apply();
            let change = region.change();
            calls += change.allocations + change.reallocations;
            held += change.bytes_allocated as i64 - change.bytes_deallocated as i64;
        });
        let each = calls as f64 / feed.transcript.stats().lines() as f64;
        // The results of `huge` belong to no call, so there is no content to compare with.
        let content = Outcome::of(&feed.transcript).bytes;
        let heap = (content > 0).then(|| format!("{:.3}", held as f64 / content as f64));
        let line = if self.json {
            let heap = heap.unwrap_or_else(|| "null".into());
            format!(
                "{{\"corpus\":\"{name}\",\"contender\":\"reducer\",\"allocations_per_event\":{each:.4},\"heap_per_content_byte\":{heap}}}\n"
            )
        } else {
            let heap = heap.unwrap_or_else(|| "-".into());
            format!(
                "{name:<10}{:<20}{each:>12.4} allocations/event{heap:>14} heap bytes/content byte\n",
                "reducer"
            )
        };
        let written = io::stdout().lock().write_all(line.as_bytes());
        Ok(written.map_err(|error| format!("write the figures: {error}"))?)
    }

    fn measure(&self, name: &str, bytes: &Bytes) -> Result<(), Box<dyn std::error::Error>> {
        for contender in Contender::ALL {
            let (calls, size) = per_event(contender, bytes)
                .map_err(|refused| format!("let {} take {refused}", contender.name()))?;
            let contender = contender.name();
            let line = if self.json {
                format!(
                    "{{\"corpus\":\"{name}\",\"contender\":\"{contender}\",\"allocations_per_event\":{calls:.4},\"bytes_per_event\":{size:.1}}}\n"
                )
            } else {
                format!(
                    "{name:<10}{contender:<20}{calls:>12.4} allocations/event{size:>14.1} bytes/event\n"
                )
            };
            io::stdout()
                .lock()
                .write_all(line.as_bytes())
                .map_err(|error| format!("write the figures: {error}"))?;
        }
        Ok(())
    }
}

fn stream(corpus: Corpus, size: usize) -> Result<Bytes, SourceError> {
    Ok(fit(&corpus.generate(size)?).0)
}

/// Selects the lines of streamed deltas, the most frequent kind.
fn deltas(bytes: &[u8]) -> Bytes {
    bytes
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| {
            line.windows(21)
                .any(|part| part == b"\"content_block_delta\"")
        })
        .flatten()
        .copied()
        .collect()
}

/// Returns allocations and allocated bytes per line.
fn per_event(contender: Contender, bytes: &Bytes) -> Result<(f64, f64), Refused> {
    let mut slice = Slice::new(bytes.clone());
    contender.prepare(&mut slice);
    let region = Region::new(ALLOCATOR);
    let events = contender.run::<Ends>(&mut slice)?.events as f64;
    let change = region.change();
    let calls = (change.allocations + change.reallocations) as f64;
    Ok((calls / events, change.bytes_allocated as f64 / events))
}
