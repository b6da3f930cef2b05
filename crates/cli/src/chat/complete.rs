//! Completion of commands and of file paths.

use std::path::Path;

/// Maximum number of candidates that are shown.
const MAX_SHOWN: usize = 40;

/// A completion of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// Byte position from which the line is replaced up to the cursor.
    pub(super) from: usize,
    /// The replacement: the common prefix of all candidates.
    pub(super) text: String,
    /// The candidates, if there are several.
    pub(super) candidates: Vec<String>,
}

/// Completes the word before the cursor: the name of a command at the start of the line, or a path after `@`.
/// `None` if nothing completes it.
pub(super) fn complete(
    line: &str,
    at: usize,
    commands: &[String],
    cwd: &Path,
) -> Option<Completion> {
    let before = line.get(..at)?;
    if let Some(name) = before.strip_prefix('/')
        && !name.contains(char::is_whitespace)
    {
        let names = commands.iter().filter(|it| it.starts_with(name));
        return merged(1, names.map(|it| format!("{it} ")).collect());
    }
    let from = before.rfind('@')? + 1;
    let is_word = before
        .get(..from - 1)?
        .chars()
        .next_back()
        .is_none_or(char::is_whitespace);
    let typed = before.get(from..)?;
    if !is_word || typed.contains(char::is_whitespace) {
        return None;
    }
    merged(from, paths(typed, cwd))
}

/// Returns the paths that begin with what is typed; folders end with a slash.
fn paths(typed: &str, cwd: &Path) -> Vec<String> {
    let (folder, name) = typed
        .rsplit_once('/')
        .map_or(("", typed), |(folder, name)| {
            (if folder.is_empty() { "/" } else { folder }, name)
        });
    let Ok(entries) = std::fs::read_dir(cwd.join(folder)) else {
        return Vec::new();
    };
    let prefix = typed.get(..typed.len() - name.len()).unwrap_or_default();
    let mut paths = Vec::new();
    for entry in entries.flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        let is_hidden = found.starts_with('.') && !name.starts_with('.');
        // A space would end the path.
        if is_hidden || !found.starts_with(name) || found.contains(char::is_whitespace) {
            continue;
        }
        let end = if entry.path().is_dir() { "/" } else { " " };
        paths.push(format!("{prefix}{found}{end}"));
    }
    paths.sort();
    paths
}

fn merged(from: usize, candidates: Vec<String>) -> Option<Completion> {
    let first = candidates.first()?.clone();
    if candidates.len() == 1 {
        return Some(Completion {
            from,
            text: first,
            candidates: Vec::new(),
        });
    }
    let mut length = first.len();
    for candidate in &candidates {
        let same = first.char_indices().zip(candidate.chars());
        let end = same.take_while(|((_, a), b)| a == b).last();
        length = length.min(end.map_or(0, |((at, c), _)| at + c.len_utf8()));
    }
    let shown = candidates.iter().take(MAX_SHOWN);
    Some(Completion {
        from,
        text: first.get(..length).unwrap_or_default().to_owned(),
        candidates: shown.map(|it| it.trim_end().to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_paths_are_completed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["src", "src/deep", "other"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("src/main.rs"), "").unwrap();
        std::fs::write(folder.path().join("src/map.rs"), "").unwrap();
        let commands = ["mode", "model", "help"].map(str::to_owned);
        let run = |line: &str| complete(line, line.len(), &commands, folder.path());
        let all = run("/mo").unwrap();
        assert_eq!((all.from, all.text.as_str()), (1, "mode"));
        assert_eq!(all.candidates, ["mode", "model"]);
        assert_eq!(run("/h").unwrap().text, "help ");
        assert_eq!(run("look at @sr").unwrap().text, "src/");
        let files = run("look at @src/m").unwrap();
        assert_eq!((files.from, files.text.as_str()), (9, "src/ma"));
        assert_eq!(files.candidates, ["src/main.rs", "src/map.rs"]);
        assert_eq!(run("@src/mai").unwrap().text, "src/main.rs ");
        for none in ["mail@sr", "/x", "plain", "@none", "@src x"] {
            assert_eq!(run(none), None, "{none}");
        }
    }
}
