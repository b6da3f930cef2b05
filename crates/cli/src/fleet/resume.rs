//! `bowline resume ID --on RUNNER`: continues a session at another runner.

use std::process::ExitCode;

use bowline_fleet::GitState;
use bowline_runner::RunnerError;
use serde_json::json;

use super::list::required_network;
use crate::args::fleet::{FleetArgs, Resume};
use crate::failure::Failure;
use crate::runner::announced;
use crate::stdio::{eprint, print};
use crate::text::one_line;

/// Digits of a commit that are shown.
const COMMIT_DIGITS: usize = 12;

/// Largest width of the name of a remote or of a branch, in columns.
const MAX_NAME_WIDTH: usize = 100;

/// Continues a session that has ended, or whose runner is silent, and prints its id.
///
/// # Errors
/// If there is no such session or runner, the session runs, or its conversation cannot be moved.
pub(crate) async fn resume(options: Resume) -> Result<ExitCode, Failure> {
    let fleet = FleetArgs {
        fleet: Some(options.fleet.unwrap_or_default()),
        creds: options.creds,
    };
    let network = required_network(&fleet)?;
    let session = announced(network.find(&options.id)).await?;
    let runner = network.select_runner(Some(&options.on)).await?;
    if runner == session.record.runner {
        return Err(Failure::usage(format!(
            "session {} is at the runner {runner} already; pass another one with --on",
            session.id
        )));
    }
    let mut request = json!({ "take_over": session.id });
    if let Some(cwd) = options.cwd {
        request["cwd"] = json!(cwd);
    }
    if let Some(prompt) = options.prompt {
        request["prompt"] = json!(prompt);
    }
    let created = announced(network.client().create(&request)).await;
    let id = created.map_err(|error| match error {
        RunnerError::Refused(problem) => {
            Failure::failed(format!("{}; {}", problem.detail, problem.next))
        }
        error => Failure::caused("cannot", &error),
    })?;
    print(&format!("{id}\n"))?;
    eprint(&format!(
        "bowline: not moved: {}, credentials, and the session's permission mode and policy\n",
        working_tree(session.record.git.as_ref())
    ));
    Ok(ExitCode::SUCCESS)
}

/// Describes the working tree as it was at the former runner.
fn working_tree(git: Option<&GitState>) -> String {
    let Some(git) = git else {
        return "the working tree".to_owned();
    };
    let mut seen = Vec::new();
    // An agent may have set them.
    let shown = |name: &String| one_line(name, MAX_NAME_WIDTH);
    seen.extend(git.remote.as_ref().map(shown));
    let branch = git.branch.as_ref().map(shown);
    seen.extend(branch.map(|it| format!("branch {it}")));
    let commit = git.commit.as_ref();
    seen.extend(commit.map(|it| format!("commit {}", one_line(&short(it), COMMIT_DIGITS))));
    if git.is_dirty {
        seen.push("with changes that are not committed".to_owned());
    }
    match seen.is_empty() {
        true => "the working tree".to_owned(),
        false => format!("the working tree ({})", seen.join(", ")),
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(COMMIT_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_tree_is_described_by_what_git_reported() {
        assert_eq!(working_tree(None), "the working tree");
        let mut git = GitState {
            remote: Some("https://h/a".to_owned()),
            branch: Some("main".to_owned()),
            commit: Some("0123456789abcdef".to_owned()),
            is_dirty: true,
        };
        assert_eq!(
            working_tree(Some(&git)),
            "the working tree (https://h/a, branch main, commit 0123456789ab, with changes that are not committed)"
        );
        git.remote = Some("\x1b]2;x\x07h\nb".to_owned());
        assert!(working_tree(Some(&git)).starts_with("the working tree (h b, "));
    }
}
