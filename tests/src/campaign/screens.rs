//! Screens that are handed over to another terminal, at any place of any output.
//!
//! The terminal that read everything and the one that came late are `alacritty_terminal`; the late
//! one begins with the screen, and with all the dirt that a terminal can have. Each session is random
//! and handed over at a random byte; one of [`EVERY_BYTE`] is short and handed over at every byte.
//! [`PROGRAMS`] full-screen programs write more than the ring remembers.
//!
//! The two models of a terminal read some output differently before anything is handed over, so that
//! the promise is 999 of 1,000 (terminal notes, G20). Full-screen programs have no such part.

use bowline_runner::SessionScreen;

use self::handoff::compare;
use self::oracle::Oracle;
use self::programs::{RING, SIZE, program};
use self::sessions::Session;
use super::{Job, Random, Report};

// The same that the runner's own tests have.
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

/// One of so many sessions is handed over at every byte, and has so many bytes at most.
const EVERY_BYTE: u64 = 100;
const SHORT: usize = 400;

/// So many full-screen programs are handed over beside, but no more than one of ten sessions.
const PROGRAMS: u64 = 30;

/// Differences that are shown with their session made short.
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
        let told = told(seed, session);
        if is_enough {
            report.note(told);
        } else {
            report.violation(told);
        }
    }
    report
}

/// What was done.
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

/// Hands the beginning of a session over at each of its bytes; how many there were.
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

/// A difference, with the least that shows it.
fn told(seed: u64, session: Session) -> String {
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

/// A program that has written more than the ring keeps; the client reads the ring's last part.
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
