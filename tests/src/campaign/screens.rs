//! Screens transferred to another terminal at a random point of the output.
//!
//! Both the terminal that read everything and the one that attaches late are `alacritty_terminal`.
//! The late one starts with arbitrary modes and content, then receives the screen snapshot.
//! Sessions are random and transferred at a random byte; one of [`EVERY_BYTE`] is short and
//! transferred at every byte. [`PROGRAMS`] full-screen programs write more than the ring retains.
//!
//! The two terminal models interpret some output differently even without a transfer, so that the
//! guarantee is 999 of 1,000. Full-screen programs contain no such output.

use bowline_runner::SessionScreen;

use self::handoff::compare;
use self::oracle::Oracle;
use self::programs::{RING, SIZE, program};
use self::sessions::Session;
use super::{Job, Random, Report};

// Shared with the runner's own tests.
#[path = "../../../crates/runner/src/screen/tests/handoff.rs"]
mod handoff;
#[expect(dead_code, reason = "the runner's own tests resize terminals, too")]
#[path = "../../../crates/runner/src/screen/tests/oracle.rs"]
mod oracle;
#[path = "../../../crates/runner/src/screen/tests/programs.rs"]
mod programs;
pub(super) mod queries;
#[path = "../../../crates/runner/src/screen/tests/replay_cases.rs"]
mod replay_cases;
#[path = "../../../crates/runner/src/screen/tests/sessions.rs"]
mod sessions;

/// One of this many sessions is transferred at every byte; the second number is its maximum length.
const EVERY_BYTE: u64 = 100;
const SHORT: usize = 400;

/// Maximum number of full-screen programs, and at most one for ten sessions.
const PROGRAMS: u64 = 30;

/// Number of differences that are reported with a minimized session.
const SHOWN: usize = 5;

pub(super) fn run(job: &Job) -> Report {
    let (mut report, mut sums) = (Report::default(), Sums::default());
    let mut wrong = Vec::new();
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        report.done += 1;
        if number < PROGRAMS.min(job.count / 10) {
            sums.programs += 1;
            let held = full_screen(seed);
            let named = |why| format!("full-screen program {seed}: {why}");
            report.violations.extend(held.err().map(named));
        }
        let session = Session::of(seed);
        sums.places += 1;
        if number % EVERY_BYTE == 0 {
            sums.places += at_every_byte(&session, &mut wrong);
        }
        if session.run().is_err() {
            wrong.push((seed, session));
        }
    }
    report.note(format!("{sums}, {} not exact", wrong.len()));
    let is_enough = wrong.len() as u64 * 1_000 <= sums.places;
    for (seed, session) in wrong.into_iter().take(SHOWN) {
        let describe = describe(seed, session);
        if is_enough {
            report.note(describe);
        } else {
            report.violation(describe);
        }
    }
    report
}

/// Counters of what was tested.
#[derive(Debug, Default)]
struct Sums {
    programs: u64,
    places: u64,
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { programs, places } = self;
        write!(
            f,
            "{programs} full-screen programs and {places} hand-overs of random sessions"
        )
    }
}

/// Transfers a session after each of its bytes and returns how many there were.
fn at_every_byte(session: &Session, wrong: &mut Vec<(u64, Session)>) -> u64 {
    let mut short = session.clone();
    let mut length = 0;
    short.steps.retain(|step| {
        length += step.len();
        length <= SHORT
    });
    let mut places = 0;
    for (step, bytes) in short.steps.iter().map(String::len).enumerate() {
        for byte in 0..bytes {
            let mut session = short.clone();
            session.cut = (step, byte);
            places += 1;
            if session.run().is_err() {
                wrong.push((u64::MAX, session));
            }
        }
    }
    places
}

/// Reports a difference with the shortest session that shows it.
fn describe(seed: u64, session: Session) -> String {
    let session = session.shrunk();
    let difference = session.run().err().unwrap_or_default();
    let Session { size, steps, cut } = session;
    let (rows, cols) = (size.rows, size.cols);
    let from = if seed == u64::MAX {
        "a short session".to_owned()
    } else {
        format!("session {seed}")
    };
    format!("{from}: {rows}x{cols} {steps:?} cut {cut:?}: {difference:?}")
}

/// A program that writes more than the ring retains; the client reads what is left in the ring.
fn full_screen(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let output = program(seed);
    let cut = output.len() - random.below(10_000) as usize;
    let (mut screen, mut at) = (SessionScreen::new(SIZE), 0);
    while at < cut {
        let chunk = (1 + random.below(8_192) as usize).min(cut - at);
        screen.feed(at as u64, &output[at..at + chunk]);
        at += chunk;
    }
    let snapshot = screen.snapshot();
    let from = snapshot.at_offset as usize;
    if output.len() - from >= RING {
        return Err("the ring has lost what follows the screen".to_owned());
    }
    let (mut direct, mut client) = (Oracle::new(SIZE), Oracle::new(SIZE));
    direct.feed(&output);
    client.feed(handoff::DIRT);
    client.feed(&snapshot.bytes);
    client.feed(&output[from..]);
    compare(&mut direct, &mut client)
}
