//! Checks that the timing of a refusal does not reveal how much of a token was right: two classes
//! of wrong tokens, sent in random order, and Welch's t of their times (after dudect, Reparaz,
//! Balasch and Verbauwhede 2017). The slowest tenth, which is noise of the machine, is excluded.

use std::time::Instant;

use super::super::super::{Job, Random, Report};
use super::super::http::Caller;
use super::Target;

/// Threshold of t, exceeded by chance in one run in a hundred thousand.
const BOUND: f64 = 4.5;

/// Percentage of the times that is evaluated.
const SHARE: usize = 90;

/// Number of connections that are opened at once.
const CONNECTIONS: usize = 16;

/// Maximum number of refusals measured for each class.
const MOST: u64 = 50_000;

pub(super) async fn compare(target: &Target, job: &Job, report: &mut Report) -> Result<(), String> {
    let mut random = Random::new(job.seed ^ 0x7e57);
    let token = target.daemon.token();
    // All but the last character is right, or none.
    let last = if token.ends_with('0') { '1' } else { '0' };
    let near = format!("{}{last}", token.get(..token.len() - 1).unwrap_or_default());
    let far: String = token.chars().map(other).collect();
    let classes = [near, far];
    let mut times = [Vec::new(), Vec::new()];
    let wanted = (job.count / 2).clamp(500, MOST) as usize;
    while times.iter().any(|it| it.len() < wanted) {
        // They are accepted before they are used, since a refused connection ends.
        let mut callers = Vec::new();
        for _ in 0..CONNECTIONS {
            callers.push(Caller::connect(target.daemon.address(), &mut random).await?);
        }
        for (number, caller) in callers.iter_mut().enumerate() {
            let class = random.below(2) as usize;
            let head = format!(
                "GET /healthz HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
                target.daemon.address(),
                classes[class]
            );
            let started = Instant::now();
            let answer = caller.ask(&head).await?;
            let took = started.elapsed().as_secs_f64() * 1e6;
            target.is_refused(answer.status, &answer.text)?;
            // The last connections may still wait to be accepted while the first ones are used.
            if number >= CONNECTIONS / 2 {
                times[class].push(took);
            }
        }
    }
    let t = welch(&mut times);
    let [near, far] = times.each_ref().map(|it| it.len());
    report.note(format!(
        "a refusal's time: t = {t:+.2} between {near} nearly right and {far} quite wrong tokens"
    ));
    if t.abs() >= BOUND {
        report.late(format!(
            "t = {t:+.2}: the time of a refusal depends on the token"
        ));
    }
    Ok(())
}

/// Another character of the same kind.
fn other(character: char) -> char {
    if character == 'x' { 'y' } else { 'x' }
}

/// Welch's t of two samples, without values above a common bound.
fn welch(times: &mut [Vec<f64>; 2]) -> f64 {
    let mut all: Vec<f64> = times.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let bound = all
        .get(all.len() * SHARE / 100)
        .copied()
        .unwrap_or(f64::MAX);
    let [a, b] = times.each_mut().map(|it| {
        it.retain(|time| *time <= bound);
        let count = it.len().max(2) as f64;
        let mean = it.iter().sum::<f64>() / count;
        let variance = it.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count)
    });
    (a.0 - b.0) / (a.1 + b.1).sqrt().max(f64::MIN_POSITIVE)
}
