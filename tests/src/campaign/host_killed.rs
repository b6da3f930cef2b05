//! Hosts that are killed by SIGKILL at a random moment.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bowline_transport::Containment;

use super::support::{describe, left_after, levels, marked, own, percentiles, token};
use super::{Job, Random, Report};

/// How long the tree may outlive its host.
const BOUND: Duration = Duration::from_secs(2);

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let guarded: Vec<_> = levels()
        .into_iter()
        .filter(|level| *level != Containment::Group)
        .collect();
    let mut random = Random::new(job.seed);
    for level in &guarded {
        let count = job.count / guarded.len() as u64;
        let (mut took, mut most) = (Vec::new(), 0);
        for _ in 0..count {
            let seed = random.draw();
            let outcome = one(seed, *level).map(|(gone, seen)| {
                took.push(gone);
                most = most.max(seen);
            });
            report.one(outcome);
        }
        let times = percentiles(took);
        report.note(format!(
            "{level}: {count} hosts, all gone {times} after the kill; up to {most} processes"
        ));
    }
    report
}

fn one(seed: u64, level: Containment) -> Result<(Duration, usize), String> {
    let mut random = Random::new(seed);
    let token = token(&mut random);
    let mut host = Command::new(own());
    host.args([
        super::hidden::HOST,
        &seed.to_string(),
        &level.to_string(),
        &token,
    ]);
    host.env("CAMPAIGN", &token)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut host = host.spawn().map_err(|error| error.to_string())?;
    if random.below(2) == 0
        && let Some(stdout) = host.stdout.take()
    {
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
    }
    std::thread::sleep(Duration::from_micros(random.below(30_000)));
    let seen = marked(&token).len();
    host.kill().map_err(|error| error.to_string())?;
    host.wait().map_err(|error| error.to_string())?;
    let killed = Instant::now();
    let left = left_after(BOUND, &token);
    if left.is_empty() {
        return Ok((killed.elapsed(), seen));
    }
    Err(format!(
        "{level}: host of seed {seed} leaves {}",
        describe(&left)
    ))
}
