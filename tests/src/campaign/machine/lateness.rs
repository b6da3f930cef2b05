//! Measures the scheduling delay of this machine, since deadlines in milliseconds assume an idle
//! one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Sleep interval of the measuring thread.
const SLEEP: Duration = Duration::from_millis(1);

/// Number of handovers between threads and processes within a deadline; each can be delayed by the
/// scheduler.
const HANDS: u32 = 4;

/// Longest delay of a wake-up, in microseconds.
#[derive(Debug, Default)]
struct Watch {
    worst: AtomicU64,
}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// Starts the measuring thread, unless it runs.
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
        let started = Instant::now();
        std::thread::sleep(SLEEP);
        let late = started.elapsed().saturating_sub(SLEEP).as_micros() as u64;
        watch.worst.fetch_max(late, Ordering::Relaxed);
    }
}

/// The deadline extended by the measured delay.
pub(super) fn allow(promise: Duration) -> Duration {
    promise + worst() * HANDS
}

fn worst() -> Duration {
    let worst = WATCH.get().map_or(0, |it| it.worst.load(Ordering::Relaxed));
    Duration::from_micros(worst)
}

/// Formats the measured delay for a report.
pub(super) fn note() -> String {
    let worst = worst().as_secs_f64() * 1_000.0;
    format!("the machine was up to {worst:.1} ms late")
}
