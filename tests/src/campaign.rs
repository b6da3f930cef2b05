//! Campaigns: the same deed over and over with another seed, and a count of what went wrong.
//!
//! The tests run each at its first number, `cargo stress` at the second or at any other.

mod both_full;
mod exec_failures;
mod fast_exits;
mod fences;
pub mod hidden;
mod host_killed;
mod idle_sessions;
mod machine;
mod prompts;
mod random;
mod rc_files;
mod remote;
mod screens;
mod simulation;
mod strangers;
mod support;
mod trees;

use std::time::Duration;

pub use random::Random;

/// One campaign.
#[derive(Debug)]
pub struct Campaign {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What a violation would be, in a line.
    pub what: &'static str,
    /// How often the tests do it.
    pub first: u64,
    /// How often `cargo stress` does it.
    pub second: u64,
    /// The deed.
    pub run: fn(&Job) -> Report,
}

impl Campaign {
    /// How long one deed takes, of a campaign that is one long run and not many short ones: it gets
    /// its time as a whole and not in batches.
    #[must_use]
    pub fn pace(&self) -> Option<Duration> {
        (self.name == "soak").then_some(machine::SOAK_EVERY)
    }
}

/// What a campaign is given.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Where every choice comes from.
    pub seed: u64,
    /// How often.
    pub count: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// How often it was done.
    pub done: u64,
    /// What went wrong, with what is needed to see it again.
    pub violations: Vec<String>,
    /// What took longer than it may. A machine that does other things makes it so by itself: the
    /// tests, which may run on one, do without the clock and count none of these.
    pub late: Vec<String>,
    /// What was measured.
    pub notes: Vec<String>,
}

impl Report {
    /// Adds what came of a part.
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

    /// Counts one deed, and what went wrong with it.
    fn one(&mut self, outcome: Result<(), String>) {
        self.done += 1;
        self.violations.extend(outcome.err());
    }
}

