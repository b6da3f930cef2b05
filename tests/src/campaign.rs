//! Fault campaigns: each repeats one action with random parameters and counts violations.
//!
//! `cargo stress` runs a campaign at its `stress_count` or at `--count`, and with `--ci` at its
//! `ci_count`.

mod both_full;
mod exec_failures;
mod fast_exits;
mod fences;
mod fleet;
mod fleet_simulation;
pub mod hidden;
mod host_killed;
mod hostile_runner;
mod idle_sessions;
mod machine;
mod overlap;
mod prompts;
mod random;
mod rc_files;
mod recordings;
mod remote;
mod scaling;
mod screens;
mod simulation;
mod strangers;
mod support;
mod survivors;
mod trees;

use std::time::Duration;

pub use random::Random;
pub(crate) use remote::cuts::dialogue::configuration as understudy;
pub(crate) use remote::daemon::SHIM;
pub(crate) use support::own;
pub(crate) use support::{describe, marked};

/// A fault campaign.
#[derive(Debug)]
pub struct Campaign {
    /// Name on the command line.
    pub name: &'static str,
    /// What counts as a violation, in one line.
    pub what: &'static str,
    /// Number of runs with `--ci`, on each change.
    pub ci_count: u64,
    /// Number of runs of `cargo stress` without `--count`.
    pub stress_count: u64,
    /// Runs the campaign.
    pub run: fn(&Job) -> Report,
}

impl Campaign {
    /// Duration of one step of a campaign that is a single long run. Such a campaign gets its time in
    /// one batch. `None` for campaigns of many short runs.
    #[must_use]
    pub fn pace(&self) -> Option<Duration> {
        (self.name == "soak").then_some(machine::SOAK_EVERY)
    }

    /// Whether all runs of the campaign are one batch: its count is a size, or its runs cover every
    /// case of something. Such a campaign takes less than an hour at its `stress_count`.
    #[must_use]
    pub fn is_single_batch(&self) -> bool {
        const SINGLE: [&str; 9] = [
            "overlap",
            "scaling",
            "slow-client",
            "idle-sessions",
            "damaged-journal",
            "full-disk",
            "runner-sessions",
            "fleet-wiped",
            "fleet-partition",
        ];
        SINGLE.contains(&self.name)
    }

    /// Whether the campaign starts NATS servers, from the program that `BOWLINE_NATS_SERVER` names.
    #[must_use]
    pub fn needs_nats(&self) -> bool {
        self.name.starts_with("fleet-") && self.name != "fleet-simulation"
    }
}

/// Parameters of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Seed of the random generator.
    pub seed: u64,
    /// Number of runs.
    pub count: u64,
}

/// Results of a campaign.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of completed runs.
    pub done: u64,
    /// Violations, with the parameters that reproduce them.
    pub violations: Vec<String>,
    /// Missed deadlines. Load on the machine can cause them, so that `--ci` does not count them as
    /// violations.
    pub late: Vec<String>,
    /// Measurements.
    pub notes: Vec<String>,
}

