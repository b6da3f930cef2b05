//! What is asked for on the command line.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Parser;

use super::batch::Clock;
use super::list::list;
use crate::campaign::{ALL, Campaign};

/// The name that stands for every campaign.
const EVERY: &str = "all";

/// The longest time that can be asked for, in minutes: a week.
const LONGEST: f64 = 7.0 * 24.0 * 60.0;

/// Does the same deed over and over, each time with another seed, and counts what went wrong. Ends
/// with 1 on a violation. The same seed makes the same choices; the machine's scheduling is its own.
#[derive(Debug, Parser)]
#[command(name = "stress", bin_name = "cargo stress", after_help = list())]
pub struct Arguments {
    /// The campaigns to run, or `all`
    #[arg(value_name = "NAME", required_unless_present = "list")]
    names: Vec<String>,

    /// Show what campaigns there are
    #[arg(long)]
    pub(super) list: bool,

    /// Where every choice comes from
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// How often to do the deed of each campaign
    #[arg(long, value_name = "N")]
    pub(super) count: Option<u64>,

    /// Run batches, each with a seed of its own, until so much time is used by all campaigns
    /// together; each has an equal share. Without --count, time alone is the bound
    #[arg(long, value_name = "M", value_parser = minutes)]
    minutes: Option<f64>,

    /// Keep what is done in this file after every batch, and go on from it after a stop
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,

    /// Whether what is late is a violation (judges) or is only told (is-heard), for a machine that
    /// does other things beside
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub(super) clock: Clock,

    /// Write what came of it to this file
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

impl Arguments {
    /// The campaigns that are named, each once, in the order of the list.
    ///
    /// # Errors
    ///
    /// There is none of a name; the text says which.
    pub(super) fn campaigns(&self) -> Result<Vec<&'static Campaign>, String> {
        let is_known = |name: &str| name == EVERY || ALL.iter().any(|one| one.name == name);
        if let Some(name) = self.names.iter().find(|name| !is_known(name)) {
            return Err(format!(
                "no campaign {name:?}: `cargo stress --list` names them"
            ));
        }
        let is_named = |one: &Campaign| {
            let mut names = self.names.iter();
            names.any(|name| name == EVERY || name == one.name)
        };
        Ok(ALL.iter().filter(|one| is_named(one)).collect())
    }

    /// The time there is, for all campaigns together.
    pub(super) fn time(&self) -> Option<Duration> {
        self.minutes
            .map(|minutes| Duration::from_secs_f64(minutes * 60.0))
    }

    /// How often a campaign is to be done; `None` while there is time.
    pub(super) fn wanted(&self, campaign: &Campaign) -> Option<u64> {
        let or_second = || self.minutes.is_none().then_some(campaign.second);
        self.count.or_else(or_second)
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|it| (0.0..=LONGEST).contains(it));
    number.ok_or_else(|| format!("a number of minutes from 0 to {LONGEST}"))
}

/// A seed that was not there before.
pub(super) fn any_seed() -> u64 {
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
    fn all_names_every_campaign_once() {
        let arguments = read("all simulation").expect("both can be named");
        let campaigns = arguments.campaigns().expect("both are known");
        assert_eq!(campaigns.len(), ALL.len());
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let arguments = read("simulation walk").expect("a name is a word");
        let error = arguments.campaigns().expect_err("there is no such");
        assert!(error.contains("\"walk\""), "{error}");
    }

    #[test]
    fn time_alone_has_no_count() {
        let simulation = ALL.iter().find(|one| one.name == "simulation");
        let simulation = simulation.expect("in the list");
        let wanted = |line| read(line).expect("well said").wanted(simulation);
        assert_eq!(wanted("simulation"), Some(simulation.second));
        assert_eq!(wanted("simulation --minutes 0.5"), None);
        assert_eq!(wanted("simulation --minutes 0.5 --count 9"), Some(9));
    }

    #[test]
    fn minutes_are_a_number_of_minutes() {
        for wrong in ["-1", "NaN", "inf", "soon", "1e9"] {
            let line = format!("all --minutes={wrong}");
            assert!(read(&line).is_err(), "{wrong}");
        }
    }
}
