//! Descriptors that leak into children.

use std::process::{Command, Stdio};

use bowline_transport::{Piece, PtyMode, Stream};

use super::support::{hidden, on_pty, own, start, within};
use super::{Job, Report};

const THREADS: u64 = 8;

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    // The descriptors that this process inherited, read before it starts any session.
    let usual = match stranger() {
        Ok(printed) => numbers(&printed),
        Err(error) => {
            report.violation(error);
            return report;
        }
    };
    let parts: Vec<_> = (0..THREADS)
        .map(|thread| {
            let count = job.count / THREADS + u64::from(thread < job.count % THREADS);
            let usual = usual.clone();
            std::thread::spawn(move || part(count, &usual))
        })
        .collect();
    for part in parts {
        match part.join() {
            Ok(part) => report.merge(part),
            Err(_) => report.violation("a thread panicked"),
        }
    }
    report
}

fn part(count: u64, usual: &[String]) -> Report {
    let mut report = Report::default();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("a runtime can be made");
    // The three standard streams, and the directory stream used to list the descriptors.
    let own = ["0", "1", "2", "3"].map(String::from);
    for number in 0..count {
        report.one(match number % 4 {
            0 => stranger().and_then(|printed| check(&printed, usual)),
            _ => runtime
                .block_on(session(number % 2 == 0))
                .and_then(|printed| check(&printed, &own)),
        });
    }
    report
}

/// Starts a child without the session API and returns its descriptors.
fn stranger() -> Result<String, String> {
    let mut command = Command::new(own());
    command
        .arg(super::hidden::DESCRIPTORS)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

async fn session(is_pty: bool) -> Result<String, String> {
    let mut configuration = hidden(super::hidden::DESCRIPTORS, &[]);
    if is_pty {
        configuration = on_pty(configuration, PtyMode::Raw);
    }
    let session = start(configuration)?;
    within("exit", session.exited()).await?;
    let mut output = session.reader(Stream::Output);
    let mut printed = Vec::new();
    while let Some(Piece::Bytes { bytes, .. }) = output.try_next() {
        printed.extend_from_slice(&bytes);
    }
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

fn check(printed: &str, expected: &[String]) -> Result<(), String> {
    if numbers(printed) == expected {
        return Ok(());
    }
    Err(format!("a child has {printed:?}"))
}

fn numbers(printed: &str) -> Vec<String> {
    let one = |one: &str| one.split('=').next().map(String::from);
    printed.split_whitespace().filter_map(one).collect()
}
