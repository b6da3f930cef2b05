//! Places that are searched for secrets.

use std::fs;
use std::path::Path;

/// A place and its contents.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Place {
    pub(crate) fn new(name: &str, text: String) -> Self {
        Self {
            name: name.to_owned(),
            text,
        }
    }

    pub(crate) fn has(&self, secret: &str) -> bool {
        self.text.contains(secret)
    }
}

/// Command lines of the processes.
pub(crate) fn lines() -> Vec<Place> {
    read("cmdline", "arguments")
}

/// Environments of the processes.
pub(crate) fn environments() -> Vec<Place> {
    read("environ", "environ")
}

fn read(file: &str, what: &str) -> Vec<Place> {
    let program = env!("CARGO_BIN_EXE_traced");
    let entries = fs::read_dir("/proc").expect("proc").flatten();
    let mut places = Vec::new();
    for entry in entries {
        let path = entry.path();
        let is_ours = fs::read_link(path.join("exe")).is_ok_and(|it| it == Path::new(program));
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).skip(1);
        let word = words
            .next()
            .map(String::from_utf8_lossy)
            .unwrap_or_default();
        if is_ours {
            let text = fs::read(path.join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            places.push(Place::new(&format!("{what} of {word}"), text));
        }
    }
    places
}

/// Names and contents of all files in a folder.
pub(crate) fn files(folder: &Path) -> Vec<Place> {
    let mut places = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.display().to_string();
        places.push(Place::new("the name of a file", name.clone()));
        if path.is_dir() {
            places.extend(files(&path));
        } else if let Ok(text) = fs::read(&path) {
            places.push(Place::new(
                &name,
                String::from_utf8_lossy(&text).into_owned(),
            ));
        }
    }
    places
}

/// Checks that each place is not empty, since an empty place would pass any search.
pub(crate) fn are_watched(places: &[Place]) {
    let wanted = [
        ("arguments of runner", "runner"),
        ("arguments of shim", "shim"),
        ("arguments of agent", "--print"),
        ("environ of agent", "PATH"),
        ("environ of shim", "PATH"),
        (".log", "the runner logs at this level"),
        (".log", "the host logs at this level"),
        (".log", "child started"),
        (".log", "hook received"),
        (".log", "hook request rejected"),
        ("info.json", "shim_pid"),
        (".bjl", "BJL"),
        ("an answer", "bowline_"),
    ];
    for (name, text) in wanted {
        let found = places
            .iter()
            .any(|place| place.name.contains(name) && place.has(text));
        let names: Vec<_> = places.iter().map(|place| &place.name).collect();
        assert!(found, "no {text:?} in {name}: {names:#?}");
    }
}
