//! Saves a summary to a file atomically and loads it again.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::summary::{SCHEMA, Summary};

/// Loads the summary of an interrupted run, or returns `None` if the file does not exist.
///
/// # Errors
///
/// The file cannot be read, is not a summary, or was written with another seed.
pub(super) fn load(file: &Path, seed: Option<u64>) -> Result<Option<Summary>, String> {
    let wrong = |why: String| format!("failed to resume from {}: {why}", file.display());
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| wrong(error.to_string()))?,
    };
    let summary: Summary = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("{error}; name another file to start a new run")))?;
    if summary.schema != SCHEMA {
        return Err(wrong(
            "it was written by another version; name another file".into(),
        ));
    }
    match seed {
        Some(seed) if seed != summary.seed => Err(wrong(format!(
            "it was started with seed {}; omit --seed, or name another file",
            summary.seed
        ))),
        _ => Ok(Some(summary)),
    }
}

/// Replaces the file with this summary. The write is atomic: after an interruption the file holds
/// either the old or the new summary.
///
/// # Errors
///
/// The file cannot be written.
pub(super) fn save(file: &Path, summary: &Summary) -> Result<(), String> {
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
    fn saved_summary_loads_with_its_seed_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("summary.json");
        assert_eq!(load(&file, Some(3)), Ok(None));
        let mut summary = Summary::new(3);
        let campaign = &crate::campaign::ALL[0];
        summary.outcome(campaign, Some(9)).done = 4;
        save(&file, &summary).expect("saved");
        assert_eq!(load(&file, Some(3)), Ok(Some(summary.clone())));
        assert_eq!(load(&file, None), Ok(Some(summary)));
        let error = load(&file, Some(4)).expect_err("another seed");
        assert!(error.contains("started with seed 3"), "{error}");
    }

    #[test]
    fn torn_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("summary.json");
        fs::write(&file, "{\"schema\":1").expect("written");
        let error = load(&file, None).expect_err("torn");
        assert!(error.contains("name another file"), "{error}");
    }
}
