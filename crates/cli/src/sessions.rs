//! `bowline ps` and `bowline kill`: the sessions of a runner.

use std::process::ExitCode;
use std::time::Duration;

use bowline_runner::wire::SessionKind;
use bowline_runner::{RunnerClient, SessionExit, SessionSummary};
use tokio::signal::unix::SignalKind;
use tokio::time::sleep;

use crate::args;
use crate::failure::Failure;
use crate::runner::{announced, client, find_session, request_failed};
use crate::signals::listen;
use crate::stdio::{print, terminal_width};
use crate::style::is_dumb_terminal;
use crate::table::{self, age, list_text, now_ms};
use crate::text::{one_line, text_width};

/// Time between two looks at the sessions that are watched.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Lists the sessions of a runner, once or whenever the list changes.
pub(crate) async fn ps(options: args::Ps) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let mut watched = Watched::print(list(&client, &options).await?)?;
    if !options.watch {
        return Ok(ExitCode::SUCCESS);
    }
    let mut interrupt = listen(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
            () = sleep(WATCH_INTERVAL) => watched.update(list(&client, &options).await?)?,
        }
    }
}

async fn list(client: &RunnerClient, options: &args::Ps) -> Result<String, Failure> {
    let sessions = announced(client.sessions()).await;
    let sessions = sessions.map_err(|error| request_failed(&options.runner, error))?;
    let table = || session_table(&sessions, now_ms());
    list_text(&options.list, &sessions, table)
}

/// A list that is printed again when it changes: on a terminal in its own place.
pub(crate) struct Watched {
    text: String,
}

impl Watched {
    /// Prints the list for the first time.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(crate) fn print(text: String) -> Result<Self, Failure> {
        print(&text)?;
        Ok(Self { text })
    }

    /// Prints the list if it has changed.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(crate) fn update(&mut self, text: String) -> Result<(), Failure> {
        if text == self.text {
            return Ok(());
        }
        let place = match terminal_width() {
            Some(columns) if !is_dumb_terminal() => {
                let lines = self.text.lines();
                let rows: usize = lines
                    .map(|it| text_width(it).div_ceil(columns).max(1))
                    .sum();
                format!("\x1b[{rows}A\r\x1b[J")
            }
            _ => String::new(),
        };
        print(&format!("{place}{text}"))?;
        self.text = text;
        Ok(())
    }
}

