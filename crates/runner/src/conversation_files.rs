//! The files of a conversation of Claude Code as one archive, to continue it on another machine.
//!
//! The archive has what lies in the agent's folder for the conversation, by names relative to the folder of its working
//! directory: `<id>.jsonl`, and what is below `<id>/`. The folder is chosen anew from the directory on the other machine.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use bowline_lifecycle::{conversation_file, conversation_folder};

/// Largest archive, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Why the files of a conversation are not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The path of the working directory is too long.
    #[error("the path {} is so long that the agent names its folder by a hash", .0.display())]
    LongPath(PathBuf),
    /// A file of the conversation is there, and is no earlier state of the one in the archive.
    #[error("{} has another content than the conversation that was copied", .0.display())]
    Exists(PathBuf),
    /// The archive has a file that is not of the conversation.
    #[error("the copy of the conversation has a file {0:?} that is not of it")]
    Foreign(PathBuf),
    /// A file cannot be read or written.
    #[error("write the conversation to the agent's folder: {0}")]
    Io(#[from] io::Error),
}

/// Packs the files of a conversation; `None` if the agent has none, or they are larger than 256 MiB. Blocks.
///
/// # Errors
///
/// A file cannot be read.
pub fn pack_conversation(
    agent_directory: &Path,
    conversation: &str,
) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = conversation_file(agent_directory, conversation) else {
        return Ok(None);
    };
    let mut archive = tar::Builder::new(Vec::new());
    let mut left = MAX_BYTES;
    let mut waiting = vec![(file.clone(), PathBuf::from(format!("{conversation}.jsonl")))];
    let folder = file.with_extension("");
    if folder.is_dir() {
        waiting.push((folder, PathBuf::from(conversation)));
    }
    while let Some((path, name)) = waiting.pop() {
        // Links are not followed.
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                waiting.push((entry.path(), name.join(entry.file_name())));
            }
        } else if kind.is_file() {
            // The agent may append meanwhile: what was read has a length.
            let mut bytes = Vec::new();
            let file = fs::File::open(&path)?;
            file.take(left + 1).read_to_end(&mut bytes)?;
            let Some(rest) = left.checked_sub(bytes.len() as u64) else {
                return Ok(None);
            };
            left = rest;
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o600);
            archive.append_data(&mut header, &name, &*bytes)?;
        }
    }
    archive.into_inner().map(Some)
}

/// Writes the files of a conversation to where the agent looks for those of `cwd`. A file that is there is replaced only
/// by one that continues it. Blocks.
///
/// # Errors
///
/// A file is there with another content, in which case nothing is written; or one cannot be written.
pub fn unpack_conversation(
    agent_directory: &Path,
    cwd: &Path,
    conversation: &str,
    archive: &[u8],
) -> Result<(), UnpackError> {
    let cwd = fs::canonicalize(cwd)?;
    let folder = conversation_folder(agent_directory, &cwd).ok_or(UnpackError::LongPath(cwd))?;
    let mut files = Vec::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        if !entry.header().entry_type().is_file() || !is_of(&name, conversation) {
            return Err(UnpackError::Foreign(name));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        let path = folder.join(&name);
        match fs::read(&path) {
            Ok(old) if bytes.starts_with(&old) => {}
            Ok(_) => return Err(UnpackError::Exists(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        files.push((path, bytes));
    }
    for (path, bytes) in files {
        write(&path, &bytes)?;
    }
    Ok(())
}

/// Returns whether a name in an archive is that of a file of the conversation, and leads nowhere else.
fn is_of(name: &Path, conversation: &str) -> bool {
    let parts: Vec<_> = name.components().collect();
    let is_normal = parts.iter().all(|it| matches!(it, Component::Normal(_)));
    let first = parts.first().map(|it| it.as_os_str());
    let file = format!("{conversation}.jsonl");
    let is_named = match parts.len() {
        1 => first == Some(OsStr::new(&file)),
        _ => first == Some(OsStr::new(conversation)),
    };
    is_normal && is_named
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".bowline");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&temporary)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0f3d4a52-0000-4000-8000-00000000000a";

    /// An agent's folder with a conversation of a directory.
    fn agent(cwd: &Path) -> tempfile::TempDir {
        let agent = tempfile::tempdir().unwrap();
        let folder = conversation_folder(agent.path(), cwd).unwrap();
        fs::create_dir_all(folder.join(ID).join("subagents")).unwrap();
        fs::write(folder.join(format!("{ID}.jsonl")), "{\"n\":1}\n").unwrap();
        fs::write(folder.join(ID).join("subagents/agent-a.jsonl"), "{}\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join(ID).join("link")).unwrap();
        agent
    }

    #[test]
    fn conversation_moves_to_the_folder_of_another_directory() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (here, there) = (agent(from.path()), tempfile::tempdir().unwrap());
        let archive = pack_conversation(here.path(), ID).unwrap().unwrap();
        let unpack = |archive: &[u8]| unpack_conversation(there.path(), to.path(), ID, archive);
        unpack(&archive).unwrap();
        let cwd = fs::canonicalize(to.path()).unwrap();
        let folder = conversation_folder(there.path(), &cwd).unwrap();
        let file = folder.join(format!("{ID}.jsonl"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"n\":1}\n");
        assert!(folder.join(ID).join("subagents/agent-a.jsonl").is_file());
        assert!(!folder.join(ID).join("link").exists());
        // It is continued, and not replaced by an earlier state or by another one.
        unpack(&archive).unwrap();
        fs::write(&file, "{\"n\":1}\n{\"n\":2}\n").unwrap();
        let refused = unpack(&archive);
        assert!(
            matches!(refused, Err(UnpackError::Exists(_))),
            "{refused:?}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"n\":1}\n{\"n\":2}\n");
    }

    #[test]
    fn archive_with_other_files_is_refused() {
        let (cwd, agent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["settings.json", "other/a.jsonl"] {
            let mut archive = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            archive.append_data(&mut header, name, &b"x"[..]).unwrap();
            let archive = archive.into_inner().unwrap();
            let refused = unpack_conversation(agent.path(), cwd.path(), ID, &archive);
            assert!(
                matches!(refused, Err(UnpackError::Foreign(_))),
                "{refused:?}"
            );
        }
        assert!(!is_of(Path::new(&format!("{ID}/../x")), ID));
        assert!(!is_of(Path::new("/x"), ID));
        assert!(fs::read_dir(agent.path()).unwrap().next().is_none());
    }

    #[test]
    fn missing_conversation_has_no_archive() {
        let agent = tempfile::tempdir().unwrap();
        assert_eq!(pack_conversation(agent.path(), ID).unwrap(), None);
        assert_eq!(pack_conversation(agent.path(), "../x").unwrap(), None);
    }
}
