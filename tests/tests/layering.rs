//! The layers of the workspace, read from the manifests: which crate may import which. `modules` checks
//! the modules of each crate.

#[path = "layering/modules.rs"]
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// What a crate may import from this workspace, and which external crates it must not name.
struct Rule {
    package: &'static str,
    may_import: &'static [&'static str],
    never: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        package: "bowline-jsonl",
        may_import: &[],
        never: &["tokio", "tracing"],
    },
    Rule {
        package: "bowline-reducer",
        may_import: &["bowline-jsonl"],
        never: &["tokio", "tracing", "nom", "rustix", "libc"],
    },
    Rule {
        package: "bowline-process",
        may_import: &[],
        never: &["nom", "uniffi", "hyper", "serde_json"],
    },
    Rule {
        package: "bowline-wire",
        may_import: &["bowline-process"],
        never: &["tokio", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline-journal",
        may_import: &["bowline-process", "bowline-wire"],
        never: &["tokio", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline-transport",
        may_import: &["bowline-journal", "bowline-process", "bowline-wire"],
        never: &["nom", "uniffi"],
    },
    Rule {
        package: "bowline-lifecycle",
        may_import: &["bowline-jsonl", "bowline-reducer", "bowline-transport"],
        never: &["portable-pty", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline-history",
        may_import: &["bowline-jsonl", "bowline-reducer"],
        never: &["tokio", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline-recording",
        may_import: &["bowline-jsonl", "bowline-lifecycle", "bowline-reducer"],
        never: &["tokio", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline-hooks",
        may_import: &["bowline-jsonl"],
        never: &["portable-pty", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline-shell",
        may_import: &["bowline-hooks", "bowline-lifecycle", "bowline-transport"],
        never: &["portable-pty", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline-manager",
        may_import: &[
            "bowline-jsonl",
            "bowline-lifecycle",
            "bowline-reducer",
            "bowline-shell",
            "bowline-transport",
        ],
        never: &["portable-pty", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "bowline",
        may_import: EVERY,
        never: &["portable-pty", "nom", "uniffi", "tonic", "axum"],
    },
    Rule {
        package: "bowline-cli",
        may_import: EVERY,
        never: &["portable-pty", "nom", "uniffi"],
    },
    Rule {
        package: "bowline-ffi",
        may_import: &[
            "bowline",
            "bowline-history",
            "bowline-hooks",
            "bowline-lifecycle",
            "bowline-manager",
            "bowline-recording",
            "bowline-runner",
            "bowline-shell",
        ],
        never: &["portable-pty", "nom", "tonic", "axum"],
    },
    Rule {
        package: "bowline-bindgen",
        may_import: &[],
        never: &["tokio"],
    },
    Rule {
        package: "bowline-runner",
        may_import: &[
            "bowline-history",
            "bowline-hooks",
            "bowline-journal",
            "bowline-jsonl",
            "bowline-lifecycle",
            "bowline-process",
            "bowline-reducer",
            "bowline-shell",
            "bowline-transport",
            "bowline-wire",
        ],
        never: &["portable-pty", "nom", "uniffi"],
    },
    Rule {
        package: "bowline-fleet",
        may_import: &[
            "bowline-journal",
            "bowline-process",
            "bowline-runner",
            "bowline-transport",
            "bowline-wire",
        ],
        never: &["portable-pty", "nom", "uniffi", "rustix", "libc"],
    },
    Rule {
        package: "understudy",
        may_import: &[],
        never: &["tokio", "uniffi"],
    },
    Rule {
        package: "bowline-benches",
        may_import: EVERY,
        never: &["uniffi"],
    },
];

const EVERY: &[&str] = &[
    "bowline",
    "bowline-fleet",
    "bowline-history",
    "bowline-hooks",
    "bowline-journal",
    "bowline-jsonl",
    "bowline-jsonl-safe",
    "bowline-lifecycle",
    "bowline-manager",
    "bowline-process",
    "bowline-recording",
    "bowline-reducer",
    "bowline-runner",
    "bowline-shell",
    "bowline-tests",
    "bowline-transport",
    "bowline-wire",
    "understudy",
];

/// External crates that only the listed packages may name, so that they stay replaceable.
const SOLE_OWNERS: &[(&str, &[&str])] = &[
    ("async-nats", &["bowline-fleet"]),
    ("agent-client-protocol-schema", &["bowline-runner"]),
    ("nom", &["bowline-jsonl"]),
    ("portable-pty", &["bowline-process", "bowline-benches"]),
    ("uniffi", &["bowline-ffi", "bowline-bindgen"]),
];

#[test]
fn every_crate_keeps_to_its_layer() {
    let manifests = manifests();
    for (package, imports) in &manifests {
        if package == "bowline-tests" {
            continue;
        }
        let rule = RULES.iter().find(|rule| rule.package == package);
        let rule = rule.unwrap_or_else(|| panic!("{package} has no rule in this test: add one"));
        for import in imports {
            let ours = import.starts_with("bowline-") || import == "understudy";
            assert!(
                !ours || rule.may_import.contains(&import.as_str()),
                "{package} imports {import}, which is not below it"
            );
            assert!(
                !rule.never.contains(&import.as_str()),
                "{package} must never import {import}"
            );
        }
    }
}

/// The crates and files that `crates/README.md` names are those of the tree.
#[test]
fn architecture_page_names_what_exists() {
    let page = fs::read_to_string(root().join("crates/README.md")).expect("the page");
    let named = page.split('`').skip(1).step_by(2);
    let roots = [root().join("crates"), root()];
    let missing: Vec<_> = named
        .filter(|name| name.contains('/') && (name.contains("/src/") || name.contains('.')))
        .filter(|name| !roots.iter().any(|folder| folder.join(name).exists()))
        .collect();
    assert!(missing.is_empty(), "crates/README.md names {missing:?}");
}

/// The table of `crates/README.md` has the imports of each manifest.
#[test]
fn architecture_page_lists_the_imports_of_each_crate() {
    let page = fs::read_to_string(root().join("crates/README.md")).expect("the page");
    for (package, imports) in manifests() {
        let short = |name: &str| name.strip_prefix("bowline-").unwrap_or(name).to_owned();
        let ours = |name: &&String| name.starts_with("bowline-") || *name == "understudy";
        let imports: BTreeSet<_> = imports.iter().filter(ours).map(|it| short(it)).collect();
        if !root().join("crates").join(short(&package)).is_dir() {
            continue;
        }
        let row = page
            .lines()
            .find_map(|line| line.strip_prefix(&format!("| `{package}` |")));
        let row = row.unwrap_or_else(|| panic!("crates/README.md has no row for {package}"));
        let listed = row.trim_matches(['|', ' ']).replace("as features", "");
        let listed: BTreeSet<_> = listed
            .split([',', ';', ' '])
            .filter(|word| !word.is_empty() && *word != "and")
            .map(str::to_owned)
            .collect();
        assert_eq!(listed, imports, "crates/README.md: the row of {package}");
    }
}

#[test]
fn replaceable_crates_have_one_owner() {
    for (package, imports) in manifests() {
        for &(name, owners) in SOLE_OWNERS {
            assert!(
                !imports.contains(name) || owners.contains(&package.as_str()),
                "{package} names {name}, which only {owners:?} may"
            );
        }
    }
}

#[test]
fn nats_client_is_named_in_one_module() {
    let source = root().join("crates/fleet/src");
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            let is_nats = path.starts_with(source.join("nats")) || path == source.join("nats.rs");
            assert!(
                is_nats || !text.contains("async_nats"),
                "{} names async-nats, which only fleet::nats may",
                path.display()
            );
        }
    }
}

/// Every package of the workspace with its dependencies, those for tests apart.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let crates = fs::read_dir(root().join("crates")).expect("the crates are there");
    let folders = crates
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir());
    let folders = folders.chain([root().join("benches"), root().join("tests")]);
    let found: BTreeMap<_, _> = folders.map(|folder| manifest(&folder)).collect();
    assert!(found.len() >= 7, "too few manifests: {found:?}");
    found
}

fn manifest(folder: &std::path::Path) -> (String, BTreeSet<String>) {
    let path = folder.join("Cargo.toml");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is missing", path.display()));
    let table: toml::Table = text.parse().expect("a manifest is TOML");
    let name = table["package"]["name"]
        .as_str()
        .expect("a package has a name")
        .to_owned();
    let mut imports = BTreeSet::new();
    collect(&table, &mut imports);
    for target in table
        .get("target")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flatten()
    {
        collect(
            target.1.as_table().expect("a target is a table"),
            &mut imports,
        );
    }
    (name, imports)
}

fn collect(table: &toml::Table, imports: &mut BTreeSet<String>) {
    for section in ["dependencies", "build-dependencies"] {
        let found = table.get(section).and_then(toml::Value::as_table);
        imports.extend(found.into_iter().flatten().map(|(name, _)| name.clone()));
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
