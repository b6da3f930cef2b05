//! Runs one campaign: `stress NAME [--seed N] [--count N]`, or lists them: `stress --list`.
//!
//! Ends with 1 on a violation. The same seed makes the same choices; the machine's scheduling is
//! its own.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use bowline_tests::campaign::{ALL, Campaign, Job, hidden};

/// Violations shown; the rest is counted.
const SHOWN: usize = 10;

fn main() -> ExitCode {
    if let Some(code) = bowline_transport::run_guard() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = hidden::run(&args) {
        return code;
    }
    let (text, code) = match read(&args) {
        Ok(None) => (list(), ExitCode::SUCCESS),
        Ok(Some((campaign, job))) => run(campaign, &job),
        Err(error) => (format!("{error}\n\n{}", list()), ExitCode::from(2)),
    };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn read(args: &[String]) -> Result<Option<(&'static Campaign, Job)>, String> {
    let (mut campaign, mut seed, mut count) = (None, None, None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            let text = words
                .next()
                .ok_or_else(|| format!("{word} needs a number"))?;
            text.parse()
                .map_err(|_| format!("{word} needs a number, not {text:?}"))
        };
        match word.as_str() {
            "--list" => return Ok(None),
            "--seed" => seed = Some(number()?),
            "--count" => count = Some(number()?),
            name => {
                let found = ALL.iter().find(|one| one.name == name);
                campaign =
                    Some(found.ok_or_else(|| format!("no campaign {name:?}, see the list"))?);
            }
        }
    }
    let campaign = campaign.ok_or("name a campaign, see the list")?;
    let job = Job {
        seed: seed.unwrap_or_else(any_seed),
        count: count.unwrap_or(campaign.second),
    };
    Ok(Some((campaign, job)))
}

fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

fn list() -> String {
    let mut text = String::from("campaign        tests   stress  a violation is that\n");
    for Campaign {
        name,
        what,
        first,
        second,
        ..
    } in ALL
    {
        let _ = writeln!(text, "{name:14} {first:6} {second:8}  {what}");
    }
    text
}

fn run(campaign: &Campaign, job: &Job) -> (String, ExitCode) {
    let started = Instant::now();
    let report = (campaign.run)(job);
    let took = started.elapsed().as_secs_f64();
    let mut text = format!("{}: {}\n", campaign.name, campaign.what);
    let violations = report.violations.len();
    let _ = writeln!(
        text,
        "seed {}, count {}, violations {violations}, {took:.1} s",
        job.seed, report.done
    );
    for note in &report.notes {
        let _ = writeln!(text, "  {note}");
    }
    for violation in report.violations.iter().take(SHOWN) {
        let _ = writeln!(text, "  VIOLATION {violation}");
    }
    (text, ExitCode::from(u8::from(violations > 0)))
}
