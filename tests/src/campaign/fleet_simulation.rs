//! Runners of a fleet, and the broker between them, in virtual time.
//!
//! The members, the replication and the directory are the production code; the broker, the clock and the faults are
//! simulated, and sessions are journals on disk. Every choice derives from the seed: runners are cut off and come back,
//! daemons restart, the broker loses its newest messages or everything, requests and replies are lost, come late or
//! twice, and sessions whose runner is silent are taken over, and so have two writers. Checked for every schedule:
//!
//! * the generation of a session never goes back, and each has one owner;
//! * afterwards, the log of each incarnation of each session equals its journal, record by record;
//! * the directory names an incarnation of the latest generation that was published, and keeps those before it;
//! * the claim of a conversation is that of its session's owner while it runs.

mod machine;
mod observer;
mod outcome;

use std::time::Duration;

use bowline_fleet::{FakeBus, Fate};
use tokio::time::sleep;

use self::machine::Machine;
use self::observer::Observer;
use super::{Job, Random, Report};

/// Number of steps of a schedule.
const STEPS: u64 = 40;

/// Longest time between two steps, in virtual milliseconds.
const MAX_PAUSE_MS: u64 = 8_000;

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut sums = Sums::default();
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        // One thread reads journals, so that reads are in the order of their requests.
        let builder = builder.enable_time().start_paused(true);
        let runtime = builder.max_blocking_threads(1).build();
        let runtime = runtime.expect("a runtime can be made");
        report.one(match runtime.block_on(schedule(seed)) {
            Ok(more) => {
                sums.add(more);
                Ok(())
            }
            Err(why) => Err(format!("seed {seed}: {why}")),
        });
    }
    report.note(format!("{sums}"));
    report
}

/// Counters that show that faults did occur.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    sessions: u64,
    takeovers: u64,
    cuts: u64,
    restarts: u64,
    losses: u64,
    wipes: u64,
}

impl Sums {
    fn add(&mut self, more: Self) {
        self.sessions += more.sessions;
        self.takeovers += more.takeovers;
        self.cuts += more.cuts;
        self.restarts += more.restarts;
        self.losses += more.losses;
        self.wipes += more.wipes;
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            sessions,
            takeovers,
            cuts,
            restarts,
            losses,
            wipes,
        } = self;
        write!(
            f,
            "{sessions} sessions, {takeovers} taken over; {cuts} partitions, {restarts} restarts of a daemon, \
             {losses} lost tails, {wipes} wipes of the broker"
        )
    }
}

async fn schedule(seed: u64) -> Result<Sums, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut random = Random::new(seed);
    let broker = FakeBus::default();
    let mut observer = Observer::begin(&broker).await?;
    let mut sums = Sums::default();
    let mut machines = Vec::new();
    for n in 0..2 + random.below(2) {
        let bus = broker.another();
        disturb(&bus, random.draw(), random.below(25));
        let mut machine = Machine::new(folder.path(), n, bus)?;
        for _ in 0..1 + random.below(3) {
            machine.start(&mut random)?;
            sums.sessions += 1;
        }
        machine.join();
        machines.push(machine);
    }
    for _ in 0..STEPS {
        sleep(Duration::from_millis(random.below(MAX_PAUSE_MS))).await;
        step(
            &broker,
            &mut observer,
            &mut machines,
            &mut random,
            &mut sums,
        )
        .await?;
    }
    for machine in &mut machines {
        machine.heal();
    }
    outcome::check(&broker, &machines).await?;
    observer.look()?;
    Ok(sums)
}

/// Makes requests of a connection fail, this many in a hundred. What happens to one derives from the seed, from what it
/// names and from how often that was named before, whatever the order of the requests is.
fn disturb(bus: &FakeBus, seed: u64, in_hundred: u64) {
    let mut named = std::collections::HashMap::<String, u64>::new();
    bus.set_fates(move |name| {
        let count = named.entry(name.to_owned()).or_default();
        *count += 1;
        let mixed = name
            .bytes()
            .fold(seed, |it, byte| Random::new(it ^ u64::from(byte)).draw());
        let mut random = Random::new(mixed.wrapping_add(*count));
        let after = Duration::from_millis(random.below(80));
        if random.below(100) >= in_hundred {
            return Fate::Answered(after);
        }
        match random.below(6) {
            0 => Fate::Lost,
            1 => Fate::ReplyLost,
            2 => Fate::Late(after * 100),
            3 => Fate::Refused(bowline_fleet::BusError::InProcess),
            4 => Fate::Refused(bowline_fleet::BusError::NoStream("it".to_owned())),
            _ => Fate::Answered(after * 40),
        }
    });
}

async fn step(
    broker: &FakeBus,
    observer: &mut Observer,
    machines: &mut [Machine],
    random: &mut Random,
    sums: &mut Sums,
) -> Result<(), String> {
    observer.look()?;
    let at = random.below(machines.len() as u64) as usize;
    match random.below(20) {
        0..8 => machines[at].write(random)?,
        8..11 => {
            sums.cuts += 1;
            machines[at].cut();
        }
        11..13 => machines[at].connect(),
        13 => {
            sums.restarts += 1;
            machines[at].leave();
        }
        14 => machines[at].join(),
        15..18 => sums.takeovers += take_over(broker, machines, at, random).await?,
        18 => {
            sums.losses += 1;
            broker.lose_tail(1 + random.below(4) as usize);
            machines.iter_mut().for_each(Machine::reconnect);
        }
        _ => match random.below(4) {
            0 => {
                sums.wipes += 1;
                broker.wipe();
                observer.forget();
                machines.iter_mut().for_each(Machine::reconnect);
            }
            _ => machines[at].end(random),
        },
    }
    Ok(())
}

/// Takes a session over whose runner is silent, as `resume --on` does. Returns how many.
async fn take_over(
    broker: &FakeBus,
    machines: &mut [Machine],
    by: usize,
    random: &mut Random,
) -> Result<u64, String> {
    let sessions = bowline_fleet::fleet_sessions(broker).await;
    let sessions = sessions.map_err(|error| error.to_string())?;
    let takeable = sessions.into_iter().filter(|it| machines[by].may_take(it));
    let takeable: Vec<_> = takeable.collect();
    if takeable.is_empty() {
        return Ok(0);
    }
    let session = &takeable[random.below(takeable.len() as u64) as usize];
    let conversation = machines.iter().find_map(|it| it.conversation(session.id));
    let conversation = conversation.ok_or("no conversation")?;
    machines[by]
        .take_over(session, conversation, random)
        .await?;
    Ok(1)
}
