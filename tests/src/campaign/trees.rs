//! Process trees that resist termination.

use std::sync::Arc;
use std::time::Duration;

use bowline_transport::{Configuration, Containment, PtyMode, Stream, TerminationPolicy};
use parking_lot::Mutex;

use super::support::{
    describe, in_lanes, levels, marked, on_pty, own, percentiles, shell, start, token, within,
};
use super::{Job, Random, Report};

/// Shell commands that leave a process running. `@` is replaced by arguments that identify the
/// process. All of them exit eventually, should they escape.
pub(super) const WAYS: [&str; 10] = [
    "sleep @ &",
    "setsid sleep @ &",
    "(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep @; done' &)",
    "nohup setsid sh -c 'sleep @ & sleep @' >/dev/null 2>&1 &",
    "setsid sh -c 'trap \"\" TERM; kill -STOP $$; sleep @' &",
    "sh -c 'i=0; while [ $i -lt 40 ]; do setsid sleep @ & i=$((i+1)); done; wait' &",
    "sh -c 'f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep @; }; f 4' &",
    "(sh -c 'trap \"sleep @ &\" TERM HUP INT; while :; do sleep @; done' &)",
    "setsid sh -c 'exec <&- >&- 2>&-; (sleep @ &) ; sleep @' &",
    "(trap '' HUP; cd /; exec sleep @) &",
];

/// Drops every attribute by which a process could be found; only a control group or a guard
/// contains it.
pub(super) const SHEDS_ALL: &str = "(setsid env -i sh -c '(setsid sleep @ &) ; exit' &)";

/// A script that starts such a tree, prints `ready`, and keeps running.
pub(super) fn tree(random: &mut Random, token: &str, is_held: bool) -> Configuration {
    let mut script = String::new();
    for _ in 0..=random.below(5) {
        script += WAYS[random.below(WAYS.len() as u64) as usize];
        script += "\n";
    }
    if is_held {
        script += SHEDS_ALL;
        script += "\n";
    }
    // sleep(1) adds up its arguments; the token contributes almost nothing.
    let script = script.replace('@', &format!("300 0.{token}"));
    let last = [
        "wait",
        "exec sleep 300",
        "trap '' TERM HUP INT; while :; do sleep 300; done",
    ];
    let last = last[random.below(3) as usize];
    shell(&format!("{script}echo ready\n{last}"))
}

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let levels = levels();
    for (index, level) in levels.iter().enumerate() {
        let count = levels.len() as u64;
        let share = job.count / count + u64::from((index as u64) < job.count % count);
        let took = Arc::new(Mutex::new(Vec::new()));
        let part = Job {
            count: share,
            seed: job.seed.wrapping_add(index as u64),
        };
        report.merge(in_lanes(&part, lanes(*level), |number, random| {
            one(number, random, *level, Arc::clone(&took))
        }));
        let took = std::mem::take(&mut *took.lock());
        report.note(format!(
            "{level}: {share} trees, terminate {}",
            percentiles(took)
        ));
    }
    report
}

/// Number of concurrent trees. The control group level promises a termination time, so its trees
/// run alone; at other levels, process table scans slow each other down.
fn lanes(level: Containment) -> u64 {
    match level {
        Containment::Cgroup => 1,
        _ => 4,
    }
}

async fn one(
    number: u64,
    mut random: Random,
    level: Containment,
    took: Arc<Mutex<Vec<Duration>>>,
) -> Result<(), String> {
    let token = token(&mut random);
    let mut configuration = tree(&mut random, &token, level != Containment::Group);
    configuration.containment = Some(level);
    configuration.env.set("CAMPAIGN", &token);
    if level == Containment::Subreaper {
        configuration.guard = Some(own());
    }
    if number % 2 == 1 {
        configuration = on_pty(configuration, PtyMode::Cooked);
    }
    let arguments = format!("{:?}", configuration.args);
    let session = start(configuration)?;
    if session.containment() != level {
        return Err(format!("held by {}, not {level}", session.containment()));
    }
    let mut output = session.reader(Stream::Output);
    // One in four trees is terminated while it is still starting.
    if random.below(4) > 0 {
        within("a tree", output.next()).await?;
    } else {
        tokio::time::sleep(Duration::from_micros(random.below(10_000))).await;
    }
    let report = within("terminate", session.terminate(TerminationPolicy::AT_ONCE)).await?;
    took.lock().push(report.took);
    let left = marked(&token);
    if report.survivors.is_empty() && left.is_empty() && report.level == level {
        return Ok(());
    }
    Err(format!(
        "{level}: {arguments}: {report:?}, left: {}",
        describe(&left)
    ))
}
