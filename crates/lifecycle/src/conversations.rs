//! The agent's conversations on disk: whether one exists, and which directory it belongs to. For the
//! layout of the folder see `crates/jsonl/PROTOCOL.md`.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use bowline_transport::Environment;
use serde::Deserialize;

use crate::error::ResumeError;

/// Longest id of a conversation. The agent uses UUIDs.
const MAX_ID: usize = 64;

/// Bytes that are read to find a conversation's directory. Nearly every line has it, but the first
/// ones may hold a long prompt.
const HEAD: u64 = 1 << 20;

/// Longest folder name of a directory. The agent cuts longer ones and appends a hash.
const MAX_FOLDER_NAME: usize = 200;

/// The conversation of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conversation {
    /// A new conversation.
    #[default]
    New,
    /// A new conversation with an id of the host's choice, an unused UUID.
    NewAs(String),
    /// A conversation that the agent has on disk.
    Resume {
        /// Its id.
        id: String,
        /// Whether to continue in a copy with a new id.
        fork: bool,
    },
    /// The newest conversation of the working directory.
    Continue,
}

/// Returns the agent's own folder for an environment: `CLAUDE_CONFIG_DIR`, or `.claude` in `HOME`.
#[must_use]
pub fn agent_directory(env: &Environment) -> PathBuf {
    let variable = |name| env.value(name).filter(|value| !value.is_empty());
    match variable("CLAUDE_CONFIG_DIR") {
        Some(named) => named.into(),
        None => PathBuf::from(variable("HOME").unwrap_or_else(|| "/".into())).join(".claude"),
    }
}

impl Conversation {
    /// Returns the id of the conversation that is resumed.
    #[cfg(feature = "remote")]
    pub(crate) fn resumed(&self) -> Option<&str> {
        match self {
            Self::Resume { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Checks this conversation against the agent's folder and the session's directory. Replaces
    /// [`Continue`](Self::Continue) by the newest conversation of the directory.
    ///
    /// The agent itself reports a missing conversation only with its first turn, and begins a new one
    /// if there is none to continue.
    ///
    /// # Errors
    ///
    /// The conversation does not exist or belongs to another directory, or a new one exists.
    pub fn verified(self, agent_directory: &Path, cwd: &Path) -> Result<Self, ResumeError> {
        let given = cwd;
        let cwd = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        match &self {
            Self::New => {}
            Self::NewAs(id) => verify_new(agent_directory, id)?,
            Self::Resume { id, .. } => verify(agent_directory, id, &cwd)?,
            Self::Continue => {
                let newest = newest(agent_directory, &cwd);
                let id = newest.ok_or_else(|| ResumeError::NothingToContinue {
                    cwd: given.to_owned(),
                    looked_in: agent_directory.join("projects"),
                })?;
                return Ok(Self::Resume { id, fork: false });
            }
        }
        Ok(self)
    }
}

/// Checks that a conversation exists and belongs to `cwd`, a path without symbolic links.
fn verify(agent_directory: &Path, conversation: &str, cwd: &Path) -> Result<(), ResumeError> {
    check_conversation_id(conversation)?;
    let found = find(agent_directory, conversation);
    if found.iter().any(|file| belongs(file, cwd)) {
        return Ok(());
    }
    let conversation = conversation.to_owned();
    Err(match found.first() {
        None => ResumeError::NotThere {
            conversation,
            looked_in: agent_directory.join("projects"),
        },
        Some(file) => ResumeError::WrongDirectory {
            conversation,
            belongs_to: recorded_cwd(file).unwrap_or_else(|| folder_name(file).into()),
            given: cwd.to_path_buf(),
        },
    })
}

/// Checks that no conversation has this id.
fn verify_new(agent_directory: &Path, conversation: &str) -> Result<(), ResumeError> {
    check_conversation_id(conversation)?;
    if find(agent_directory, conversation).is_empty() {
        return Ok(());
    }
    let conversation = conversation.to_owned();
    Err(ResumeError::Exists { conversation })
}

/// Returns the files of a conversation.
fn find(agent_directory: &Path, conversation: &str) -> Vec<PathBuf> {
    let files = projects(agent_directory).map(|it| it.join(format!("{conversation}.jsonl")));
    files.filter(|file| is_conversation(file)).collect()
}

fn projects(agent_directory: &Path) -> impl Iterator<Item = PathBuf> {
    let projects = fs::read_dir(agent_directory.join("projects"));
    projects.into_iter().flatten().flatten().map(|it| it.path())
}

/// Returns whether a file holds a conversation. An empty one does not.
fn is_conversation(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() > 0)
}

/// Returns the directory's conversation that was written last.
fn newest(agent_directory: &Path, cwd: &Path) -> Option<String> {
    let files = projects(agent_directory).flat_map(|project| {
        let files = fs::read_dir(project).into_iter().flatten().flatten();
        files.map(|it| it.path())
    });
    let mut dated: Vec<_> = files
        .filter(|file| is_conversation(file))
        .filter_map(|file| {
            let id = file
                .file_name()?
                .to_str()?
                .strip_suffix(".jsonl")?
                .to_owned();
            check_conversation_id(&id).ok()?;
            Some((fs::metadata(&file).ok()?.modified().ok()?, id, file))
        })
        .collect();
    dated.sort();
    // Reading the directory of a conversation means opening it, so the newest ones come first.
    let found = dated
        .into_iter()
        .rev()
        .find(|(_, _, file)| belongs(file, cwd));
    found.map(|(_, id, _)| id)
}

fn belongs(file: &Path, cwd: &Path) -> bool {
    match recorded_cwd(file) {
        Some(recorded) => fs::canonicalize(&recorded).unwrap_or(recorded) == cwd,
        None => is_folder_of(&folder_name(file), cwd),
    }
}

fn folder_name(file: &Path) -> String {
    let folder = file.parent().and_then(Path::file_name);
    folder
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns the directory that the conversation began in.
fn recorded_cwd(file: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Line {
        cwd: Option<PathBuf>,
    }
    let lines = BufReader::new(File::open(file).ok()?.take(HEAD)).split(b'\n');
    // Lines may be cut or merged; those are skipped.
    let lines = lines.map_while(Result::ok);
    lines
        .filter_map(|line| serde_json::from_slice::<Line>(&line).ok()?.cwd)
        .next()
}

/// Returns the file of a conversation in the agent's folder; the sub-agents and large results of the conversation are in
/// the folder of the same name without the extension. `None` if there is none.
#[must_use]
pub fn conversation_file(agent_directory: &Path, conversation: &str) -> Option<PathBuf> {
    check_conversation_id(conversation).ok()?;
    find(agent_directory, conversation).into_iter().next()
}

/// Returns the folder in which the agent looks for the conversations of `cwd`, a path without symbolic links. `None` if
/// the path is so long that the agent adds a hash of its own to the name.
#[must_use]
pub fn conversation_folder(agent_directory: &Path, cwd: &Path) -> Option<PathBuf> {
    let name = slug(cwd);
    (name.len() <= MAX_FOLDER_NAME).then(|| agent_directory.join("projects").join(name))
}

/// Returns the agent's name for the folder of `cwd`, before it is cut: all characters but ASCII letters and digits
/// become dashes, one per UTF-16 code unit.
fn slug(cwd: &Path) -> String {
    let mut name = String::new();
    for character in cwd.to_string_lossy().chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character);
        } else {
            name.extend(std::iter::repeat_n('-', character.len_utf16()));
        }
    }
    name
}

