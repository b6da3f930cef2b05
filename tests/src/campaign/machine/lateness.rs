//! How late this machine is: a promise in milliseconds is one of a machine that lets us run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the watch sleeps between two looks.
const NAP: Duration = Duration::from_millis(1);

/// What is promised is handed on so many times, between threads and processes, and each time the
/// next one waits for its turn on a processor.
const HANDS: u32 = 4;

/// How much later than asked for a thread woke at worst, in microseconds.
#[derive(Debug, Default)]
struct Watch {
    worst: AtomicU64,
}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// Begins to watch, unless that is done.
pub(super) fn watch() {
    let mut is_first = false;
    let watch = WATCH.get_or_init(|| {
        is_first = true;
        Watch::default()
    });
    if is_first {
        std::thread::spawn(move || look(watch));
    }
}

fn look(watch: &Watch) {
    loop {
        let asked = Instant::now();
        std::thread::sleep(NAP);
        let late = asked.elapsed().saturating_sub(NAP).as_micros() as u64;
        watch.worst.fetch_max(late, Ordering::Relaxed);
    }
}

/// What a promise is here and now.
pub(super) fn allow(promise: Duration) -> Duration {
    promise + worst() * HANDS
}

fn worst() -> Duration {
    let worst = WATCH.get().map_or(0, |it| it.worst.load(Ordering::Relaxed));
    Duration::from_micros(worst)
}

/// For a report.
pub(super) fn note() -> String {
    let worst = worst().as_secs_f64() * 1_000.0;
    format!("the machine was up to {worst:.1} ms late")
}
