//! Chooses the runner at which a session is started.

use super::records::RunnerRecord;

/// Why no runner is chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// No runner is connected.
    #[error("no runner of the fleet is connected; start one with `bowline serve --fleet URL`")]
    Empty,
    /// No connected runner has the id or the name.
    #[error("no runner that is connected has the id or name `{wanted}`; connected: {}", connected.join(", "))]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// The ids of the connected runners.
        connected: Vec<String>,
    },
    /// Several runners have the name.
    #[error("several runners have the name `{wanted}`; give an id: {}", ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// Their ids.
        ids: Vec<String>,
    },
}

/// Chooses among the connected runners: the one with the id or the name `wanted`, or without it the one with the
/// fewest running sessions.
///
/// # Errors
///
/// None is connected, none matches, or several have the name.
pub fn choose_runner<'a>(
    connected: impl IntoIterator<Item = &'a RunnerRecord>,
    wanted: Option<&str>,
) -> Result<&'a RunnerRecord, ChoiceError> {
    let connected: Vec<_> = connected.into_iter().collect();
    let ids = |runners: &[&RunnerRecord]| runners.iter().map(|it| it.runner.to_string()).collect();
    let Some(wanted) = wanted else {
        let fewest = connected.iter().min_by_key(|it| (it.sessions, &it.runner));
        return fewest.copied().ok_or(ChoiceError::Empty);
    };
    if connected.is_empty() {
        return Err(ChoiceError::Empty);
    }
    if let Some(found) = connected.iter().find(|it| it.runner.as_str() == wanted) {
        return Ok(found);
    }
    let named: Vec<_> = connected
        .iter()
        .copied()
        .filter(|it| it.name == wanted)
        .collect();
    match named[..] {
        [found] => Ok(found),
        [] => Err(ChoiceError::Unknown {
            wanted: wanted.to_owned(),
            connected: ids(&connected),
        }),
        _ => Err(ChoiceError::Ambiguous {
            wanted: wanted.to_owned(),
            ids: ids(&named),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(id: &str, name: &str, sessions: u64) -> RunnerRecord {
        let runner = id.parse().unwrap();
        RunnerRecord {
            link: super::super::link_subject(&runner),
            runner,
            name: name.to_owned(),
            boot: String::new(),
            version: String::new(),
            sessions,
        }
    }

    fn choose(runners: &[RunnerRecord], wanted: Option<&str>) -> Result<String, ChoiceError> {
        choose_runner(runners, wanted).map(|it| it.runner.to_string())
    }

    #[test]
    fn runner_with_fewest_sessions_is_chosen() {
        let runners = [
            runner("c", "c", 1),
            runner("b", "b", 0),
            runner("a", "a", 0),
        ];
        assert_eq!(choose(&runners, None), Ok("a".to_owned()));
        assert_eq!(choose(&[], None), Err(ChoiceError::Empty));
    }

    #[test]
    fn runner_is_chosen_by_id_then_by_name() {
        let runners = [
            runner("a", "vm", 0),
            runner("b", "a", 0),
            runner("c", "vm", 0),
        ];
        assert_eq!(choose(&runners, Some("a")), Ok("a".to_owned()));
        let ids = |ids: &[&str]| ids.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let ambiguous = ChoiceError::Ambiguous {
            wanted: "vm".to_owned(),
            ids: ids(&["a", "c"]),
        };
        assert_eq!(choose(&runners, Some("vm")), Err(ambiguous));
        let unknown = ChoiceError::Unknown {
            wanted: "x".to_owned(),
            connected: ids(&["a", "b", "c"]),
        };
        assert_eq!(choose(&runners, Some("x")), Err(unknown));
        assert_eq!(choose(&runners[..2], Some("vm")), Ok("a".to_owned()));
    }
}