/// Every campaign there is.
pub static ALL: &[Campaign] = &[
    Campaign {
        name: "fast-exits",
        what: "output of a child that ends at once is cut or changed, or its end is told too early",
        first: 2_000,
        second: 100_000,
        run: fast_exits::run,
    },
    Campaign {
        name: "trees",
        what: "somebody of an adversarial tree outlives terminate",
        first: 100,
        second: 10_000,
        run: trees::run,
    },
    Campaign {
        name: "host-killed",
        what: "somebody is left 2 s after the host was killed by SIGKILL",
        first: 50,
        second: 1_000,
        run: host_killed::run,
    },
    Campaign {
        name: "strangers",
        what: "a child has a descriptor that is not its own, while 8 threads start some",
        first: 2_000,
        second: 100_000,
        run: strangers::run,
    },
    Campaign {
        name: "exec-failures",
        what: "one of 30 ways to fail a start is taken for a success, or for another",
        first: 1,
        second: 100,
        run: exec_failures::run,
    },
    Campaign {
        name: "both-full",
        what: "a terminal with both sides full stops its output, its deadline or its end",
        first: 100,
        second: 10_000,
        run: both_full::run,
    },
    Campaign {
        name: "rc-files",
        what: "a hostile start-up file hangs us, leaves a process, or spoils the login environment",
        first: 1,
        second: 20,
        run: rc_files::run,
    },
    Campaign {
        name: "prompts",
        what: "a prompt arrives shortened or changed, or is refused without a reason",
        first: 200,
        second: 10_000,
        run: prompts::run,
    },
    Campaign {
        name: "simulation",
        what: "a schedule of five hosts, partitions, kills and cuts breaks \"one piece, in order, \
               typed once\"",
        first: 500,
        second: 10_000,
        run: simulation::run,
    },
    Campaign {
        name: "cuts",
        what: "a byte of a session over cut links is lost, repeated or moved, or its end is",
        first: 5_000,
        second: 100_000,
        run: remote::cuts::run,
    },
    Campaign {
        name: "frames",
        what: "a damaged frame is accepted",
        first: 20_000,
        second: 1_000_000,
        run: remote::frames::run,
    },
    Campaign {
        name: "fences",
        what: "in some order of events a line of a host is typed twice, in part, or under a lease that \
               was over",
        first: 1_000,
        second: 1_000_000,
        run: fences::run,
    },
    Campaign {
        name: "screens",
        what: "more than one of 1,000 screens that are handed over differs from the one that was",
        first: 100,
        second: 100_000,
        run: screens::run,
    },
    Campaign {
        name: "queries",
        what: "a terminal answers what was asked before it came, or nobody or two answer a question",
        first: 500,
        second: 10_000,
        run: screens::queries::run,
    },
    Campaign {
        name: "slow-client",
        what: "a client that stops reading makes somebody grow or wait, or is told less than what \
               it misses (MiB)",
        first: 64,
        second: 10_240,
        run: remote::slow_client::run,
    },
    Campaign {
        name: "half-open",
        what: "a stale connection does something, or a dead link is not found out in 15 s and \
               made again in 1 s",
        first: 500,
        second: 10_000,
        run: remote::half_open::run,
    },
    Campaign {
        name: "tokens",
        what: "a stranger is served something, or learns from the clock how wrong a token is",
        first: 5_000,
        second: 1_000_000,
        run: remote::tokens::run,
    },
    Campaign {
        name: "floods",
        what: "a flood of connections, heads or pings makes somebody's keys late, or the runner \
               grow (rounds)",
        first: 3,
        second: 20,
        run: remote::floods::run,
    },
    Campaign {
        name: "idle-sessions",
        what: "an idle shell session holds more than 8 descriptors",
        first: 1_000,
        second: 1_000,
        run: idle_sessions::run,
    },
    Campaign {
        name: "runner-killed",
        what: "a byte or a session is lost when the runner is killed, or a host is back late",
        first: 30,
        second: 1_000,
        run: machine::runner_killed,
    },
    Campaign {
        name: "upgrade",
        what: "a byte or a session is lost when the runner's program is replaced",
        first: 5,
        second: 500,
        run: machine::upgrade,
    },
    Campaign {
        name: "shim-killed",
        what: "a killed shim leaves a process for 250 ms, a journal that is no prefix, or a host \
               that is not told",
        first: 50,
        second: 1_000,
        run: machine::shim_killed,
    },
    Campaign {
        name: "journals",
        what: "a journal that was cut or flipped makes a panic, a wrong record, or too short a prefix",
        first: 2_000,
        second: 10_000,
        run: machine::journals,
    },
    Campaign {
        name: "oom",
        what: "a child that memory runs out for is not told as that within 1 s, or another process \
               goes in its place",
        first: 10,
        second: 100,
        run: machine::oom,
    },
    Campaign {
        name: "disk",
        what: "a failing disk ends a session, is not told within 100 ms, or loses what was said to \
               be safe",
        first: 240,
        second: 1_920,
        run: machine::disk,
    },
    Campaign {
        name: "stopped",
        what: "a byte is lost or typed twice when a host, the runner, a shim or a child is stopped \
               for a while",
        first: 40,
        second: 1_000,
        run: machine::stopped,
    },
    Campaign {
        name: "descriptors",
        what: "without descriptors or terminals a runner spins, falls, or forgets its sessions; or \
               hosts that went leave some open",
        first: 1_000,
        second: 10_000,
        run: machine::descriptors,
    },
    Campaign {
        name: "threads",
        what: "without threads and processes a session ends, or somebody who asks gets no answer",
        first: 24,
        second: 1_000,
        run: machine::threads,
    },
    Campaign {
        name: "clock",
        what: "a clock that steps costs a link, a session or a byte",
        first: 4,
        second: 40,
        run: machine::clock,
    },
    Campaign {
        name: "runner-sessions",
        what: "a session costs its runner more than 8 descriptors, or leaves somebody",
        first: 50,
        second: 1_000,
        run: machine::runner_sessions,
    },
    Campaign {
        name: "prompt-files",
        what: "a killed host leaves a prompt in a file, or others may read one",
        first: 50,
        second: 1_000,
        run: machine::prompt_files,
    },
    Campaign {
        name: "real-agent",
        what: "the real agent under cuts, kills, slow hosts and a full disk tells another story, or \
               leaves a process",
        first: 10,
        second: 200,
        run: machine::real_agent,
    },
    Campaign {
        name: "soak",
        what: "over links that are cut every 2 s a byte is lost, a transcript differs, or something \
               grows",
        first: 8,
        second: 900,
        run: machine::soak,
    },
];
