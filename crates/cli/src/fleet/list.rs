//! The sessions of a fleet as a list.

use std::process::ExitCode;
use std::sync::Arc;

use bowline_fleet::{FleetSession, FleetWatch, Reach};
use bowline_runner::SessionSummary;
use bowline_runner::wire::SessionKind;
use tokio::signal::unix::SignalKind;
use tokio::time::sleep;

use super::network::{FleetNetwork, network, silence};
use crate::args::fleet::FleetArgs;
use crate::args::{ListArgs, Ps};
use crate::failure::Failure;
use crate::runner::announced;
use crate::sessions::{WATCH_INTERVAL, Watched, agent, state};
use crate::signals::listen;
use crate::stdio::print;
use crate::table::{self, age, list_text, now_ms};
use crate::text::one_line;

/// Largest width of a cell in the table, in columns.
const MAX_CELL_WIDTH: usize = 60;

const HEADER: [&str; 6] = ["ID", "RUNNER", "AGENT", "STATE", "AGE", "TITLE"];

/// Lists the sessions of a fleet, once or whenever the list changes.
///
/// # Errors
/// If the servers cannot be reached, or a template names a field that is not there.
pub(crate) async fn ps(options: Ps) -> Result<ExitCode, Failure> {
    let network = required_network(&options.runner.fleet)?;
    if options.watch {
        return watch(&options.list, &network).await;
    }
    let sessions = announced(network.sessions()).await?;
    print_list(&options.list, &sessions)
}

/// Prints the sessions again whenever the fleet's directory changes, until ^C. Ages change each second.
async fn watch(form: &ListArgs, network: &FleetNetwork) -> Result<ExitCode, Failure> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let bus = announced(network.bus()).await?.clone();
    let opened = FleetWatch::open(bus).await;
    let (mut watch, mut sessions) = opened
        .map_err(|error| Failure::caused("cannot watch the sessions of the fleet:", &error))?;
    let mut watched = Watched::print(list_of(form, &sessions)?)?;
    loop {
        tokio::select! {
            _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
            changed = watch.changed() => sessions = changed,
            () = sleep(WATCH_INTERVAL) => {}
        }
        watched.update(list_of(form, &sessions)?)?;
    }
}

/// Returns the network of the fleet that the options select.
///
/// # Errors
/// If they select none, there is no address, or the credentials cannot be read.
pub(super) fn required_network(options: &FleetArgs) -> Result<Arc<FleetNetwork>, Failure> {
    network(options)?.ok_or_else(|| Failure::usage("no fleet; pass --fleet=URL"))
}

/// Prints sessions in the form that the options select.
///
/// # Errors
/// If a template names a field that is not there.
pub(super) fn print_list(form: &ListArgs, sessions: &[FleetSession]) -> Result<ExitCode, Failure> {
    print(&list_of(form, sessions)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Formats sessions in the form that the options select.
fn list_of(form: &ListArgs, sessions: &[FleetSession]) -> Result<String, Failure> {
    let summaries: Vec<_> = sessions.iter().map(FleetSession::summary).collect();
    list_text(form, &summaries, || text(sessions, now_ms()))
}

fn text(sessions: &[FleetSession], now_ms: u64) -> String {
    if sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    table::format(&HEADER, sessions.iter().map(|it| row(it, now_ms)))
}

fn row(session: &FleetSession, now_ms: u64) -> [String; HEADER.len()] {
    let id = session.id.to_string();
    let runner = one_line(&session.runner_name, 24);
    let Ok(summary) = serde_json::from_value::<SessionSummary>(session.record.summary.clone())
    else {
        let unknown = || "-".to_owned();
        return [
            id,
            runner,
            unknown(),
            "other version".to_owned(),
            unknown(),
            unknown(),
        ];
    };
    let kind = match summary.kind {
        SessionKind::Dialogue => agent(&summary),
        SessionKind::Terminal => "terminal".to_owned(),
    };
    let has_ended = summary.state != bowline_runner::SessionSummaryState::Running;
    let state = match session.reach {
        Reach::Silent { since_ms } if !has_ended => silence(since_ms),
        _ => state(&summary),
    };
    let title = summary.name.as_deref().filter(|it| !it.is_empty());
    let title = title.or(summary.activity.title.as_deref());
    [
        id,
        runner,
        kind,
        state,
        age(now_ms.saturating_sub(summary.started_ms) / 1000),
        one_line(title.unwrap_or(&summary.program), MAX_CELL_WIDTH),
    ]
}
