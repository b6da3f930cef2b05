//! Keeps a summary in a file, whole at any time, and takes it up again.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::summary::{SCHEMA, Summary};

/// What a stopped run left in a file; `None` if there is no such file.
///
/// # Errors
///
/// The file cannot be read, or is not what a run with this seed left.
pub(super) fn take_up(file: &Path, seed: Option<u64>) -> Result<Option<Summary>, String> {
    let wrong = |why: String| format!("failed to go on from {}: {why}", file.display());
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| wrong(error.to_string()))?,
    };
    let summary: Summary = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("{error}; name another file to begin anew")))?;
    if summary.schema != SCHEMA {
        return Err(wrong("another version wrote it; begin anew".into()));
    }
    match seed {
        Some(seed) if seed != summary.seed => Err(wrong(format!(
            "it was begun with seed {}; leave --seed out, or name another file",
            summary.seed
        ))),
        _ => Ok(Some(summary)),
    }
}

/// Writes a summary in the place of another. Whoever stops us meanwhile finds the old one or this.
///
/// # Errors
///
/// It cannot be written there.
pub(super) fn keep(file: &Path, summary: &Summary) -> Result<(), String> {
    let write = || {
        let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
        let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
        serde_json::to_writer_pretty(&mut new, summary)?;
        new.write_all(b"\n")?;
        new.persist(file)?;
        Ok::<_, io::Error>(())
    };
    write().map_err(|error| format!("failed to write {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_taken_up_with_its_seed_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kept.json");
        assert_eq!(take_up(&file, Some(3)), Ok(None));
        let mut summary = Summary::new(3);
        let campaign = &crate::campaign::ALL[0];
        summary.outcome(campaign, Some(9)).done = 4;
        keep(&file, &summary).expect("kept");
        assert_eq!(take_up(&file, Some(3)), Ok(Some(summary.clone())));
        assert_eq!(take_up(&file, None), Ok(Some(summary)));
        let error = take_up(&file, Some(4)).expect_err("begun with another");
        assert!(error.contains("begun with seed 3"), "{error}");
    }

    #[test]
    fn another_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kept.json");
        fs::write(&file, "{\"schema\":1").expect("written");
        let error = take_up(&file, None).expect_err("torn");
        assert!(error.contains("name another file"), "{error}");
    }
}
