//! Command-line arguments of `cargo stress`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Parser;

use super::batch::Clock;
use super::list::after_help;
use crate::campaign::{ALL, Campaign};

/// The name that selects every campaign that needs no NATS server.
const ALL_NAMES: &str = "all";

/// Upper bound of `--minutes`: one week.
const MAX_MINUTES: f64 = 7.0 * 24.0 * 60.0;

/// Repeats the action of each campaign with random parameters and counts violations. Exits with 1
/// on a violation. A seed determines every choice, but not the scheduling of the machine.
#[derive(Debug, Parser)]
#[command(name = "stress", bin_name = "cargo stress", after_help = after_help())]
pub struct Arguments {
    /// The campaigns to run, the first word of several, or `all`: those that need no NATS server,
    /// as `.ci/nats cargo stress fleet` has it
    #[arg(value_name = "NAME", required_unless_present = "list")]
    names: Vec<String>,

    /// Print the table of campaigns
    #[arg(long)]
    pub(super) list: bool,

    /// Seed of the random generator
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// Number of runs of each campaign
    #[arg(long, value_name = "N")]
    pub(super) count: Option<u64>,

    /// Run batches, each with its own seed, until this many minutes have passed; the time is
    /// divided equally between the campaigns. Without --count, only the time bounds the run
    #[arg(long, value_name = "M", value_parser = minutes)]
    minutes: Option<f64>,

    /// Save the results to this file after every batch, and resume from it with the same seed and
    /// the remaining runs
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,

    /// Whether a missed deadline is a violation (enforce) or only a note (report), for a machine
    /// under other load
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub(super) clock: Clock,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,

    /// Run each campaign once at its CI count, with a fixed seed and in its own process, several at
    /// once; a missed deadline is only a note
    #[arg(
        long,
        conflicts_with_all = ["seed", "count", "minutes", "resume", "clock", "json"]
    )]
    pub(super) ci: bool,
}

impl Arguments {
    /// Returns the selected campaigns, each once, in the order of the list.
    ///
    /// # Errors
    ///
    /// A name is unknown; the message contains it.
    pub(super) fn campaigns(&self) -> Result<Vec<&'static Campaign>, String> {
        let is_known = |name: &str| name == ALL_NAMES || ALL.iter().any(|one| is_of(one, name));
        if let Some(name) = self.names.iter().find(|name| !is_known(name)) {
            return Err(format!(
                "unknown campaign {name:?}; `cargo stress --list` shows all campaigns"
            ));
        }
        let is_named = |one: &Campaign| {
            let mut names = self.names.iter();
            names.any(|name| is_of(one, name) || name == ALL_NAMES && !one.needs_nats())
        };
        Ok(ALL.iter().filter(|one| is_named(one)).collect())
    }

    /// Time for all campaigns together.
    pub(super) fn time(&self) -> Option<Duration> {
        self.minutes
            .map(|minutes| Duration::from_secs_f64(minutes * 60.0))
    }

    /// Number of runs of a campaign, or `None` if only the time is bounded.
    pub(super) fn wanted(&self, campaign: &Campaign) -> Option<u64> {
        let or_default = || self.minutes.is_none().then_some(campaign.stress_count);
        self.count.or_else(or_default)
    }
}

/// Whether a name is that of a campaign, or of a group: `fleet` selects each `fleet-NAME`.
fn is_of(campaign: &Campaign, name: &str) -> bool {
    let rest = campaign.name.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn minutes(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|it| (0.0..=MAX_MINUTES).contains(it));
    number.ok_or_else(|| format!("expected a number of minutes from 0 to {MAX_MINUTES}"))
}

/// Derives a seed from the current time.
pub(super) fn seed_from_time() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("stress").chain(line.split(' ')))
    }

    #[test]
    fn all_selects_every_campaign_without_nats_servers_once() {
        let arguments = read("all simulation").expect("both can be named");
        let campaigns = arguments.campaigns().expect("both are known");
        let without: Vec<_> = ALL.iter().filter(|one| !one.needs_nats()).collect();
        assert_eq!(campaigns.len(), without.len());
        assert_eq!(without.len(), ALL.len() - 7);
    }

    #[test]
    fn first_word_selects_a_group() {
        let names = |line| {
            let campaigns = read(line).expect("a name is a word").campaigns();
            let campaigns = campaigns.expect("known").into_iter();
            campaigns.map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(names("runner"), ["runner-killed", "runner-sessions"]);
        assert_eq!(names("disk"), ["disk"]);
    }

    #[test]
    fn unknown_campaign_is_refused() {
        let arguments = read("simulation walk").expect("a name is a word");
        let error = arguments.campaigns().expect_err("unknown");
        assert!(error.contains("\"walk\""), "{error}");
    }

    #[test]
    fn minutes_alone_have_no_count() {
        let simulation = ALL.iter().find(|one| one.name == "simulation");
        let simulation = simulation.expect("in the list");
        let wanted = |line| read(line).expect("valid arguments").wanted(simulation);
        assert_eq!(wanted("simulation"), Some(simulation.stress_count));
        assert_eq!(wanted("simulation --minutes 0.5"), None);
        assert_eq!(wanted("simulation --minutes 0.5 --count 9"), Some(9));
    }

    #[test]
    fn invalid_minutes_are_refused() {
        for wrong in ["-1", "NaN", "inf", "soon", "1e9"] {
            let line = format!("all --minutes={wrong}");
            assert!(read(&line).is_err(), "{wrong}");
        }
    }
}
