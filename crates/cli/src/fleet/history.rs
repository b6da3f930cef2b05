//! The sessions of a fleet that have ended, as a list.

use std::cmp::Reverse;
use std::path::Path;
use std::process::ExitCode;

use bowline_fleet::FleetSession;
use bowline_runner::{SessionSummary, SessionSummaryState};
use serde::Deserialize as _;

use super::list::{print_list, required_network};
use crate::args::{History, HistoryAgent};
use crate::failure::Failure;
use crate::runner::announced;

/// Lists the sessions of all runners that have ended, the newest first. Those of a runner that is silent are among
/// them: the directory and the copies outlive it.
///
/// # Errors
/// If the servers cannot be reached, or a template names a field that is not there.
pub(crate) async fn history(options: History) -> Result<ExitCode, Failure> {
    let network = required_network(&options.fleet)?;
    let sessions = announced(network.sessions()).await?;
    print_list(&options.list, &ended(sessions, &options))
}

/// Returns the sessions that have ended and that the options select, the newest first.
fn ended(sessions: Vec<FleetSession>, options: &History) -> Vec<FleetSession> {
    let mut ended: Vec<_> = sessions
        .into_iter()
        .filter_map(|session| {
            let summary = SessionSummary::deserialize(&session.record.summary).ok()?;
            let is_shown =
                summary.state != SessionSummaryState::Running && matches(&summary, options);
            is_shown.then(|| (summary.ended_ms.unwrap_or(summary.started_ms), session))
        })
        .collect();
    ended.sort_by_key(|it| Reverse(it.0));
    ended.truncate(options.count.unwrap_or(usize::MAX));
    ended.into_iter().map(|it| it.1).collect()
}

fn matches(summary: &SessionSummary, options: &History) -> bool {
    let is_agent = |agent| {
        let program = Path::new(&summary.program).file_stem();
        program.is_some_and(|it| it == agent)
    };
    let is_in = |folder: &Path| {
        let cwd = summary.cwd.as_deref();
        cwd.is_some_and(|it| Path::new(it).starts_with(folder))
    };
    let has = |text: &str| {
        let texts = [&summary.name, &summary.activity.title];
        let mut texts = texts.into_iter().flatten().map(|it| it.to_lowercase());
        texts.any(|it| it.contains(&text.to_lowercase()))
    };
    let agent = options.agent.map(|agent| match agent {
        HistoryAgent::Claude => "claude",
        HistoryAgent::Codex => "codex",
    });
    agent.is_none_or(is_agent)
        && options.cwd.as_deref().is_none_or(is_in)
        && options.search.as_deref().is_none_or(has)
}

#[cfg(test)]
mod tests {
    use bowline_fleet::{Reach, SessionRecord};
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        history: History,
    }

    fn session(n: u8, name: &str, cwd: &str, ended_ms: Option<u64>) -> FleetSession {
        let id = format!("00000000-0000-4000-8000-0000000000{n:02}");
        let epoch = "0".repeat(32);
        let state = if ended_ms.is_some() {
            "exited"
        } else {
            "running"
        };
        let summary = json!({
            "id": id, "name": name, "kind": "dialogue", "stdio": "pipes", "program": "/bin/claude",
            "cwd": cwd, "labels": {}, "state": state, "epoch": epoch, "pid": null,
            "started_ms": 1, "ended_ms": ended_ms, "exit": null,
        });
        let record = json!({"runner": "a", "generation": 1, "epoch": epoch, "summary": summary});
        FleetSession {
            id: id.parse().unwrap(),
            record: serde_json::from_value::<SessionRecord>(record).unwrap(),
            runner_name: "a".to_owned(),
            reach: Reach::Silent { since_ms: None },
        }
    }

    fn names(words: &[&str]) -> Vec<String> {
        let sessions = vec![
            session(1, "Old", "/x/a", Some(10)),
            session(2, "New", "/y", Some(20)),
            session(3, "Runs", "/x", None),
        ];
        let options = Line::parse_from([&["history", "--fleet"], words].concat()).history;
        let names = ended(sessions, &options).into_iter();
        let names = names.map(|it| it.record.summary["name"].as_str().unwrap().to_owned());
        names.collect()
    }

    #[test]
    fn ended_sessions_are_selected_newest_first() {
        assert_eq!(names(&[]), ["New", "Old"]);
        assert_eq!(names(&["-n", "1"]), ["New"]);
        assert_eq!(names(&["--cwd", "/x"]), ["Old"]);
        assert_eq!(names(&["--search", "nEw"]), ["New"]);
        assert_eq!(names(&["--agent", "claude"]).len(), 2);
        assert!(names(&["--agent", "codex"]).is_empty());
    }
}
