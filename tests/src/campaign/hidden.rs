//! Hidden modes of the `stress` binary, which also serves as the children and the hosts of its
//! campaigns.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use bowline_transport::{Containment, PtyMode, Stream};

use super::remote::floods::baseline;
use super::remote::{daemon, flood, responder};
use super::scaling::instructions;
use super::support::{on_pty, own, runtime, start};
use super::{Random, machine, prompts, survivors, trees};

/// Writes random bytes and exits. Arguments: seed, count, exit code.
pub(super) const EMIT: &str = "--emit";
/// Prints its open descriptors.
pub(super) const DESCRIPTORS: &str = "--descriptors";
/// Starts sessions and waits to be killed. Arguments: seed, containment level, token.
pub(super) const HOST: &str = "--host";
/// Runs the scripted agent.
pub(super) const AGENT: &str = "--understudy";

/// Runs the hidden mode that the arguments select, or returns `None` if they select none.
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
        baseline::MODE => Some(baseline::run(number(1)?.try_into().ok()?)),
        flood::MODE => Some(flood::run()),
        responder::MODE => Some(responder::run(number(1)?)),
        instructions::MODE => Some(instructions::run(args.get(1)?, args.get(2)?, args.get(3)?)),
        survivors::ENDED_MAIN => Some(survivors::end_main_thread()),
        survivors::OTHER_GROUP => Some(survivors::leave_group()),
        HOST => Some(host(number(1)?, args.get(2)?, args.get(3)?)),
        _ => machine::hidden(args),
    }
}

fn emit(seed: u64, count: u64, code: u64) -> ExitCode {
    let bytes = Random::new(seed).bytes(count as usize);
    let written = std::io::stdout().lock().write_all(&bytes);
    // Exits at once: without unwinding, flushing or waiting.
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
    let written = own.and_then(|own| writeln!(std::io::stdout().lock(), "{own}"));
    written.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
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
