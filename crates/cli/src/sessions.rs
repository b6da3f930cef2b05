//! `bowline ps` and `bowline kill`: the sessions of a runner.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::args;
use crate::failure::Failure;
use crate::runner::{client, find_session, request_failed, text};
use crate::stdio::print;
use crate::text::{sanitize, text_width};

/// Lists the sessions of a runner.
pub(crate) async fn ps(options: args::Ps) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let sessions = client.sessions().await;
    let sessions = sessions.map_err(|error| request_failed(&options.runner, error))?;
    if options.json {
        let mut document = serde_json::to_string_pretty(&sessions).unwrap_or_default();
        document.push('\n');
        print(&document)?;
    } else {
        print(&table(&sessions, now_ms()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a session and prints its exit.
///
/// # Errors
/// If the session is not found, cannot be ended, or leaves processes.
pub(crate) async fn kill(options: args::Kill) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let (id, _) = find_session(&client, &options.runner, &options.id).await?;
    let ended = client.end(id, options.force, !options.remove).await;
    let ended = ended.map_err(|error| request_failed(&options.runner, error))?;
    let survivors = ended["survivors"].as_array().map_or(0, Vec::len);
    if survivors > 0 {
        return Err(Failure::failed(format!(
            "{survivors} processes of session {id} are still running; end them by hand: {}",
            ended["survivors"]
        )));
    }
    let exit = match exit(&ended) {
        Some(Exit::Code(code)) => format!("exit code {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => "exit status unknown".to_owned(),
    };
    print(&format!("ended {id}: {exit}\n"))?;
    Ok(ExitCode::SUCCESS)
}

enum Exit {
    Code(i64),
    Signal(i64),
}

/// Returns how a session's process ended, if it has ended and that is known.
fn exit(session: &Value) -> Option<Exit> {
    let exit = &session["exit"];
    let code = exit["code"].as_i64().map(Exit::Code);
    code.or_else(|| exit["signal"].as_i64().map(Exit::Signal))
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

const HEADER: [&str; 6] = ["ID", "KIND", "STATE", "AGE", "NAME", "PROGRAM"];

fn table(sessions: &[Value], now_ms: u64) -> String {
    if sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    let mut rows = vec![HEADER.map(str::to_owned)];
    rows.extend(sessions.iter().map(|session| row(session, now_ms)));
    let mut widths = [0; HEADER.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(text_width(cell));
        }
    }
    rows.iter().map(|row| aligned(row, &widths)).collect()
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths);
    let padded = cells.map(|(cell, width)| cell.clone() + &" ".repeat(width - text_width(cell)));
    let line = padded.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

fn row(session: &Value, now_ms: u64) -> [String; HEADER.len()] {
    let started_ms = session["started_ms"].as_u64().unwrap_or(now_ms);
    let name = text(session, "name");
    [
        text(session, "id").to_owned(),
        text(session, "kind").to_owned(),
        state(session),
        age(now_ms.saturating_sub(started_ms) / 1000),
        sanitize(if name.is_empty() { "-" } else { name }),
        sanitize(text(session, "program")),
    ]
}

/// Returns the state, or the exit status of a session that has ended.
fn state(session: &Value) -> String {
    match exit(session) {
        Some(Exit::Code(code)) => format!("exited {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => text(session, "state").to_owned(),
    }
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sessions_are_aligned_in_columns() {
        let sessions = [
            json!({"id": "aaaa", "kind": "terminal", "state": "running", "started_ms": 0,
                   "name": "漢字", "program": "sh", "exit": null}),
            json!({"id": "bb", "kind": "dialogue", "state": "exited", "started_ms": 60_000,
                   "name": null, "program": "claude", "exit": {"code": 1, "signal": null}}),
        ];
        let expected = "\
ID    KIND      STATE     AGE  NAME  PROGRAM
aaaa  terminal  running   1h   漢字  sh
bb    dialogue  exited 1  59m  -     claude
";
        assert_eq!(table(&sessions, 3_600_000), expected);
        assert_eq!(table(&[], 0), "no sessions\n");
    }
}