/// Returns whether the agent names the folder of `cwd` so.
fn is_folder_of(folder: &str, cwd: &Path) -> bool {
    let name = slug(cwd);
    match name.get(..MAX_FOLDER_NAME) {
        Some(head) if name.len() > MAX_FOLDER_NAME => folder.starts_with(head),
        _ => folder == name,
    }
}

/// Checks that a conversation id is a valid file name, since the agent and the lease use it as one.
///
/// # Errors
///
/// [`ResumeError::InvalidId`] if it is empty, too long, or has other characters than letters, digits, `-` and `_`.
pub fn check_conversation_id(conversation: &str) -> Result<(), ResumeError> {
    let is_name = (1..=MAX_ID).contains(&conversation.len())
        && conversation
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && !conversation.starts_with('-');
    if is_name {
        Ok(())
    } else {
        let conversation = conversation.chars().take(MAX_ID).collect();
        Err(ResumeError::InvalidId { conversation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_with(folder: &str, contents: &str) -> tempfile::TempDir {
        let agent = tempfile::tempdir().unwrap();
        let project = agent.path().join("projects").join(folder);
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("c1.jsonl"), contents).unwrap();
        agent
    }

    #[test]
    fn resume_requires_existing_conversation_of_directory() {
        let lines = "{\"type\":\"mode\"}\n}{torn\n{\"cwd\":\"/srv/a_b\",\"type\":\"user\"}\n{\"cwd\":\"/other\"}\n";
        let agent = agent_with("-srv-a-b", lines);
        let check = |id: &str, cwd: &str| verify(agent.path(), id, Path::new(cwd));
        assert_eq!(check("c1", "/srv/a_b"), Ok(()));
        // The folder name would fit, but the recorded directory does not.
        let wrong = check("c1", "/srv/a-b").unwrap_err();
        assert_eq!(wrong.code(), "WRONG_DIRECTORY");
        assert!(wrong.to_string().contains("/srv/a_b"), "{wrong}");
        assert_eq!(
            check("c2", "/srv/a_b").unwrap_err().code(),
            "CONVERSATION_NOT_FOUND"
        );
        assert_eq!(
            check("../c1", "/srv/a_b").unwrap_err().code(),
            "INVALID_CONVERSATION"
        );
        assert_eq!(
            verify_new(agent.path(), "c1").unwrap_err().code(),
            "CONVERSATION_EXISTS"
        );
        assert_eq!(verify_new(agent.path(), "c2"), Ok(()));
    }

    #[test]
    fn continue_resumes_newest_of_directory() {
        let line = |cwd: &str| format!("{{\"cwd\":\"{cwd}\"}}\n");
        let agent = agent_with("-srv-a", &line("/srv/a"));
        let project = agent.path().join("projects/-srv-a");
        let aged = [
            ("c1", 10, "/srv/a"),
            ("c2", 30, "/srv/a"),
            ("c3", 40, "/srv/b"),
        ];
        for (id, seconds, cwd) in aged {
            let path = project.join(format!("{id}.jsonl"));
            fs::write(&path, line(cwd)).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            file.set_modified(at).unwrap();
        }
        let verified = |cwd: &str| Conversation::Continue.verified(agent.path(), Path::new(cwd));
        let resumed = |id: &str| Conversation::Resume {
            id: id.to_owned(),
            fork: false,
        };
        assert_eq!(verified("/srv/a"), Ok(resumed("c2")));
        assert_eq!(verified("/srv/b"), Ok(resumed("c3")));
        let error = verified("/srv/c").unwrap_err();
        assert_eq!(error.code(), "NOTHING_TO_CONTINUE");
        assert!(error.to_string().contains("/srv/c"), "{error}");
    }

    #[test]
    fn each_kind_of_conversation_is_verified() {
        let agent = agent_with("-srv-a", "{\"cwd\":\"/srv/a\"}\n");
        let verified = |it: Conversation| it.verified(agent.path(), Path::new("/srv/a"));
        let resume = |id: &str, fork| Conversation::Resume {
            id: id.to_owned(),
            fork,
        };
        for sound in [
            Conversation::New,
            Conversation::NewAs("c2".to_owned()),
            resume("c1", false),
            resume("c1", true),
        ] {
            assert_eq!(verified(sound.clone()), Ok(sound));
        }
        for (bad, code) in [
            (Conversation::NewAs("c1".to_owned()), "CONVERSATION_EXISTS"),
            (resume("c2", false), "CONVERSATION_NOT_FOUND"),
            (resume("c2", true), "CONVERSATION_NOT_FOUND"),
        ] {
            assert_eq!(verified(bad).unwrap_err().code(), code);
        }
    }

    #[test]
    fn agent_directory_comes_from_environment() {
        let mut env = Environment::empty();
        env.set("HOME", "/home/u");
        assert_eq!(agent_directory(&env), Path::new("/home/u/.claude"));
        env.set("CLAUDE_CONFIG_DIR", "/elsewhere");
        assert_eq!(agent_directory(&env), Path::new("/elsewhere"));
    }

    #[test]
    fn folder_name_decides_without_recorded_directory() {
        let agent = agent_with("-srv-a-b", "{\"type\":\"summary\"}\n");
        assert_eq!(verify(agent.path(), "c1", Path::new("/srv/a_b")), Ok(()));
        assert!(verify(agent.path(), "c1", Path::new("/srv/ab")).is_err());
        let empty = agent_with("-srv-a-b", "");
        let missing = verify(empty.path(), "c1", Path::new("/srv/a_b")).unwrap_err();
        assert_eq!(missing.code(), "CONVERSATION_NOT_FOUND");
        // U+1F600 is two UTF-16 code units, and the slash before it is one.
        let emoji = Path::new("/srv/\u{1f600}x");
        assert!(is_folder_of("-srv---x", emoji));
        assert!(!is_folder_of("-srv--x", emoji));
        let long = format!("/{}", "d".repeat(300));
        assert!(is_folder_of(
            &format!("-{}-1a2b3c", "d".repeat(199)),
            Path::new(&long)
        ));
    }

    #[test]
    fn conversation_id_is_a_file_name() {
        for id in ["", "../x", "a/b", "--resume", "a b", "a\0", &"x".repeat(65)] {
            assert!(check_conversation_id(id).is_err(), "{id:?}");
        }
        assert!(check_conversation_id("4ede0ec4-f3ee-4d8a-babb-b49eec0e312a").is_ok());
    }
}
