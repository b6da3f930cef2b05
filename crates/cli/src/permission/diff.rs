//! The change of a text as lines that were removed and added.

/// Lines around a change.
const CONTEXT: usize = 2;

/// Most lines of each kind that are shown.
const MAX_LINES: usize = 200;

/// Returns the lines that differ, with `-` and `+`, and a few of the same lines around them. The lines between
/// the first and the last difference are shown as replaced.
pub(super) fn changed_lines(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let pairs = old.iter().zip(&new);
    let start = pairs.take_while(|(a, b)| a == b).count();
    let tails = old
        .iter()
        .skip(start)
        .rev()
        .zip(new.iter().skip(start).rev());
    let end = tails.take_while(|(a, b)| a == b).count();
    let before = old.iter().take(start).skip(start.saturating_sub(CONTEXT));
    let after = old.iter().skip(old.len() - end).take(CONTEXT);
    let removed = old.iter().take(old.len() - end).skip(start);
    let added = new.iter().take(new.len() - end).skip(start);
    let mut lines = Vec::new();
    lines.extend(before.map(|line| format!("  {line}")));
    lines.extend(marked("- ", removed));
    lines.extend(marked("+ ", added));
    lines.extend(after.map(|line| format!("  {line}")));
    lines
}

fn marked<'a>(mark: &str, lines: impl ExactSizeIterator<Item = &'a &'a str>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    let shown = lines.take(MAX_LINES);
    let mut marked: Vec<_> = shown.map(|line| format!("{mark}{line}")).collect();
    if more > 0 {
        marked.push(format!("{mark}… {more} more lines"));
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_lines_and_their_surroundings_are_shown() {
        let old = "a\nb\nc\nd\ne\nf\ng";
        let new = "a\nb\nc\nD\ne\nf\ng";
        let expected = ["  b", "  c", "- d", "+ D", "  e", "  f"];
        assert_eq!(changed_lines(old, new), expected);
        assert_eq!(changed_lines("", "x\ny"), ["+ x", "+ y"]);
        assert_eq!(changed_lines("x", ""), ["- x"]);
        assert_eq!(changed_lines("a\na", "a\na\na"), ["  a", "  a", "+ a"]);
        assert!(changed_lines("a", "a").len() == 1);
    }
}
