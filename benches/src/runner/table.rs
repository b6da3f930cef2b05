//! The results as a table.

use std::fmt::Write as _;

use super::Row;

/// Formats one line per row, grouped by operation.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut last = "";
    for row in rows {
        if row.what != last {
            let _ = writeln!(text, "{}", row.what);
            last = row.what;
        }
        let ratio = row.ratio.map(|ratio| format!("{ratio:.2} x"));
        let ratio = ratio.unwrap_or_default();
        let goal = row.goal.map(|goal| format!("(goal {goal})"));
        let goal = goal.unwrap_or_default();
        let line = format!(
            "  {:28} {:>36} {ratio:>8} {goal}",
            row.contender, row.figure
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
