//! Reads the settings' file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::SetValue;
use super::table::{SETTINGS, Setting, SettingKind};

/// Reads the text of a file.
///
/// # Errors
/// Returns the line and what is wrong there.
pub(super) fn read(text: &str) -> Result<Vec<SetValue>, String> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |it| it.start);
        format!("{}: {}", line_of(text, at), error.message())
    })?;
    let mut values = Vec::new();
    for (key, value) in document.get_ref() {
        let name: &str = key.get_ref();
        match value.get_ref() {
            DeValue::Table(table) if is_table(name) => {
                for (key, value) in table {
                    let name = format!("{name}.{}", key.get_ref());
                    values.push(set(text, &name, key.span().start, value)?);
                }
            }
            _ => values.push(set(text, name, key.span().start, value)?),
        }
    }
    Ok(values)
}

fn is_table(name: &str) -> bool {
    let tables = SETTINGS.iter().filter_map(|it| it.key.split_once('.'));
    tables.into_iter().any(|(table, _)| table == name)
}

/// Returns whether a setting is one of a build with the feature `fleet`, which this one is not.
fn is_of_fleet(key: &str) -> bool {
    let is_its = matches!(
        key,
        "fleet" | "serve.fleet" | "serve.creds" | "serve.advertise"
    );
    is_its && cfg!(not(feature = "fleet"))
}

fn set(text: &str, key: &str, at: usize, value: &Spanned<DeValue<'_>>) -> Result<SetValue, String> {
    let line = line_of(text, at);
    let known = SETTINGS.iter().find(|it| it.key == key);
    let Some(setting) = known else {
        if is_of_fleet(key) {
            return Err(format!(
                "{line}: this build has no fleets for {key:?}; `cargo install --path crates/cli --features fleet` makes one that has"
            ));
        }
        let nearest = nearest(key);
        return Err(format!(
            "{line}: unknown setting {key:?}; did you mean {nearest:?}? `bowline config` lists all"
        ));
    };
    let values = values_of(setting, value.get_ref());
    let values = values.ok_or_else(|| {
        let expected = match setting.kind {
            SettingKind::Text => "a string",
            SettingKind::Switch => "true or false",
            SettingKind::Texts => "an array of strings",
        };
        format!("{line}: {key} needs {expected}")
    })?;
    Ok(SetValue {
        setting,
        values,
        line,
    })
}

fn values_of(setting: &Setting, value: &DeValue<'_>) -> Option<Vec<String>> {
    match (setting.kind, value) {
        (SettingKind::Text, DeValue::String(text)) => Some(vec![text.to_string()]),
        (SettingKind::Switch, DeValue::Boolean(value)) => Some(vec![value.to_string()]),
        (SettingKind::Texts, DeValue::Array(items)) => {
            let texts = items.iter().map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            });
            texts.collect()
        }
        _ => None,
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.matches('\n').count() + 1
}

/// Returns the name of the setting that is most like a text.
fn nearest(key: &str) -> &'static str {
    let names = SETTINGS.iter().map(|it| it.key);
    names
        .min_by_key(|name| distance(key, name))
        .unwrap_or_default()
}

/// Returns the number of characters to insert, remove or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_key_names_line_and_nearest() {
        let text = "# mine\nagent = \"codex\"\n\n[chat]\nno_runer = true\n";
        let error = read(text).unwrap_err();
        assert_eq!(
            error,
            "5: unknown setting \"chat.no_runer\"; did you mean \"chat.no_runner\"? `bowline config` lists all"
        );
        assert!(
            read("agnet = \"x\"")
                .unwrap_err()
                .contains("did you mean \"agent\"")
        );
        assert!(
            read("[chatt]\na = 1")
                .unwrap_err()
                .starts_with("1: unknown setting \"chatt\"")
        );
    }

    #[cfg(not(feature = "fleet"))]
    #[test]
    fn setting_of_a_fleet_names_the_feature_that_it_needs() {
        for text in [
            "[fleet]\nurl = \"nats://h\"",
            "[serve]\nfleet = \"nats://h\"",
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("--features fleet"), "{error}");
        }
    }

    #[test]
    fn wrong_value_says_what_is_needed() {
        assert_eq!(read("agent = 1").unwrap_err(), "1: agent needs a string");
        let error = read("\n[serve]\nlisten = \"x\"").unwrap_err();
        assert_eq!(error, "3: serve.listen needs an array of strings");
        assert!(read("agent = ").unwrap_err().starts_with("1: "));
    }
}
