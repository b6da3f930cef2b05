//! Changes of files as patches of Git.

use std::fmt::Write as _;

use agent_client_protocol_schema::v2::{Diff, DiffChange};

/// Returns the change of a file, with its patch if anything of its text is known.
pub(super) fn of(path: &str, old: Option<&str>, new: Option<&str>, patch: Option<&str>) -> Diff {
    let change = match (old, new) {
        (None, Some(_)) => DiffChange::add(path),
        (Some(_), None) => DiffChange::delete(path),
        _ => DiffChange::modify(path),
    };
    let name = path.trim_start_matches('/');
    let (from, to) = match (old, new) {
        (None, Some(_)) => ("/dev/null".to_owned(), format!("b/{name}")),
        (Some(_), None) => (format!("a/{name}"), "/dev/null".to_owned()),
        _ => (format!("a/{name}"), format!("b/{name}")),
    };
    let mode = match (old, new) {
        (None, Some(_)) => "new file mode 100644\n",
        (Some(_), None) => "deleted file mode 100644\n",
        _ => "",
    };
    let mut text = format!("diff --git a/{name} b/{name}\n{mode}");
    match (patch, old, new) {
        // It has the names of the file already.
        (Some(patch), ..) if patch.starts_with("diff ") => text = patch.to_owned(),
        (Some(patch), ..) if patch.starts_with("--- ") => text.push_str(patch),
        (Some(patch), ..) => {
            let _ = write!(text, "--- {from}\n+++ {to}\n{patch}");
        }
        (None, None, None) => return Diff::new(vec![change]),
        (None, old, new) => {
            let hunk = hunk(old.unwrap_or_default(), new.unwrap_or_default());
            let _ = write!(text, "--- {from}\n+++ {to}\n{hunk}");
        }
    }
    Diff::patch(text, vec![change])
}

/// Returns one hunk: what both texts begin and end with is its context. Where the text is in the file is not
/// known, so that its lines count from 1.
fn hunk(old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest.iter().rev().zip(new_rest.iter().rev());
    let after = after.take_while(|(a, b)| a == b).count();
    let removed = &old_rest[..old_rest.len() - after];
    let added = &new_rest[..new_rest.len() - after];
    let mut hunk = format!("@@ -{} +{} @@\n", range(old.len()), range(new.len()));
    let same = |lines: &[&str], hunk: &mut String| lines.iter().for_each(|it| push(hunk, ' ', it));
    same(&old[..before], &mut hunk);
    removed.iter().for_each(|it| push(&mut hunk, '-', it));
    added.iter().for_each(|it| push(&mut hunk, '+', it));
    same(&old[old.len() - after..], &mut hunk);
    hunk
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn range(count: usize) -> String {
    format!("{},{count}", count.min(1))
}

fn push(hunk: &mut String, sign: char, line: &str) {
    hunk.push(sign);
    hunk.push_str(line);
    if !line.ends_with('\n') {
        hunk.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(old: Option<&str>, new: Option<&str>, patch: Option<&str>) -> String {
        let diff = of("/p/a", old, new, patch);
        diff.patch.expect("a patch").text
    }

    #[test]
    fn replaced_lines_have_their_context() {
        assert_eq!(
            patch(Some("a\nb\nc\n"), Some("a\nB\nc\n"), None),
            "diff --git a/p/a b/p/a\n--- a/p/a\n+++ b/p/a\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
        );
    }

    #[test]
    fn new_file_and_missing_line_end_are_marked() {
        assert_eq!(
            patch(None, Some("a"), None),
            "diff --git a/p/a b/p/a\nnew file mode 100644\n--- /dev/null\n+++ b/p/a\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n"
        );
        assert_eq!(
            patch(Some("a\n"), None, None),
            "diff --git a/p/a b/p/a\ndeleted file mode 100644\n--- a/p/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"
        );
    }

    #[test]
    fn patch_of_the_agent_is_kept() {
        let hunk = "@@ -7 +7 @@\n-a\n+b\n";
        let expected = format!("diff --git a/p/a b/p/a\n--- a/p/a\n+++ b/p/a\n{hunk}");
        assert_eq!(patch(None, None, Some(hunk)), expected);
        assert_eq!(patch(None, None, Some(&expected)), expected);
    }
}
