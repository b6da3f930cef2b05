//! The agent's conversations on disk (protocol notes, section F): is it there, and is it of this
//! directory?

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ResumeError;
use super::lease::check_id;

/// How much of a conversation is read to learn its directory, in bytes. It stands in nearly every
/// line, but the first lines may hold a whole prompt.
const HEAD: u64 = 1 << 20;

/// Longest folder name that the agent makes of a directory before it cuts it and adds a hash.
const MAX_SLUG: usize = 200;

/// Checks that the agent has a conversation, and that it belongs to a directory, which must be
/// given without links.
pub(super) fn verify(
    agent_folder: &Path,
    conversation: &str,
    cwd: &Path,
) -> Result<(), ResumeError> {
    check_id(conversation)?;
    let found = find(agent_folder, conversation);
    if found.iter().any(|file| belongs(file, cwd)) {
        return Ok(());
    }
    let conversation = conversation.to_owned();
    Err(match found.first() {
        None => ResumeError::NotThere {
            conversation,
            looked_in: agent_folder.join("projects"),
        },
        Some(file) => ResumeError::WrongDirectory {
            conversation,
            belongs_to: recorded_cwd(file).unwrap_or_else(|| folder_name(file).into()),
            given: cwd.to_path_buf(),
        },
    })
}

/// Checks that the agent has no conversation of this id yet.
pub(super) fn verify_new(agent_folder: &Path, conversation: &str) -> Result<(), ResumeError> {
    check_id(conversation)?;
    if find(agent_folder, conversation).is_empty() {
        return Ok(());
    }
    let conversation = conversation.to_owned();
    Err(ResumeError::Exists { conversation })
}

/// The files of a conversation; an empty one is none.
fn find(agent_folder: &Path, conversation: &str) -> Vec<PathBuf> {
    let projects = fs::read_dir(agent_folder.join("projects"));
    let projects = projects.into_iter().flatten().flatten();
    let files = projects.map(|project| project.path().join(format!("{conversation}.jsonl")));
    files
        .filter(|file| fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() > 0))
        .collect()
}

fn belongs(file: &Path, cwd: &Path) -> bool {
    match recorded_cwd(file) {
        Some(recorded) => fs::canonicalize(&recorded).unwrap_or(recorded) == cwd,
        None => is_slug_of(&folder_name(file), cwd),
    }
}

fn folder_name(file: &Path) -> String {
    let folder = file.parent().and_then(Path::file_name);
    folder
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The directory that the conversation began in.
fn recorded_cwd(file: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Line {
        cwd: Option<PathBuf>,
    }
    let lines = BufReader::new(File::open(file).ok()?.take(HEAD)).split(b'\n');
    // Lines may be cut or spliced: what cannot be read says nothing.
    let lines = lines.map_while(Result::ok);
    lines
        .filter_map(|line| serde_json::from_slice::<Line>(&line).ok()?.cwd)
        .next()
}

/// Whether the agent would name a project's folder so: all but letters and digits become dashes,
/// counted as JavaScript counts them.
fn is_slug_of(folder: &str, cwd: &Path) -> bool {
    let mut slug = String::new();
    for character in cwd.to_string_lossy().chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else {
            slug.extend(std::iter::repeat_n('-', character.len_utf16()));
        }
    }
    match slug.get(..MAX_SLUG) {
        Some(head) if slug.len() > MAX_SLUG => folder.starts_with(head),
        _ => folder == slug,
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
    fn a_conversation_is_there_and_of_its_directory_or_not_resumed() {
        let lines = "{\"type\":\"mode\"}\n}{torn\n{\"cwd\":\"/srv/a_b\",\"type\":\"user\"}\n{\"cwd\":\"/other\"}\n";
        let agent = agent_with("-srv-a-b", lines);
        let check = |id: &str, cwd: &str| verify(agent.path(), id, Path::new(cwd));
        assert_eq!(check("c1", "/srv/a_b"), Ok(()));
        // The agent's own folder name would fit, the recorded directory does not.
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
    fn without_a_recorded_directory_the_folder_tells() {
        let agent = agent_with("-srv-a-b", "{\"type\":\"summary\"}\n");
        assert_eq!(verify(agent.path(), "c1", Path::new("/srv/a_b")), Ok(()));
        assert!(verify(agent.path(), "c1", Path::new("/srv/ab")).is_err());
        let empty = agent_with("-srv-a-b", "");
        let missing = verify(empty.path(), "c1", Path::new("/srv/a_b")).unwrap_err();
        assert_eq!(missing.code(), "CONVERSATION_NOT_FOUND");
        assert!(
            is_slug_of("-srv--x", Path::new("/srv/\u{1f600}x"))
                || is_slug_of("-srv---x", Path::new("/srv/\u{1f600}x"))
        );
        let long = format!("/{}", "d".repeat(300));
        assert!(is_slug_of(
            &format!("-{}-1a2b3c", "d".repeat(199)),
            Path::new(&long)
        ));
    }
}
