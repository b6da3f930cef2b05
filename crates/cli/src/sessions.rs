//! `bowline ps` and `bowline kill`: the sessions of a runner.

use std::process::ExitCode;

use bowline_runner::wire::SessionKind;
use bowline_runner::{SessionExit, SessionSummary};

use crate::args;
use crate::failure::Failure;
use crate::runner::{announced, client, find_session, request_failed};
use crate::stdio::print;
use crate::table::{self, age, now_ms};
use crate::text::{escape_json, one_line};

/// Lists the sessions of a runner.
pub(crate) async fn ps(options: args::Ps) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let sessions = announced(client.sessions()).await;
    let sessions = sessions.map_err(|error| request_failed(&options.runner, error))?;
    if options.json {
        let document = serde_json::to_string_pretty(&sessions).unwrap_or_default();
        print(&(escape_json(document) + "\n"))?;
    } else {
        print(&session_table(&sessions, now_ms()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a session and prints its exit.
///
/// # Errors
/// If the session is not found, cannot be ended, or leaves processes.
pub(crate) async fn kill(options: args::Kill) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let session = find_session(&client, &options.runner, &options.id).await?;
    let id = session.id;
    let ended = announced(client.end(id, options.force, !options.remove)).await;
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

/// Largest width of a name or a program in the table, in columns.
const MAX_CELL_WIDTH: usize = 80;

const HEADER: [&str; 6] = ["ID", "KIND", "STATE", "AGE", "NAME", "PROGRAM"];

fn session_table(sessions: &[SessionSummary], now_ms: u64) -> String {
    if sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    table::format(&HEADER, sessions.iter().map(|session| row(session, now_ms)))
}

fn row(session: &SessionSummary, now_ms: u64) -> [String; HEADER.len()] {
    let name = session.name.as_deref().filter(|it| !it.is_empty());
    let kind = match session.kind {
        SessionKind::Dialogue => "dialogue",
        SessionKind::Terminal => "terminal",
    };
    [
        session.id.to_string(),
        kind.to_owned(),
        state(session),
        age(now_ms.saturating_sub(session.started_ms) / 1000),
        one_line(name.unwrap_or("-"), MAX_CELL_WIDTH),
        one_line(&session.program, MAX_CELL_WIDTH),
    ]
}

/// Returns the state, or the exit status of a session that has ended; `damaged` if neither is known.
fn state(session: &SessionSummary) -> String {
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
        _ => session.state.to_string(),
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
        let sessions = [
            session(a, "terminal", "running", 0, json!("漢字"), json!(null)),
            session(b, "dialogue", "exited", 60_000, json!(null), exit),
        ];
        let expected = "\
ID                                    KIND      STATE     AGE  NAME  PROGRAM
00000000-0000-4000-8000-00000000000a  terminal  running   1h   漢字  sh
00000000-0000-4000-8000-00000000000b  dialogue  exited 1  59m  -     sh
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
