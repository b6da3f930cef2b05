//! What the campaigns' program does when it is not running a campaign: it is also the children and
//! the hosts of its campaigns.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use bowline_transport::{Containment, PtyMode, Stream};

use super::remote::floods::nobody;
use super::remote::{daemon, flood, parrot};
use super::support::{on_pty, own, runtime, start};
use super::{Random, machine, prompts, trees};

/// Writes random bytes and ends: seed, count, code.
pub(super) const EMIT: &str = "--emit";
/// Says which descriptors it has.
pub(super) const DESCRIPTORS: &str = "--descriptors";
/// Starts sessions and waits to be killed: seed, level, token.
pub(super) const HOST: &str = "--host";
/// Is the scripted agent.
pub(super) const AGENT: &str = "--understudy";

/// Does what a hidden mode says; `None` if the arguments name none.
pub fn run(args: &[String]) -> Option<ExitCode> {
    let number = |index: usize| args.get(index).and_then(|text| text.parse::<u64>().ok());
    match args.first()?.as_str() {
        EMIT => Some(emit(number(1)?, number(2)?, number(3)?)),
        DESCRIPTORS => Some(descriptors()),
        prompts::program::MODE => Some(prompts::program::run(args.get(1)?)),
        AGENT => Some(understudy::run(std::env::args_os().skip(2))),
        daemon::MODE => {
            let attaches = number(2)?.try_into().ok()?;
            Some(daemon::run(
                args.get(1)?,
                attaches,
                args.get(3)?.parse().ok()?,
            ))
        }
        daemon::SHIM => Some(bowline_runner::run_shim()),
        nobody::MODE => Some(nobody::run(number(1)?.try_into().ok()?)),
        flood::MODE => Some(flood::run()),
        parrot::MODE => Some(parrot::run(number(1)?)),
        HOST => Some(host(number(1)?, args.get(2)?, args.get(3)?)),
        _ => machine::hidden(args),
    }
}

fn emit(seed: u64, count: u64, code: u64) -> ExitCode {
    let bytes = Random::new(seed).bytes(count as usize);
    let written = std::io::stdout().lock().write_all(&bytes);
    // As an agent does that leaves in a hurry: without unwinding, flushing or waiting.
    std::process::exit(if written.is_ok() { code as i32 } else { 99 })
}

fn descriptors() -> ExitCode {
    let own = std::fs::read_dir("/proc/self/fd").map(|entries| {
        let numbers = entries.flatten().filter_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?;
            Some(format!(
                "{}={}",
                entry.file_name().to_str()?,
                target.display()
            ))
        });
        numbers.collect::<Vec<_>>().join(" ")
    });
    let said = own.and_then(|own| writeln!(std::io::stdout().lock(), "{own}"));
    said.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn host(seed: u64, level: &str, token: &str) -> ExitCode {
    let mut random = Random::new(seed);
    let containment = [Containment::Subreaper, Containment::Cgroup]
        .into_iter()
        .find(|one| one.to_string() == level);
    let sessions = runtime().block_on(async {
        let mut sessions = Vec::new();
        for number in 0..3 {
            let mut configuration = trees::tree(&mut random, token, true);
            if number % 2 == 1 {
                configuration = on_pty(configuration, PtyMode::Cooked);
            }
            configuration.containment = containment;
            configuration.guard = Some(own());
            let Ok(session) = start(configuration) else {
                return None;
            };
            drop(session.reader(Stream::Output));
            sessions.push(session);
        }
        let _ = writeln!(std::io::stdout().lock(), "started");
        // Only a kill ends this.
        std::future::pending::<()>().await;
        Some(sessions)
    });
    drop(sessions);
    let _ = std::io::stdin().read(&mut [0]);
    ExitCode::FAILURE
}
