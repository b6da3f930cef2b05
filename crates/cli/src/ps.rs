//! `bowline ps`: the sessions of a runner.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::args;
use crate::failure::Failure;
use crate::runner::{client, refused, text};
use crate::view::{clean, print};

/// Lists the sessions of a runner.
pub(crate) async fn ps(options: args::Ps) -> Result<ExitCode, Failure> {
    let client = client(&options.at)?;
    let sessions = client.sessions().await;
    let sessions = sessions.map_err(|error| refused(&options.at, error))?;
    if options.json {
        let mut document = serde_json::to_string_pretty(&sessions).unwrap_or_default();
        document.push('\n');
        print(&document)?;
    } else {
        print(&table(&sessions, now()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

const HEAD: [&str; 6] = ["ID", "KIND", "STATE", "AGE", "NAME", "PROGRAM"];

fn table(sessions: &[Value], now: u64) -> String {
    if sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(sessions.iter().map(|session| row(session, now)));
    let mut widths = [0; HEAD.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths);
    let cells: Vec<_> = cells
        .map(|(cell, width)| format!("{cell:width$}"))
        .collect();
    format!("{}\n", cells.join("  ").trim_end())
}

fn row(session: &Value, now: u64) -> [String; HEAD.len()] {
    let started = session["started_ms"].as_u64().unwrap_or(now);
    let name = text(session, "name");
    [
        text(session, "id").to_owned(),
        text(session, "kind").to_owned(),
        state(session),
        age(now.saturating_sub(started) / 1000),
        clean(if name.is_empty() { "-" } else { name }),
        clean(text(session, "program")),
    ]
}

/// The state, and how a session ended.
fn state(session: &Value) -> String {
    let exit = &session["exit"];
    match (exit["code"].as_i64(), exit["signal"].as_i64()) {
        (Some(code), _) => format!("exited {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => text(session, "state").to_owned(),
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
    fn sessions_stand_in_columns() {
        let sessions = [
            json!({"id": "aaaa", "kind": "terminal", "state": "running", "started_ms": 0,
                   "name": null, "program": "sh", "exit": null}),
            json!({"id": "bb", "kind": "dialogue", "state": "exited", "started_ms": 60_000,
                   "name": "mine", "program": "claude", "exit": {"code": 1, "signal": null}}),
        ];
        let expected = "\
ID    KIND      STATE     AGE  NAME  PROGRAM
aaaa  terminal  running   1h   -     sh
bb    dialogue  exited 1  59m  mine  claude
";
        assert_eq!(table(&sessions, 3_600_000), expected);
        assert_eq!(table(&[], 0), "no sessions\n");
    }
}
