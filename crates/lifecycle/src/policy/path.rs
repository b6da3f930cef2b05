//! Paths that a request names, and patterns of paths.

use super::pattern::{self, Strictness};

/// Folders that relative paths and `~` refer to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Folders<'a> {
    pub(super) cwd: Option<&'a str>,
    pub(super) home: Option<&'a str>,
}

/// A path that a request names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestPath {
    /// Absolute, with `..` taken out by its text. The system may find another file there.
    pub(super) normal: String,
    /// Whether the agent certainly means that.
    pub(super) is_exact: bool,
    /// What the system finds there, with all symbolic links followed; `None` if it is unknown.
    pub(super) resolved: Option<String>,
}

impl RequestPath {
    /// Returns a path as an agent names it.
    pub(super) fn of(raw: &str, folders: Folders<'_>) -> Self {
        let has_odd = raw.chars().any(char::is_control) || raw.contains("://");
        let leaves = raw.split('/').any(|part| part == "..");
        let is_exact = !raw.is_empty() && !has_odd && !leaves && !raw.starts_with('~');
        let absolute = absolute(raw, folders);
        Self {
            is_exact: is_exact && absolute.is_some(),
            normal: normalized(absolute.as_deref().unwrap_or(raw)),
            resolved: None,
        }
    }
}

fn absolute(raw: &str, folders: Folders<'_>) -> Option<String> {
    if raw.starts_with('/') {
        return Some(raw.to_owned());
    }
    if let Some(rest) = raw.strip_prefix('~') {
        return Some(format!("{}{rest}", folders.home?));
    }
    Some(format!("{}/{raw}", folders.cwd?))
}

fn normalized(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// A pattern of paths: `*` stays in a part of the path, `**` stands for any number of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathPattern(String);

impl PathPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// It is empty or has a part `..`.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("is empty; write `**` for any path of the session's folder");
        }
        if text.split('/').any(|part| part == "..") {
            return Err("has a part `..`; write the path without it");
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns whether it matches an absolute path. A relative pattern begins at the session's folder.
    pub(super) fn matches(&self, path: &str, folders: Folders<'_>, strictness: Strictness) -> bool {
        let base = match self.0.as_bytes() {
            [b'/', ..] => Some(""),
            [b'~'] | [b'~', b'/', ..] => folders.home,
            _ => folders.cwd,
        };
        let own = self.0.strip_prefix('~').unwrap_or(&self.0);
        let own = parts(own);
        let path = parts(path);
        match base {
            // Names of folders are no patterns.
            Some(base) => {
                let base = parts(base);
                let is_below = path.len() >= base.len()
                    && (base.iter().zip(&path)).all(|(name, part)| strictness.is_equal(name, part));
                is_below && matches_parts(&own, &path[base.len()..], strictness)
            }
            // A denial does not depend on what is known.
            None if strictness == Strictness::Loose => {
                (0..=path.len()).any(|at| matches_parts(&own, &path[at..], strictness))
            }
            None => false,
        }
    }
}

fn parts(path: &str) -> Vec<&str> {
    let is_part = |it: &&str| !matches!(*it, "" | ".");
    path.split('/').filter(is_part).collect()
}

/// Matches parts; takes time proportional to the product of the numbers of parts.
fn matches_parts(pattern: &[&str], path: &[&str], strictness: Strictness) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut star = None;
    while next < path.len() {
        if pattern.get(at) == Some(&"**") {
            star = Some((at, next));
            at += 1;
        } else if let Some(part) = pattern.get(at)
            && pattern::matches(part, path[next], strictness)
        {
            at += 1;
            next += 1;
        } else if let Some((star_at, matched)) = star {
            star = Some((star_at, matched + 1));
            at = star_at + 1;
            next = matched + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|it| *it == "**")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDERS: Folders<'_> = Folders {
        cwd: Some("/p*/x"),
        home: Some("/home/me"),
    };

    fn allows(pattern: &str, path: &str) -> bool {
        let pattern = PathPattern::parse(pattern).unwrap();
        let path = RequestPath::of(path, FOLDERS);
        path.is_exact && pattern.matches(&path.normal, FOLDERS, Strictness::Exact)
    }

    fn denies(pattern: &str, path: &str, folders: Folders<'_>) -> bool {
        let pattern = PathPattern::parse(pattern).unwrap();
        let path = RequestPath::of(path, folders).normal;
        pattern.matches(&path, folders, Strictness::Loose)
    }

    #[test]
    fn relative_pattern_begins_at_the_folder() {
        assert!(allows("src/**", "src/a/b.rs") && allows("src/**", "/p*/x/src/a"));
        assert!(allows("src/*.rs", "./src//a.rs") && allows("**/a", "a") && allows("**", "."));
        assert!(allows("/etc/hosts", "/etc/hosts") && allows("~/n/*", "/home/me/n/a"));
        // The `*` in the name of the folder is no pattern.
        assert!(!allows("src/**", "/pp/x/src/a") && !allows("src/*", "src/a/b"));
        assert!(!allows("src/**", "srcs/a") && !allows("src/**", "/etc/passwd"));
    }

    #[test]
    fn path_that_leaves_its_folder_is_not_allowed() {
        for path in [
            "src/../../etc/passwd",
            "src/../src/a",
            "..",
            "/p*/x/src/../../../etc",
            "~/src/a",
            "src/a\n",
            "file:///p*/x/src/a",
            "",
            "src/..",
        ] {
            assert!(!allows("**", path) && !allows("src/**", path), "{path}");
        }
    }

    #[test]
    fn denied_path_is_found_however_it_is_written() {
        for path in [".env", "./.env", "src/../.env", "/p*/x/.ENV", "a//../.env"] {
            assert!(denies("**/.env", path, FOLDERS), "{path}");
        }
        assert!(denies("~/.ssh/**", "~/.ssh/id", FOLDERS));
        // Without the folders, anything that ends so is meant.
        assert!(denies("~/.ssh/**", "/root/.ssh/id", Folders::default()));
        assert!(!denies("~/.ssh/**", "/srv/ssh/id", Folders::default()));
    }
}
