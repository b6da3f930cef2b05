//! Resolves the symbolic links of paths, off the reactor.

use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::machine::Input;

/// How long a file system may take. Where it takes longer, a user decides.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Paths that are being resolved.
#[derive(Debug, Default)]
pub(super) struct PathResolutions(JoinSet<Input>);

impl PathResolutions {
    /// Begins to resolve the paths of a permission request.
    pub(super) fn start(&mut self, request_id: String, paths: Vec<String>) {
        self.0.spawn(async move {
            let count = paths.len();
            let resolve = move || paths.iter().map(|it| resolve(Path::new(it))).collect();
            let resolved = match timeout(TIMEOUT, spawn_blocking(resolve)).await {
                Ok(Ok(resolved)) => resolved,
                _ => vec![None; count],
            };
            Input::PathsResolved {
                request_id,
                resolved,
            }
        });
    }

    /// Waits for the next result; forever if there is none. Cancel safe.
    pub(super) async fn next(&mut self) -> Input {
        match self.0.join_next().await {
            Some(Ok(input)) => input,
            // The task neither panics nor is it cancelled.
            _ => pending().await,
        }
    }
}

/// Returns where the system finds a path. Of one that does not exist yet, the folders that do are resolved.
fn resolve(path: &Path) -> Option<String> {
    let mut existing = path;
    let mut missing = Vec::new();
    loop {
        match existing.canonicalize() {
            Ok(resolved) => {
                let names = missing.iter().rev();
                let whole = names.fold(resolved, |path: PathBuf, name| path.join(name));
                return whole.into_os_string().into_string().ok();
            }
            // A dangling link is created where it points to.
            Err(_) if existing.is_symlink() => return None,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                missing.push(existing.file_name()?);
                existing = existing.parent()?;
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_as_far_as_they_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        let is = |path: &str, expected: Option<&str>| {
            let expected = expected.map(|it| root.join(it).to_str().unwrap().to_owned());
            assert_eq!(resolve(&root.join(path)), expected, "{path}");
        };
        is("link", Some("real"));
        is("link/new/file", Some("real/new/file"));
        is("other/new", Some("other/new"));
        is("dangling", None);
        is("dangling/new", None);
    }
}
