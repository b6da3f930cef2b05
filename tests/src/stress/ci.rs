//! `--ci`: each campaign at its CI count, with a fixed seed and in its own process.

use std::io::{self, Write as _};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, thread};

use parking_lot::Mutex;

use super::progress::load;
use super::summary::{Outcome, Summary};
use crate::campaign::Campaign;

/// Seed of every campaign, so that a failure repeats anywhere.
const SEED: u64 = 8;

/// Runs the campaigns, several at once, prints the results of each as it ends, and returns the number of
/// violations.
///
/// # Errors
///
/// A process cannot be started, or the results cannot be read or printed.
pub(super) fn run(campaigns: &[&'static Campaign]) -> Result<u64, String> {
    let folder =
        tempfile::tempdir().map_err(|error| format!("failed to make a folder: {error}"))?;
    let queue = Mutex::new(campaigns.iter());
    let outcomes = Mutex::new(Vec::new());
    let take_turns = || -> Result<(), String> {
        loop {
            // A `while let` would hold the lock during the run.
            let Some(campaign) = queue.lock().next() else {
                return Ok(());
            };
            let outcome = one(campaign, &folder.path().join(campaign.name))?;
            print(&outcome.text(SEED))?;
            outcomes.lock().push(outcome);
        }
    };
    // One more than processors, since most campaigns wait for deadlines and for their children.
    let jobs = thread::available_parallelism().map_or(1, NonZero::get) + 1;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(take_turns)).collect();
        let mut workers = workers.into_iter();
        workers.try_for_each(|worker| {
            let joined = worker.join();
            joined.map_err(|_| "a worker panicked".to_owned())?
        })
    })?;
    let mut summary = Summary::new(SEED);
    summary.campaigns = outcomes.into_inner();
    print(&last_line(&summary))?;
    Ok(summary.violation_count())
}

/// Runs one campaign. A process that ends without results is a violation.
fn one(campaign: &Campaign, file: &Path) -> Result<Outcome, String> {
    let failed = |error: String| format!("failed to run {}: {error}", campaign.name);
    let program = env::current_exe().map_err(|error| failed(error.to_string()))?;
    let (seed, count) = (SEED.to_string(), campaign.ci_count.to_string());
    let mut process = Command::new(program);
    process.args([campaign.name, "--clock", "report"]);
    process.args(["--seed", &seed, "--count", &count, "--json"]);
    process.arg(file).stdin(Stdio::null());
    let output = process
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let outcome = load(file, Some(SEED))?.and_then(|mut it| it.campaigns.pop());
    match outcome {
        Some(outcome) if output.status.success() == (outcome.violation_count == 0) => Ok(outcome),
        _ => {
            let errors = String::from_utf8_lossy(&output.stderr);
            let what = format!("the process ended with {}: {errors}", output.status);
            Ok(Outcome::without_results(campaign, SEED, what))
        }
    }
}

/// Formats the number of campaigns, and the names of those that failed or did nothing.
fn last_line(summary: &Summary) -> String {
    let all = &summary.campaigns;
    let names = |of: &dyn Fn(&Outcome) -> bool| {
        let names: Vec<_> = all
            .iter()
            .filter(|&it| of(it))
            .map(|it| &*it.name)
            .collect();
        match names.as_slice() {
            [] => "none".to_owned(),
            names => names.join(" "),
        }
    };
    let failed = names(&|it| it.violation_count > 0);
    let skipped = names(&|it| it.violation_count == 0 && it.done == 0);
    format!(
        "campaigns: {}; failed: {failed}; skipped: {skipped}\n",
        all.len()
    )
}

fn print(text: &str) -> Result<(), String> {
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|error| format!("failed to print the results: {error}"))
}