/// Ends a session and prints its exit.
///
/// # Errors
/// If the session is not found, cannot be ended, or leaves processes.
pub(crate) async fn kill(options: args::Kill) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let session = find_session(&client, &options.runner, &options.id).await?;
    let id = session.id;
    let ended = announced(client.end(id, options.force, options.remove)).await;
    let ended = ended.map_err(|error| request_failed(&options.runner, error))?;
    let survivors = ended.survivors;
    if !survivors.is_empty() {
        return Err(Failure::failed(format!(
            "{} processes of session {id} are still running; end them by hand: {survivors:?}",
            survivors.len()
        )));
    }
    let exit = match ended.exit {
        Some(SessionExit {
            code: Some(code), ..
        }) => format!("exit code {code}"),
        Some(SessionExit {
            signal: Some(signal),
            ..
        }) => format!("signal {signal}"),
        _ => "exit status unknown".to_owned(),
    };
    print(&format!("ended {id}: {exit}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Largest width of a cell in the table, in columns.
const MAX_CELL_WIDTH: usize = 60;

/// Largest width of the reason of a phase.
const MAX_REASON_WIDTH: usize = 24;

const HEADER: [&str; 8] = [
    "ID", "AGENT", "STATE", "AGE", "COST", "CTX", "HOSTS", "TITLE",
];

fn session_table(sessions: &[SessionSummary], now_ms: u64) -> String {
    if sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    table::format(&HEADER, sessions.iter().map(|session| row(session, now_ms)))
}

fn row(session: &SessionSummary, now_ms: u64) -> [String; HEADER.len()] {
    let activity = &session.activity;
    let kind = match session.kind {
        SessionKind::Dialogue => agent(session),
        SessionKind::Terminal => "terminal".to_owned(),
    };
    let title = session.name.as_deref().filter(|it| !it.is_empty());
    let title = title.or(activity.title.as_deref());
    let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let cost = activity.cost_usd.map(|cost| format!("${cost:.2}"));
    let context = activity.context_used.zip(activity.context_size);
    let context = context.filter(|(_, size)| *size > 0);
    [
        session.id.to_string(),
        kind,
        state(session),
        age(now_ms.saturating_sub(session.started_ms) / 1000),
        cell(cost),
        cell(context.map(|(used, size)| format!("{}%", used * 100 / size))),
        cell(activity.hosts.map(|it| it.to_string())),
        one_line(title.unwrap_or(&session.program), MAX_CELL_WIDTH),
    ]
}

/// Returns the agent of a dialogue: the name of its program.
pub(crate) fn agent(session: &SessionSummary) -> String {
    let name = session.program.rsplit('/').next();
    one_line(name.unwrap_or_default(), 20)
}

/// Returns the state, or the exit status of a session that has ended; `damaged` if neither is known.
pub(crate) fn state(session: &SessionSummary) -> String {
    if session.damage.is_some() {
        return "damaged".to_owned();
    }
    match session.exit {
        Some(SessionExit {
            code: Some(code), ..
        }) => format!("exited {code}"),
        Some(SessionExit {
            signal: Some(signal),
            ..
        }) => format!("signal {signal}"),
        _ => phase(session),
    }
}

/// Returns the phase with its reason, or the state of a session whose phase is not known.
fn phase(session: &SessionSummary) -> String {
    let activity = &session.activity;
    let phase = activity.phase.as_deref();
    let phase = phase.map_or_else(|| session.state.to_string(), |it| one_line(it, 20));
    let reason = one_line(
        activity.reason.as_deref().unwrap_or_default(),
        MAX_REASON_WIDTH,
    );
    if reason.is_empty() || phase == "idle" {
        phase.replace('_', " ")
    } else {
        format!("{}: {reason}", phase.replace('_', " "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sessions_are_aligned_in_columns() {
        let session = |id: &str, kind: &str, state: &str, started_ms: u64, name, exit| {
            let session = json!({
                "id": id, "name": name, "kind": kind, "stdio": "pipes", "program": "sh",
                "cwd": null, "labels": {}, "state": state, "epoch": "0".repeat(32), "pid": null,
                "started_ms": started_ms, "ended_ms": null, "exit": exit,
            });
            serde_json::from_value::<SessionSummary>(session).unwrap()
        };
        let (a, b) = (
            "00000000-0000-4000-8000-00000000000a",
            "00000000-0000-4000-8000-00000000000b",
        );
        let exit = json!({"code": 1, "signal": null, "oom": false});
        let mut busy = session(a, "dialogue", "running", 0, json!(null), json!(null));
        busy.activity = serde_json::from_value(json!({
            "title": "Tidy up", "phase": "running", "reason": "tool Bash", "cost_usd": 0.25,
            "context_used": 125, "context_size": 1000, "hosts": 2,
        }))
        .unwrap();
        let sessions = [
            session(a, "terminal", "running", 0, json!("漢字"), json!(null)),
            session(b, "dialogue", "exited", 60_000, json!(null), exit),
            busy,
        ];
        let expected = "\
ID                                    AGENT     STATE               AGE  COST   CTX  HOSTS  TITLE
00000000-0000-4000-8000-00000000000a  terminal  running             1h   -      -    -      漢字
00000000-0000-4000-8000-00000000000b  sh        exited 1            59m  -      -    -      sh
00000000-0000-4000-8000-00000000000a  sh        running: tool Bash  1h   $0.25  12%  2      Tidy up
";
        assert_eq!(session_table(&sessions, 3_600_000), expected);
        let forged =
            "x\n00000000-0000-4000-8000-00000000000c  dialogue  running\u{2028}\u{85}\u{202e}";
        let forged = session(a, "terminal", "running", 0, json!(forged), json!(null));
        assert_eq!(session_table(&[forged], 0).lines().count(), 2);
        let long = session(
            a,
            "terminal",
            "running",
            0,
            json!("x".repeat(10_000)),
            json!(null),
        );
        assert!(session_table(&[long], 0).len() < 1000);
        assert_eq!(session_table(&[], 0), "no sessions\n");
    }
}
