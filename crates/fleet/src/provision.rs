//! The configuration of NATS servers for a fleet: accounts, keys and rights.

mod renew;
mod rights;

use std::fmt::Write as _;

use nkeys::KeyPair;

use crate::bus::SERVERS_SUBJECT;
use crate::directory::{BadName, RunnerId};
use crate::nats::{FleetSettings, LogLimits, SERVER_STATE};
use rights::{host_rights, runner_rights};

pub use renew::renew;

/// How the accounts begin in a configuration, and the line after them.
const ACCOUNTS: &str = "accounts";
const ACCOUNTS_END: &str = "system_account: SYS";

/// The machines of a fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetPlan {
    /// The names or addresses of the servers: one, or three.
    pub nodes: Vec<String>,
    /// The runners.
    pub runners: Vec<String>,
    /// The hosts: machines that use the sessions of runners and run none.
    pub hosts: Vec<String>,
    /// Limits of what the servers keep of logs.
    pub log: LogLimits,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetFile {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
    /// Whether it has a secret.
    pub is_secret: bool,
}

/// Why a plan is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Two servers cannot go on without one of them.
    #[error(
        "{0} servers are not a cluster that survives the loss of one; give one --node, or three"
    )]
    Nodes(usize),
    /// A name that a subject cannot have.
    #[error("`{0}` is {1}")]
    Name(String, BadName),
    /// A name that comes twice.
    #[error("`{0}` is named twice; give each runner and host its own name")]
    Twice(String),
    /// A folder without the configuration of a fleet.
    #[error(
        "there is no fleet-1.conf that `bowline fleet init` wrote; name the folder of the fleet"
    )]
    NoFleet,
    /// A configuration whose accounts were written by hand.
    #[error(
        "{0} has accounts that `bowline fleet init` did not write; add what it lacks of a new `bowline fleet init` by hand"
    )]
    Foreign(String),
    /// The key generator failed.
    #[error("make a key: {0}")]
    Key(String),
}

/// Returns the files of a fleet: a configuration for each server, and credentials for each runner and host and for
/// the servers' own account. Keys are made anew.
///
/// # Errors
///
/// The plan has a wrong number of servers, or names that cannot be used.
pub fn provision(plan: &FleetPlan) -> Result<Vec<FleetFile>, PlanError> {
    if plan.nodes.len() != 1 && plan.nodes.len() != 3 {
        return Err(PlanError::Nodes(plan.nodes.len()));
    }
    let (mut users, mut files) = new_users(plan, &[])?;
    let (system, file) = credentials("system", FleetSettings::default())?;
    files.push(file);
    users.sort_by_key(|it| !it.is_runner);
    for n in 0..plan.nodes.len() {
        files.push(FleetFile {
            name: format!("fleet-{}.conf", n + 1),
            text: configuration(plan, n) + &accounts(&users, &system),
            is_secret: false,
        });
    }
    Ok(files)
}

/// A runner or a host, as the servers know it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FleetUser {
    name: String,
    public_key: String,
    is_runner: bool,
}

/// Makes keys for the runners and the hosts of a plan, and returns them with the files of their credentials. `present`
/// are those that the fleet has.
fn new_users(
    plan: &FleetPlan,
    present: &[FleetUser],
) -> Result<(Vec<FleetUser>, Vec<FleetFile>), PlanError> {
    let named = |names: &[String], is_runner| {
        let names = names.iter().cloned();
        names.map(move |name| (name, is_runner)).collect::<Vec<_>>()
    };
    let added = [named(&plan.runners, true), named(&plan.hosts, false)].concat();
    let mut names: Vec<_> = added.iter().map(|it| &it.0).collect();
    names.extend(present.iter().map(|it| &it.name));
    names.sort();
    for name in &names {
        let bad = |error| PlanError::Name((*name).clone(), error);
        name.parse::<RunnerId>().map_err(bad)?;
    }
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(PlanError::Twice(twice[0].clone()));
    }
    let settings = FleetSettings {
        replicas: Some(plan.nodes.len()).filter(|it| *it > 1),
        log: plan.log,
    };
    let (mut users, mut files) = (Vec::new(), Vec::new());
    for (name, is_runner) in added {
        let settings = if is_runner {
            settings
        } else {
            FleetSettings::default()
        };
        let (public_key, file) = credentials(&name, settings)?;
        files.push(file);
        users.push(FleetUser {
            name,
            public_key,
            is_runner,
        });
    }
    Ok((users, files))
}

