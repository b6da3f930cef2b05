//! Tables of text, and times in them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::args::ListArgs;
use crate::failure::Failure;
use crate::text::{escape_json, text_width};

/// Formats a list in the form that the options select: JSON, a template, or the table.
///
/// # Errors
/// If the template has a field that the items do not have.
pub(crate) fn list_text<T: Serialize>(
    form: &ListArgs,
    items: &[T],
    table: impl FnOnce() -> String,
) -> Result<String, Failure> {
    if let Some(template) = &form.format {
        let values = items.iter().map(serde_json::to_value);
        let values: Vec<_> = values.filter_map(Result::ok).collect();
        return template.lines(&values);
    }
    if form.json {
        let document = serde_json::to_string_pretty(items).unwrap_or_default();
        return Ok(escape_json(document) + "\n");
    }
    Ok(table())
}

/// Formats rows under a header, aligned in columns.
pub(crate) fn format<const N: usize>(
    header: &[&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut all = vec![header.map(str::to_owned)];
    all.extend(rows);
    let mut widths = [0; N];
    for row in &all {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(text_width(cell));
        }
    }
    all.iter().map(|row| aligned(row, &widths)).collect()
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths);
    let padded = cells.map(|(cell, width)| cell.clone() + &" ".repeat(width - text_width(cell)));
    let line = padded.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

/// Formats a number of seconds in its largest unit.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Returns the milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