impl Report {
    /// Adds the results of a part.
    pub fn merge(&mut self, other: Self) {
        self.done += other.done;
        self.violations.extend(other.violations);
        self.late.extend(other.late);
        self.notes.extend(other.notes);
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn late(&mut self, late: impl Into<String>) {
        self.late.push(late.into());
    }

    fn violation(&mut self, violation: impl Into<String>) {
        self.violations.push(violation.into());
    }

    /// Counts one run and its violation, if any.
    fn one(&mut self, outcome: Result<(), String>) {
        self.done += 1;
        self.violations.extend(outcome.err());
    }
}

/// All campaigns.
pub static ALL: &[Campaign] = &[
    Campaign {
        name: "fast-exits",
        what: "output of a child that exits immediately is truncated or changed, or its exit is reported early",
        ci_count: 1_000,
        stress_count: 100_000,
        run: fast_exits::run,
    },
    Campaign {
        name: "trees",
        what: "a process of an adversarial tree outlives terminate",
        ci_count: 100,
        stress_count: 10_000,
        run: trees::run,
    },
    Campaign {
        name: "survivors",
        what: "a process outlives its session by one of 13 ways of escape, at a level that contains it",
        ci_count: 117,
        stress_count: 3_900,
        run: survivors::run,
    },
    Campaign {
        name: "host-killed",
        what: "a process is left 2 s after the host was killed by SIGKILL",
        ci_count: 50,
        stress_count: 1_000,
        run: host_killed::run,
    },
    Campaign {
        name: "strangers",
        what: "a child inherits a foreign descriptor while 8 threads start children",
        ci_count: 1_000,
        stress_count: 100_000,
        run: strangers::run,
    },
    Campaign {
        name: "exec-failures",
        what: "one of 30 kinds of failed start is reported as a success or as another kind",
        ci_count: 1,
        stress_count: 100,
        run: exec_failures::run,
    },
    Campaign {
        name: "both-full",
        what: "a terminal with both directions full stalls output, write deadline or termination",
        ci_count: 100,
        stress_count: 10_000,
        run: both_full::run,
    },
    Campaign {
        name: "rc-files",
        what: "a hostile start-up file causes a hang, a left process or a wrong login environment",
        ci_count: 1,
        stress_count: 20,
        run: rc_files::run,
    },
    Campaign {
        name: "prompts",
        what: "a prompt is truncated, changed, or refused without a reason",
        ci_count: 200,
        stress_count: 10_000,
        run: prompts::run,
    },
    Campaign {
        name: "simulation",
        what: "a schedule of five hosts, partitions, kills and cuts loses, reorders or repeats \
               output or input",
        ci_count: 75,
        stress_count: 10_000,
        run: simulation::run,
    },
    Campaign {
        name: "hostile-runner",
        what: "a runner that misbehaves makes a host panic, stay silent for 15 s, connect more than \
               30 times a minute, or outstay its end",
        ci_count: 300,
        stress_count: 100_000,
        run: hostile_runner::run,
    },
    Campaign {
        name: "cuts",
        what: "a byte or the exit of a session over cut links is lost, repeated or reordered",
        ci_count: 2_000,
        stress_count: 100_000,
        run: remote::cuts::run,
    },
    Campaign {
        name: "frames",
        what: "a damaged frame is accepted",
        ci_count: 20_000,
        stress_count: 1_000_000,
        run: remote::frames::run,
    },
    Campaign {
        name: "overlap",
        what: "a stream that is cut and then repeated from its beginning has another transcript",
        ci_count: 400,
        stress_count: 100_000,
        run: overlap::run,
    },
    Campaign {
        name: "scaling",
        what: "a stream of twice the size takes more than 2.3 times the instructions or time to fold, \
               or one of 100,000 items more than 2 s (thousands of items)",
        ci_count: 10,
        stress_count: 50,
        run: scaling::run,
    },
    Campaign {
        name: "fences",
        what: "in some schedule a line of a host is written twice, in part, or under an expired \
               lease",
        ci_count: 1_000,
        stress_count: 1_000_000,
        run: fences::run,
    },
    Campaign {
        name: "screens",
        what: "more than one of 1,000 transferred screens differs from the original",
        ci_count: 100,
        stress_count: 100_000,
        run: screens::run,
    },
    Campaign {
        name: "queries",
        what: "a terminal answers a query from before its attach, or a query gets no or two answers",
        ci_count: 500,
        stress_count: 10_000,
        run: screens::queries::run,
    },
    Campaign {
        name: "slow-client",
        what: "a client that stops reading grows runner or shim, delays clients, or gets a wrong gap \
               (MiB)",
        ci_count: 64,
        stress_count: 10_240,
        run: remote::slow_client::run,
    },
    Campaign {
        name: "half-open",
        what: "a stale connection has an effect, or a dead link is not detected in 15 s and \
               replaced in 1 s",
        ci_count: 500,
        stress_count: 10_000,
        run: remote::half_open::run,
    },
    Campaign {
        name: "tokens",
        what: "an unauthenticated client is served, or timing reveals how wrong a token is",
        ci_count: 2_000,
        stress_count: 1_000_000,
        run: remote::tokens::run,
    },
    Campaign {
        name: "floods",
        what: "a flood of connections, heads or pings delays keystrokes or grows the runner \
               (rounds)",
        ci_count: 3,
        stress_count: 20,
        run: remote::floods::run,
    },
    Campaign {
        name: "hostile-client",
        what: "hostile clients block the owner's socket, grow the runner over 200 MiB, or hold an \
               agent back (rounds)",
        ci_count: 1,
        stress_count: 20,
        run: remote::hostile_client::run,
    },
    Campaign {
        name: "idle-sessions",
        what: "an idle shell session holds more than 8 descriptors",
        ci_count: 1_000,
        stress_count: 1_000,
        run: idle_sessions::run,
    },
    Campaign {
        name: "runner-killed",
        what: "a byte or a session is lost when the runner is killed, or a host reconnects late",
        ci_count: 10,
        stress_count: 1_000,
        run: machine::runner_killed,
    },
    Campaign {
        name: "daemon-driver",
        what: "a prompt is lost, or written twice, when the runner is killed while it drives agents",
        ci_count: 5,
        stress_count: 500,
        run: machine::daemon_driver,
    },
    Campaign {
        name: "acp-kills",
        what: "an editor that loads the session of a killed one lacks or repeats a line, is not asked an \
               unanswered permission, or a process is left",
        ci_count: 18,
        stress_count: 1_000,
        run: machine::acp_kills,
    },
    Campaign {
        name: "upgrade",
        what: "a byte or a session is lost when the runner's program is replaced",
        ci_count: 3,
        stress_count: 500,
        run: machine::upgrade,
    },
    Campaign {
        name: "shim-killed",
        what: "a killed shim leaves a process for 250 ms, an invalid journal, or a host without \
               notification",
        ci_count: 50,
        stress_count: 1_000,
        run: machine::shim_killed,
    },
    Campaign {
        name: "damaged-journal",
        what: "a cut, flipped or zeroed byte of a journal is not reported, or causes a panic, a wrong \
               record, or too short a prefix (bytes)",
        ci_count: 300,
        stress_count: 10_000,
        run: machine::damaged_journal,
    },
    Campaign {
        name: "oom",
        what: "an OOM kill of a child is not reported within 1 s, or another process is killed \
               instead",
        ci_count: 10,
        stress_count: 100,
        run: machine::oom,
    },
    Campaign {
        name: "disk",
        what: "a failing disk ends a session, is not reported within 100 ms, or loses output \
               reported as durable",
        ci_count: 120,
        stress_count: 1_920,
        run: machine::disk,
    },
    Campaign {
        name: "full-disk",
        what: "a disk that is full at some byte of a journal affects a client, or the journal lacks the \
               exit, or an end of output that is no gap",
        ci_count: 300,
        stress_count: 9_000,
        run: machine::full_disk,
    },
    Campaign {
        name: "stopped",
        what: "a byte is lost or written twice when a host, the runner, a shim or a child is \
               stopped for a while",
        ci_count: 40,
        stress_count: 1_000,
        run: machine::stopped,
    },
    Campaign {
        name: "descriptors",
        what: "without descriptors or terminals a runner spins, exits or loses its sessions, or \
               departed hosts leave descriptors",
        ci_count: 300,
        stress_count: 10_000,
        run: machine::descriptors,
    },
    Campaign {
        name: "threads",
        what: "without threads and processes a session ends, or a request gets no answer",
        ci_count: 24,
        stress_count: 1_000,
        run: machine::threads,
    },
    Campaign {
        name: "clock",
        what: "a clock step loses a link, a session or a byte",
        ci_count: 4,
        stress_count: 40,
        run: machine::clock,
    },
    Campaign {
        name: "runner-sessions",
        what: "a session costs its runner more than 8 descriptors, or leaves a process",
        ci_count: 50,
        stress_count: 1_000,
        run: machine::runner_sessions,
    },
    // inotify(7) shows names as soon as they appear.
    #[cfg(target_os = "linux")]
    Campaign {
        name: "prompt-files",
        what: "a killed host leaves a prompt in a file, or other users can read one",
        ci_count: 50,
        stress_count: 1_000,
        run: machine::prompt_files,
    },
    Campaign {
        name: "real-agent",
        what: "the real agent under cuts, kills, slow hosts and a full disk has another transcript, \
               or leaves a process",
        ci_count: 10,
        stress_count: 200,
        run: machine::real_agent,
    },
    Campaign {
        name: "fleet-simulation",
        what: "simulated runners and a simulated broker that loses, repeats and delays: a log differs from its journal, or \
               the latest generation does not count",
        ci_count: 100,
        stress_count: 10_000,
        run: fleet_simulation::run,
    },
    Campaign {
        name: "fleet-kills",
        what: "the NATS server that leads is killed, and an acknowledged message is lost, repeated or out of \
               order",
        ci_count: 2,
        stress_count: 20,
        run: fleet::kills,
    },
    Campaign {
        name: "fleet-freezes",
        what: "the same when it is frozen",
        ci_count: 1,
        stress_count: 20,
        run: fleet::freezes,
    },
    Campaign {
        name: "fleet-stops",
        what: "the same when it is stopped by SIGTERM",
        ci_count: 2,
        stress_count: 20,
        run: fleet::stops,
    },
    Campaign {
        name: "fleet-power",
        what: "the same when all three lose their power",
        ci_count: 1,
        stress_count: 5,
        run: fleet::power_cuts,
    },
    Campaign {
        name: "fleet-wiped",
        what: "NATS servers come back without their data while sessions run, and a replica differs from the \
               journal, or a session has noticed (sessions)",
        ci_count: 6,
        stress_count: 100,
        run: fleet::wiped,
    },
    Campaign {
        name: "fleet-partition",
        what: "a runner is cut off from NATS until its lease lapses, another takes sessions over, and an agent is \
               ended, output is lost, or the later generation does not count (seconds of the partition)",
        ci_count: 45,
        stress_count: 600,
        run: fleet::partition,
    },
    Campaign {
        name: "fleet-cuts",
        what: "a dialogue through NATS, whose connection is cut every 200 ms, has another transcript",
        ci_count: 4,
        stress_count: 1_000,
        run: fleet::cuts,
    },
    Campaign {
        name: "soak",
        what: "over links that are cut every 2 s and kills of the runner a byte is lost, a transcript \
               or a reading of the inspector differs, or resource usage grows",
        ci_count: 5,
        stress_count: 900,
        run: machine::soak,
    },
];
