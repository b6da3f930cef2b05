//! Prompts of 1 byte to 10 MiB, of all byte values, typed into programs that read pastes, keys or
//! lines.

pub(super) mod program;

use std::time::Duration;

use bowline_shell::{
    Refusal, SessionEvent, SessionEvents, ShellConfiguration, ShellProgram, ShellSession,
    Submission, SubmitOptions, SubmitOutcome,
};

use self::program::{Kind, Sum};
use super::support::{in_lanes, own, within};
use super::{Job, Random, Report};

/// Number of prompts typed concurrently, each into its own program.
const LANES: u64 = 4;

pub(super) fn run(job: &Job) -> Report {
    in_lanes(job, LANES, |_, random| one(random))
}

async fn one(mut random: Random) -> Result<(), String> {
    let kind = [Kind::Paste, Kind::Paste, Kind::Lines, Kind::Keys][random.below(4) as usize];
    let prompt = prompt(&mut random);
    let named = |error: String| format!("{kind:?}, {} bytes: {error}", prompt.len());
    let mut configuration = ShellConfiguration::new("/");
    let args = [program::MODE, kind.name()].map(Into::into);
    configuration.program = ShellProgram::Command(own().into(), args.into());
    let session = ShellSession::start(configuration)
        .await
        .map_err(|error| named(error.to_string()))?;
    let mut events = session.subscribe_from_start();
    line(&mut events, |line| line == "ready")
        .await
        .map_err(named)?;
    let submission = within("submit", session.submit(&prompt, options(kind)))
        .await
        .map_err(named)?;
    check(kind, &prompt, &submission, &mut events)
        .await
        .map_err(named)?;
    let report = within("the end", session.kill()).await.map_err(named)?;
    if report.survivors.is_empty() {
        return Ok(());
    }
    Err(named(format!("{report:?}")))
}

fn options(kind: Kind) -> SubmitOptions {
    let patient = SubmitOptions {
        settle: Duration::from_millis(1),
        read_within: Duration::from_secs(30),
        ..SubmitOptions::default()
    };
    match kind {
        Kind::Paste => patient,
        // It will not ask for one.
        Kind::Keys | Kind::Lines => SubmitOptions {
            ready_within: Duration::from_millis(20),
            ..patient
        },
    }
}

/// Checks that a prompt was delivered completely, or refused for a valid reason with nothing
/// written.
async fn check(
    kind: Kind,
    prompt: &[u8],
    submission: &Submission,
    events: &mut SessionEvents,
) -> Result<(), String> {
    let mut text = stripped(prompt);
    let longest = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    let needs_paste = text.iter().any(|byte| b"\n\t".contains(byte));
    let holds = match (&submission.outcome, kind) {
        (SubmitOutcome::Submitted | SubmitOutcome::TypedUnverified, _) => {
            if kind == Kind::Lines {
                text.push(b'\n');
            }
            return arrived(&text, events).await;
        }
        (SubmitOutcome::Refused(Refusal::Empty), _) => text.is_empty(),
        (SubmitOutcome::Refused(Refusal::NeedsPaste), Kind::Keys) => needs_paste,
        (SubmitOutcome::Refused(Refusal::LineTooLong { length, limit }), Kind::Lines) => {
            *length == longest && longest > *limit
        }
        _ => false,
    };
    if holds && submission.typed == 0 {
        return Ok(());
    }
    Err(format!("{submission:?}"))
}

/// Computes the sanitized prompt independently of the product's code.
fn stripped(prompt: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in prompt.utf8_chunks() {
        let mut valid = chunk.valid().to_owned();
        for mark in ["\x1b[200~", "\x1b[201~", "\u{9b}200~", "\u{9b}201~"] {
            // The replacement must not be empty, or the bytes around it would join to another
            // sequence.
            valid = valid.replace(mark, "\0");
        }
        let valid = valid.replace("\r\n", "\n").replace('\r', "\n");
        let kept = |c: &char| !c.is_control() || "\n\t".contains(*c);
        text.extend(valid.chars().filter(kept).collect::<String>().into_bytes());
        text.extend(
            chunk
                .invalid()
                .iter()
                .filter(|byte| !(0x80..0xa0).contains(*byte)),
        );
    }
    text
}

async fn arrived(text: &[u8], events: &mut SessionEvents) -> Result<(), String> {
    let mut sum = Sum::default();
    sum.add(text);
    let wanted = sum.to_string();
    // Lengths are printed while lines arrive; only the last one is final.
    let last = |line: &str| program::length(line).is_some_and(|length| length >= text.len());
    let got = line(events, last).await?;
    if got == wanted {
        return Ok(());
    }
    Err(format!("arrived as {got:?}, wanted {wanted:?}"))
}

async fn line(events: &mut SessionEvents, wanted: impl Fn(&str) -> bool) -> Result<String, String> {
    let mut last = String::new();
    let found = async {
        while let Some(event) = events.next().await {
            if let SessionEvent::Output { line, .. } = event {
                last = line;
                if wanted(&last) {
                    return true;
                }
            }
        }
        false
    };
    match within("a line of the program", found).await {
        Ok(true) => Ok(last),
        Ok(false) => Err(format!("it ended after {last:?}")),
        Err(error) => Err(format!("{error}, after {last:?}")),
    }
}

/// Most lengths are short, some long, a few up to 10 MiB; sizes close to those of queues are more
/// frequent.
fn prompt(random: &mut Random) -> Vec<u8> {
    let most = match random.below(100) {
        0 => 10 << 20,
        1..10 => 1 << 20,
        _ => 1 << 16,
    };
    let bits = random.below(u64::from(u64::ilog2(most)) + 1);
    let length = match random.below(4) {
        0 => [63, 64, 1023, 1024, 4094, 4095, 4096, 4097, 8192][random.below(9) as usize],
        _ => (1 << bits) + random.below(1 << bits),
    };
    let length = usize::try_from(length.clamp(1, most)).unwrap_or(1);
    match random.below(4) {
        0 | 1 => random.bytes(length),
        2 => random
            .bytes(length)
            .into_iter()
            .map(|byte| b'a' + byte % 26)
            .collect(),
        _ => hostile(random, length),
    }
}

/// Repeats bytes that would end a paste, press a key or break a line.
fn hostile(random: &mut Random, length: usize) -> Vec<u8> {
    let parts = [
        "\x1b[201~",
        "\x1b[200~",
        "\x1b",
        "[201~",
        "\r\n",
        "\r",
        "\n",
        "\x03",
        "\x04",
        "\u{9b}201~",
        "\u{e9}",
        "word ",
    ];
    let mut prompt = String::with_capacity(length + 8);
    while prompt.len() < length {
        prompt.push_str(parts[random.below(parts.len() as u64) as usize]);
    }
    prompt.into_bytes()
}