fn credentials(name: &str, settings: FleetSettings) -> Result<(String, FleetFile), PlanError> {
    let key = KeyPair::new_user();
    let seed = key
        .seed()
        .map_err(|error| PlanError::Key(error.to_string()))?;
    let file = FleetFile {
        name: format!("{name}.creds"),
        text: format!("# bowline --creds; keep it secret\nuser {name}\nnkey {seed}\n{settings}"),
        is_secret: true,
    };
    Ok((key.public_key(), file))
}

/// Formats the settings of a server before its accounts.
fn configuration(plan: &FleetPlan, n: usize) -> String {
    let node = n + 1;
    let mut text = format!(
        "# NATS server {node} of a bowline fleet: nats-server -c fleet-{node}.conf\n\
         server_name: fleet-{node}\n\
         listen: \"0.0.0.0:4222\"\n\
         # Other machines reach this port: give it a certificate.\n\
         # tls {{ cert_file: \"server.pem\", key_file: \"server.key\" }}\n\
         jetstream {{\n  store_dir: \"nats-{node}\"\n  \
         # Without this, a power failure loses minutes of what was acknowledged.\n  \
         sync_interval: always\n}}\n"
    );
    if plan.nodes.len() > 1 {
        text.push_str("cluster {\n  name: fleet\n  listen: \"0.0.0.0:6222\"\n  routes: [\n");
        for node in &plan.nodes {
            let _ = writeln!(text, "    \"nats://{node}:6222\"");
        }
        text.push_str("  ]\n}\n");
    }
    text
}

/// Formats the accounts: that of the fleet, and the servers' own.
fn accounts(users: &[FleetUser], system: &str) -> String {
    let mut lines = String::new();
    for user in users {
        let (name, key) = (&user.name, &user.public_key);
        let rights = if user.is_runner {
            runner_rights(name)
        } else {
            host_rights(name)
        };
        // Writing into a string cannot fail.
        let _ = writeln!(
            lines,
            "      {{ nkey: {key}, permissions: {rights} }}  # {name}"
        );
    }
    format!(
        "{ACCOUNTS} {{\n  FLEET {{\n    jetstream: enabled\n    \
         # Whether the servers sync at once, and their clocks.\n    \
         imports: [ {{ service: {{ account: SYS, subject: \"{SERVER_STATE}\" }}, to: \"{SERVERS_SUBJECT}\" }} ]\n    \
         users: [\n{lines}    ]\n  }}\n  \
         SYS {{\n    exports: [ {{ service: \"{SERVER_STATE}\", response: stream, accounts: [FLEET] }} ]\n    \
         users: [ {{ nkey: {system} }} ]\n  }}\n}}\n{ACCOUNTS_END}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(nodes: usize, runners: &[&str]) -> FleetPlan {
        FleetPlan {
            nodes: (0..nodes).map(|n| format!("n{n}")).collect(),
            runners: runners.iter().map(|it| (*it).to_owned()).collect(),
            hosts: vec!["laptop".to_owned()],
            log: LogLimits {
                days: Some(30),
                bytes: None,
            },
        }
    }

    #[test]
    fn bad_plans_are_refused() {
        assert_eq!(provision(&plan(2, &["a"])), Err(PlanError::Nodes(2)));
        assert_eq!(
            provision(&plan(1, &["a.b"])),
            Err(PlanError::Name("a.b".into(), BadName))
        );
        assert_eq!(
            provision(&plan(1, &["laptop"])),
            Err(PlanError::Twice("laptop".into()))
        );
    }

    #[test]
    fn secrets_are_in_credentials_only() {
        let files = provision(&plan(3, &["a", "b"])).unwrap();
        let names: Vec<_> = files.iter().map(|it| it.name.as_str()).collect();
        let expected = [
            "a.creds",
            "b.creds",
            "laptop.creds",
            "system.creds",
            "fleet-1.conf",
            "fleet-2.conf",
            "fleet-3.conf",
        ];
        assert_eq!(names, expected);
        for file in &files {
            assert_eq!(
                file.is_secret,
                file.text.contains("nkey SU"),
                "{}",
                file.name
            );
        }
        assert_ne!(
            files[0].text,
            provision(&plan(3, &["a", "b"])).unwrap()[0].text
        );
    }

    #[test]
    fn runners_learn_what_the_fleet_was_asked_for() {
        let files = provision(&plan(3, &["a"])).unwrap();
        let has = |n: usize| files[n].text.ends_with("replicas 3\nlog-days 30\n");
        assert_eq!([has(0), has(1)], [true, false], "{}", files[0].text);
        let alone = provision(&plan(1, &["a"])).unwrap();
        assert!(!alone[0].text.contains("replicas"));
    }
}
