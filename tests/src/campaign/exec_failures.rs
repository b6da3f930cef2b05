//! Every way in which starting a child can fail, with its error.

mod files;

use std::path::Path;

use bowline_transport::{Configuration, Containment, PtyMode, SpawnError, TerminalEngine};

use super::support::{levels, on_pty, own, runtime, shell};
use super::{Job, Report};

/// One way to make a start fail, and the error expected for it.
pub(super) struct Way {
    name: &'static str,
    configuration: Configuration,
    is_right: fn(&SpawnError) -> bool,
}

/// Turns a pattern into a predicate.
macro_rules! is {
    ($pattern:pat) => {
        |error| matches!(error, $pattern)
    };
}
use is;

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let levels = levels();
    for _ in 0..job.count {
        match round(&levels, &mut report) {
            Ok(kinds) => report.done += kinds,
            Err(error) => report.violation(error),
        }
    }
    report.note(format!(
        "each on pipes and on a terminal, held by {levels:?}"
    ));
    report
}

fn round(levels: &[Containment], report: &mut Report) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let files = files::make(folder.path()).map_err(|error| error.to_string())?;
    let mut ways = files::ways(folder.path(), &files);
    ways.extend(arguments());
    ways.extend(places(folder.path()));
    let kinds = ways.len() as u64;
    let runtime = runtime();
    let _inside = runtime.enter();
    let before = open_descriptors();
    for way in &ways {
        for level in levels {
            for is_pty in [false, true] {
                report.violations.extend(one(way, *level, is_pty).err());
            }
        }
    }
    report.violations.extend(guards());
    if open_descriptors() != before {
        report.violation("a failed start leaks descriptors");
    }
    Ok(kinds + 2)
}

fn one(way: &Way, level: Containment, is_pty: bool) -> Result<(), String> {
    let mut configuration = way.configuration.clone();
    configuration.containment = Some(level);
    configuration.guard = (level == Containment::Subreaper).then(own);
    if is_pty {
        configuration = on_pty(configuration, PtyMode::Raw);
    }
    match TerminalEngine.make_session(configuration) {
        Err(error) if (way.is_right)(&error) => Ok(()),
        Err(error) => Err(format!("{} ({level}, pty {is_pty}): {error:?}", way.name)),
        Ok(session) => Err(format!("{} ({level}, pty {is_pty}): {session:?}", way.name)),
    }
}

fn arguments() -> Vec<Way> {
    let mut long = shell("true");
    long.args.push("x".repeat(3 << 20).into());
    let mut many = shell("true");
    many.args
        .extend((0..40_000).map(|_| "x".repeat(200).into()));
    let mut variable = shell("true");
    variable.env.set("LONG", "x".repeat(3 << 20));
    let mut nul = shell("true");
    nul.args.push("a\0b".into());
    let mut nul_variable = shell("true");
    nul_variable.env.set("NUL", "a\0b");
    let way = |name, configuration, is_right| Way {
        name,
        configuration,
        is_right,
    };
    vec![
        way("a long argument", long, is!(SpawnError::ArgumentsTooLong)),
        way("many arguments", many, is!(SpawnError::ArgumentsTooLong)),
        way(
            "a long variable",
            variable,
            is!(SpawnError::ArgumentsTooLong),
        ),
        way("a NUL in an argument", nul, is!(SpawnError::NulByte)),
        way(
            "a NUL in a variable",
            nul_variable,
            is!(SpawnError::NulByte),
        ),
        way(
            "a NUL in the name",
            Configuration::new("a\0b"),
            is!(SpawnError::NulByte),
        ),
        way(
            "no name",
            Configuration::new(""),
            is!(SpawnError::NoProgram),
        ),
    ]
}

fn places(folder: &Path) -> Vec<Way> {
    let at = |path: &str| {
        let mut configuration = shell("true");
        configuration.cwd = Some(folder.join(path));
        configuration
    };
    let way = |name, configuration, is_right| Way {
        name,
        configuration,
        is_right,
    };
    vec![
        way(
            "no such directory",
            at("missing"),
            is!(SpawnError::CwdMissing { .. }),
        ),
        way(
            "a file as directory",
            at("plain"),
            is!(SpawnError::CwdNotADirectory { .. }),
        ),
        way(
            "a directory below a file",
            at("plain/x"),
            is!(SpawnError::CwdNotADirectory { .. }),
        ),
        way(
            "a directory in a loop of links",
            at("loop"),
            is!(SpawnError::Io { .. }),
        ),
    ]
}

/// A guard program that does not exist, and a program that is not a guard.
fn guards() -> Vec<String> {
    let guard = |guard: &str| {
        let mut configuration = shell("true");
        configuration.containment = Some(Containment::Subreaper);
        configuration.guard = Some(guard.into());
        match TerminalEngine.make_session(configuration) {
            Err(SpawnError::Guard { .. }) => None,
            other => Some(format!("guard {guard}: {other:?}")),
        }
    };
    [guard("/no/such/guard"), guard("/bin/true")]
        .into_iter()
        .flatten()
        .collect()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
