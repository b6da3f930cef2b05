//! `bowline bundle`: writes a session or a recording into one file, without its secrets.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_lifecycle::{Piece, StreamId};
use bowline_recording::{Bundle, RecordingSource, Redaction, Redactor, Secrets, SessionStreams};
use bowline_reducer::dialect::DialectName;
use bowline_runner::{RunnerClient, RunnerError, SessionSummary};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::args;
use crate::failure::Failure;
use crate::runner::{client, find_session, request_failed};
use crate::stdio::print;

/// The streams that a session may have, by their names in the API.
const STREAMS: [(&str, StreamId); 6] = [
    ("tty", StreamId::TTY),
    ("stdout", StreamId::STDOUT),
    ("stderr", StreamId::STDERR),
    ("input", StreamId::INPUT),
    ("control", StreamId::CONTROL),
    ("lifecycle", StreamId::LIFECYCLE),
];

/// The code of the refusal of a stream that the session does not have.
const NO_STREAM: &str = "NO_STREAM";

/// Writes a bundle, and prints its name.
pub(crate) async fn bundle(options: args::Bundle) -> Result<ExitCode, Failure> {
    let path = PathBuf::from(&options.source);
    let (bundle, name) = if path.exists() {
        let read = path.clone();
        let streams = blocking(move || RecordingSource::open(&read)?.into_streams()).await;
        let streams = streams.map_err(|error| cannot_read(&path, &error))?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        (Bundle::new(streams), name.to_string_lossy().into_owned())
    } else {
        of_session(&options).await?
    };
    let default = || PathBuf::from(format!("bowline-bundle-{name}.tar.gz"));
    let output = options.output.clone().unwrap_or_else(default);
    let redactor = redactor(options.redact);
    let file = output.clone();
    let written = blocking(move || bundle.create(&file, &redactor)).await;
    written.map_err(|error| cannot_write(&output, &error))?;
    print(&format!("{}\n", output.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn redactor(redact: args::Redact) -> Redactor {
    let redaction = match redact {
        args::Redact::Secrets => Redaction::Secrets,
        args::Redact::Content => Redaction::Content,
    };
    let variables = std::env::vars_os();
    let variables = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Redactor::new(redaction, Secrets::default().with_environment(variables))
}

/// Reads a session of the runner. Returns its bundle, and its id.
async fn of_session(options: &args::Bundle) -> Result<(Bundle, String), Failure> {
    let client = client(&options.runner)?;
    let session = find_session(&client, &options.runner, &options.source).await?;
    let read = streams_of(&client, &session).await;
    let (streams, damage) = read.map_err(|error| request_failed(&options.runner, error))?;
    let is_named = session.labels.contains_key(DialectName::LABEL);
    let dialect = is_named.then(|| DialectName::of_labels(&session.labels));
    let facts = facts(&session, damage);
    let bundle = Bundle::new(streams)
        .with_dialect(dialect)
        .with_session(facts);
    Ok((bundle, session.id.to_string()))
}

fn facts(session: &SessionSummary, damage: Option<String>) -> Value {
    let mut facts = json!(session);
    if let Some(damage) = damage {
        facts["log_damage"] = damage.into();
    }
    facts
}

/// Reads all streams of a session, and why a part of them cannot be read.
async fn streams_of(
    client: &RunnerClient,
    session: &SessionSummary,
) -> Result<(SessionStreams, Option<String>), RunnerError> {
    let mut streams = SessionStreams::new(Some(session.started_ms));
    let mut damage = None;
    for (name, id) in STREAMS {
        let arrivals = match client.arrivals(session.id, name).await {
            Err(RunnerError::Refused(problem)) if problem.code == NO_STREAM => continue,
            arrivals => arrivals,
        };
        let (mut arrivals, mut from) = (arrivals?, 0);
        loop {
            let range = client.stream(session.id, name, from).await?;
            damage = damage.or(range.damage);
            if let Some((from, to)) = range.gap {
                streams.push(id, Piece::Gap { from, to }.into());
            }
            let (offset, bytes) = (range.from, range.bytes);
            arrivals.cut(Piece::Bytes { offset, bytes }, |part| {
                streams.push(id, part)
            });
            if range.next <= from {
                break;
            }
            from = range.next;
        }
    }
    Ok((streams, damage))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot read {}: {error}", path.display()))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::failed(format!(
            "{path} exists; remove it, or name another file with --output"
        )),
        _ => Failure::failed(format!("cannot write {path}: {error}")),
    }
}
