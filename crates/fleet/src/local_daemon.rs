//! The daemon of this process as the runner of a member.

use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_process::{Environment, SessionId};
use bowline_runner::{
    DialectName, GENERATION_LABEL, LinkServer, Runner, RunnerClient, SessionSummary,
    SessionSummaryState, StateDir, TokenScope, agent_directory, conversation_of, pack_conversation,
};
use tokio::io::DuplexStream;
use tokio::task::spawn_blocking;

use crate::carrier::LinkOpening;
use crate::directory::{ConversationKey, GitState};
use crate::member::{LocalFiles, LocalRunner, LocalSession};

/// The daemon of this process.
#[derive(Clone, Debug)]
pub struct LocalDaemon {
    client: RunnerClient,
    state: StateDir,
    links: LinkServer,
}

impl LocalDaemon {
    /// Returns the daemon whose sessions are in a state folder; `None` if it does not listen on a Unix socket.
    #[must_use]
    pub fn new(runner: &Runner, state: StateDir) -> Option<Self> {
        let socket = format!("unix:{}", runner.socket()?.display());
        Some(Self {
            client: RunnerClient::at(&socket, None, None).ok()?,
            state,
            links: runner.links(),
        })
    }

    /// Returns whether a session runs; `None` if that cannot be learned now.
    pub(crate) async fn is_running(&self, id: SessionId) -> Option<bool> {
        let sessions = self.client.sessions().await.ok()?;
        let is_it = |it: &SessionSummary| it.id == id && is_running(it);
        Some(sessions.iter().any(is_it))
    }

    fn local(&self, session: &SessionSummary) -> Option<LocalSession> {
        let generation = session.labels.get(GENERATION_LABEL);
        Some(LocalSession {
            id: session.id,
            epoch: session.epoch,
            has_ended: !is_running(session),
            journal: self.state.session(session.id).journal(),
            summary: serde_json::to_value(session).ok()?,
            conversation: conversation_of(session)
                .map(|(dialect, id)| ConversationKey::new(dialect.as_str(), id)),
            generation: generation.and_then(|it| it.parse().ok()),
        })
    }
}

fn is_running(session: &SessionSummary) -> bool {
    session.state == SessionSummaryState::Running
}

impl LocalRunner for LocalDaemon {
    async fn sessions(&self) -> Option<Vec<LocalSession>> {
        let sessions = self.client.sessions().await.ok()?;
        let readable = sessions.iter().filter(|it| it.damage.is_none());
        Some(readable.filter_map(|it| self.local(it)).collect())
    }

    async fn files(&self, session: &LocalSession) -> Option<LocalFiles> {
        let conversation = session.conversation.clone()?;
        if conversation.agent != DialectName::Claude.as_str() {
            return None;
        }
        let cwd = session.summary.get("cwd").and_then(|it| it.as_str());
        let cwd = cwd.map(PathBuf::from);
        let packed = spawn_blocking(move || {
            let agent = agent_directory(&Environment::inherited());
            let archive = pack_conversation(&agent, &conversation.conversation);
            // A conversation that cannot be read now is read after the next turn.
            let archive = archive.ok().flatten()?.into();
            let git = cwd.as_deref().and_then(git_state);
            Some(LocalFiles { archive, git })
        });
        packed.await.ok().flatten()
    }

    async fn serve(&self, stream: DuplexStream, opening: LinkOpening) {
        // An unknown scope, as of a later version, permits to look.
        let scope = opening.scope.parse().unwrap_or(TokenScope::Look);
        self.links.serve(stream, scope).await;
    }
}

/// Returns what git reports of a directory; `None` if it is not in a working tree, there is no git, or git would run
/// commands that the repository names: an agent that may write files, and nothing else, may have written those.
fn git_state(cwd: &Path) -> Option<GitState> {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "core.fsmonitor=false"]);
        command.arg("-C").arg(cwd).args(args);
        // It writes nothing, asks for no password, and fetches nothing.
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1");
        let output = command.output().ok().filter(|it| it.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let keys = git(&["config", "--list", "--show-scope", "--name-only"])?;
    if keys.lines().any(names_command) {
        return None;
    }
    // A submodule has a configuration of its own.
    let changes = git(&["status", "--porcelain", "--ignore-submodules=all"])?;
    let named = |text: Option<String>| text.filter(|it| !it.is_empty());
    Some(GitState {
        remote: named(git(&["remote", "get-url", "origin"])).map(|it| without_credentials(&it)),
        branch: named(git(&["symbolic-ref", "--short", "-q", "HEAD"])),
        commit: named(git(&["rev-parse", "-q", "--verify", "HEAD"])),
        is_dirty: !changes.is_empty(),
    })
}

/// Returns whether a key of the configuration, with its scope before it, is the repository's own and makes `git status`
/// run commands: filters of contents, and fetches of objects that are not here (gitattributes(5), git-config(1)).
fn names_command(key: &str) -> bool {
    let Some((scope, name)) = key.split_once('\t') else {
        return false;
    };
    let is_own = matches!(scope, "local" | "worktree");
    let is_fetch = name == "extensions.partialclone" || name.ends_with(".promisor");
    is_own && (is_fetch || name.starts_with("filter."))
}

/// Removes user and password from a URL.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |it| it.1);
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_a_remote_has_no_credentials() {
        for (url, expected) in [
            ("https://u:p@h/a/b", "https://h/a/b"),
            ("https://h/a@b", "https://h/a@b"),
            ("git@h:a/b", "git@h:a/b"),
        ] {
            assert_eq!(without_credentials(url), expected);
        }
    }

    fn git(folder: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder);
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.example"]);
        let output = git.args(args).output().expect("git");
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    #[test]
    fn state_of_a_working_tree_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(git_state(folder.path()), None);
        let run = |args: &[&str]| git(folder.path(), args);
        run(&["init", "-q", "-b", "main"]);
        run(&["remote", "add", "origin", "https://u:p@h/a"]);
        run(&["commit", "-q", "--allow-empty", "-m", "x"]);
        let state = git_state(folder.path()).unwrap();
        assert_eq!(state.remote.as_deref(), Some("https://h/a"));
        assert_eq!(state.branch.as_deref(), Some("main"));
        assert_eq!(state.commit.map(|it| it.len()), Some(40));
        assert!(!state.is_dirty);
        std::fs::write(folder.path().join("new"), "").unwrap();
        assert!(git_state(folder.path()).unwrap().is_dirty);
    }
    #[test]
    fn repository_runs_no_command() {
        let folder = tempfile::tempdir().unwrap();
        let ran = folder.path().join("ran");
        let command = format!("touch {}; cat", ran.display());
        let run = |args: &[&str]| git(folder.path(), args);
        run(&["init", "-q"]);
        std::fs::write(folder.path().join("file"), "1").unwrap();
        std::fs::write(folder.path().join(".gitattributes"), "file filter=f\n").unwrap();
        run(&["add", "."]);
        run(&["commit", "-q", "-m", "x"]);
        run(&["config", "core.fsmonitor", &command]);
        assert!(!git_state(folder.path()).unwrap().is_dirty);
        assert!(!ran.exists());
        run(&["config", "filter.f.clean", &command]);
        // Of the same size, so that git compares the contents.
        std::fs::write(folder.path().join("file"), "2").unwrap();
        assert_eq!(git_state(folder.path()), None);
        assert!(!ran.exists());
        run(&["status"]);
        assert!(ran.exists(), "git runs it otherwise");
    }
}
