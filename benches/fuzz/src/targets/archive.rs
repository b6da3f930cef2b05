//! The files of a conversation that another machine has packed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bowline_runner::{UnpackError, pack_conversation, unpack_conversation};
use tempfile::TempDir;

use super::same;
use crate::guided::{Check, Target};

/// The first byte selects what is there before; the rest is an archive (POSIX.1-1988, ustar).
pub(super) static ARCHIVE: Target = Target {
    name: "archive",
    what: "files are written below the conversation or not at all, and packed again they are the same",
    longest: 4_096,
    seeds: || Ok(seeds()),
    dictionary: &TOKENS,
    repair,
    check,
};

const ID: &str = "0f3d4a52-0000-4000-8000-00000000000a";

/// Bytes of a header or a part of a file.
const BLOCK: usize = 512;

/// Place of the checksum in a header.
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// What the conversation has where one is there before.
const BEFORE: &[u8] = b"{\"n\":1}\n";

const TOKENS: [&[u8]; 18] = [
    b"0f3d4a52-0000-4000-8000-00000000000a.jsonl\0",
    b"0f3d4a52-0000-4000-8000-00000000000a/\0",
    b"/x\0",
    b"../",
    b"/..",
    b"/etc/passwd\0",
    b"./",
    b"//",
    b"\0",
    b"00000000010\0",
    b"77777777777\0",
    b"ustar\x0000",
    b"ustar  \0",
    b"././@LongLink\0",
    b"27 path=0f3d4a52/../../x\n",
    b"12 size=1000\n",
    BEFORE,
    b"\x80\0\0\0\0\0\0\0\0\0\0\x10",
];

fn seeds() -> Vec<Vec<u8>> {
    let main = format!("{ID}.jsonl");
    let below = format!("{ID}/subagents/agent-a.jsonl");
    let longer = [BEFORE, b"{\"n\":2}\n"].concat();
    let with = |selector: u8, entries: &[(u8, &str, &[u8])]| {
        let mut archive = vec![selector];
        for (kind, name, content) in entries {
            archive.extend(entry(*kind, name, content));
        }
        archive.extend([0; 2 * BLOCK]);
        archive
    };
    vec![
        with(0, &[(b'0', &main, &longer), (b'0', &below, b"{}\n")]),
        with(1, &[(b'0', &main, &longer)]),
        with(1, &[(b'0', &main, b"{\"n\":3}\n")]),
        with(0, &[(b'5', &below, b""), (b'2', &main, b"")]),
        with(
            0,
            &[
                (b'L', "././@LongLink", below.as_bytes()),
                (b'0', "x", b"{}\n"),
            ],
        ),
        with(
            0,
            &[(b'x', "p", b"18 path=../../../x\n"), (b'0', &main, b"{}\n")],
        ),
        with(
            0,
            &[
                (b'0', &format!("{ID}/../../x"), b"{}\n"),
                (b'S', &main, b""),
            ],
        ),
    ]
}

/// Returns a header and its file.
fn entry(kind: u8, name: &str, content: &[u8]) -> Vec<u8> {
    let mut entry = vec![0; BLOCK];
    entry[..name.len()].copy_from_slice(name.as_bytes());
    entry[100..108].copy_from_slice(b"0000600\0");
    entry[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    entry[156] = kind;
    entry[257..265].copy_from_slice(b"ustar\x0000");
    seal(&mut entry);
    entry.extend(content);
    entry.resize(entry.len().next_multiple_of(BLOCK), 0);
    entry
}

/// Writes the checksum of a header: the sum of its bytes, those of the checksum as spaces.
fn seal(header: &mut [u8]) {
    header[CHECKSUM].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Repairs the checksum of each block that says that it is a header.
fn repair(input: &mut [u8]) {
    let archive = input.get_mut(1..).unwrap_or_default();
    let headers = archive.chunks_exact_mut(BLOCK);
    headers
        .filter(|it| &it[257..262] == b"ustar")
        .for_each(seal);
}

/// An agent's folder in one of its own, and a working directory.
struct Folders {
    root: TempDir,
    cwd: PathBuf,
    /// The agent's folder for the working directory.
    project: PathBuf,
}

impl Folders {
    fn make() -> std::io::Result<Self> {
        let root = tempfile::tempdir()?;
        let cwd = fs::canonicalize(root.path())?.join("w");
        fs::create_dir(&cwd)?;
        let project = bowline_lifecycle::conversation_folder(&root.path().join("agent"), &cwd);
        Ok(Self {
            root,
            cwd,
            project: project.ok_or_else(|| std::io::Error::other("a long path"))?,
        })
    }

    fn agent(&self) -> PathBuf {
        self.root.path().join("agent")
    }

    /// Removes all files, and writes the conversation that is there before.
    fn reset(&self, is_there: bool) -> std::io::Result<()> {
        if self.agent().exists() {
            fs::remove_dir_all(self.agent())?;
        }
        if is_there {
            fs::create_dir_all(&self.project)?;
            fs::write(self.project.join(format!("{ID}.jsonl")), BEFORE)?;
        }
        Ok(())
    }

    /// Returns all files below the root, by their path.
    fn files(&self) -> std::io::Result<BTreeMap<PathBuf, Vec<u8>>> {
        let (mut folders, mut files) = (vec![self.root.path().to_path_buf()], BTreeMap::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), fs::read(&path)?);
                }
            }
        }
        Ok(files)
    }
}

fn check() -> Result<Check, String> {
    let folders = Folders::make().map_err(|error| error.to_string())?;
    Ok(Box::new(move |input| {
        let Some((&selector, archive)) = input.split_first() else {
            return Ok(());
        };
        let failed = |error: std::io::Error| error.to_string();
        folders.reset(selector & 1 == 1).map_err(failed)?;
        let before = folders.files().map_err(failed)?;
        let unpacked = unpack_conversation(&folders.agent(), &folders.cwd, ID, archive);
        let after = folders.files().map_err(failed)?;
        for (path, content) in &after {
            is_allowed(&folders, path, content, before.get(path))?;
        }
        if let Some(lost) = before.keys().find(|path| !after.contains_key(*path)) {
            return Err(format!("{} is gone", lost.display()));
        }
        match unpacked {
            Err(UnpackError::Io(_)) => Ok(()),
            Err(_) => same("what is refused", &after, &before),
            Ok(()) => again(&folders, &after),
        }
    }))
}

/// Checks that a file is of the conversation, and is what was there or continues it.
fn is_allowed(
    folders: &Folders,
    path: &Path,
    content: &[u8],
    before: Option<&Vec<u8>>,
) -> Result<(), String> {
    let name = path
        .strip_prefix(&folders.project)
        .unwrap_or_else(|_| Path::new(""));
    let is_its = name == Path::new(&format!("{ID}.jsonl")) || name.starts_with(ID);
    let continues = before.is_none_or(|before| content.starts_with(before));
    if is_its && continues {
        return Ok(());
    }
    Err(format!("{} is {}", path.display(), content.escape_ascii()))
}

/// Packs what was written, and unpacks it elsewhere.
fn again(folders: &Folders, files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<(), String> {
    let packed = pack_conversation(&folders.agent(), ID).map_err(|error| error.to_string())?;
    let Some(packed) = packed else {
        return Ok(());
    };
    folders.reset(false).map_err(|error| error.to_string())?;
    let unpacked = unpack_conversation(&folders.agent(), &folders.cwd, ID, &packed);
    unpacked.map_err(|error| format!("packed again: {error}"))?;
    let again = folders.files().map_err(|error| error.to_string())?;
    same("packed again", &again, files)
}
