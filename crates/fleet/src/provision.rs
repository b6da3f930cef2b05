//! The configuration of NATS servers for a fleet: accounts, keys and rights.

use std::fmt::Write as _;

use nkeys::KeyPair;

use crate::bus::{Bucket, FILE_STORE, LOG_STREAM, SERVERS_SUBJECT};
use crate::directory::{BadName, RunnerId};
use crate::nats::SERVER_STATE;

/// The machines of a fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetPlan {
    /// The names or addresses of the servers: one, or three.
    pub nodes: Vec<String>,
    /// The runners.
    pub runners: Vec<String>,
    /// The hosts: machines that use the sessions of runners and run none.
    pub hosts: Vec<String>,
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
    let mut names: Vec<_> = plan.runners.iter().chain(&plan.hosts).collect();
    names.sort();
    for name in &names {
        let bad = |error| PlanError::Name((*name).clone(), error);
        name.parse::<RunnerId>().map_err(bad)?;
    }
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(PlanError::Twice(twice[0].clone()));
    }
    let (mut files, mut users) = (Vec::new(), String::new());
    for (name, rights) in plan
        .runners
        .iter()
        .map(|it| (it, runner_rights(it)))
        .chain(plan.hosts.iter().map(|it| (it, host_rights(it))))
    {
        let (public, file) = credentials(name)?;
        // Writing into a string cannot fail.
        let _ = writeln!(
            users,
            "      {{ nkey: {public}, permissions: {rights} }}  # {name}"
        );
        files.push(file);
    }
    let (system, file) = credentials("system")?;
    files.push(file);
    for n in 0..plan.nodes.len() {
        files.push(FleetFile {
            name: format!("fleet-{}.conf", n + 1),
            text: configuration(plan, n, &users, &system),
            is_secret: false,
        });
    }
    Ok(files)
}

fn credentials(name: &str) -> Result<(String, FleetFile), PlanError> {
    let key = KeyPair::new_user();
    let seed = key
        .seed()
        .map_err(|error| PlanError::Key(error.to_string()))?;
    let file = FleetFile {
        name: format!("{name}.creds"),
        text: format!("# bowline --creds; keep it secret\nuser {name}\nnkey {seed}\n"),
        is_secret: true,
    };
    Ok((key.public_key(), file))
}

fn configuration(plan: &FleetPlan, n: usize, users: &str, system: &str) -> String {
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
    let _ = write!(
        text,
        "accounts {{\n  FLEET {{\n    jetstream: enabled\n    \
         # Whether the servers sync at once, and their clocks.\n    \
         imports: [ {{ service: {{ account: SYS, subject: \"{SERVER_STATE}\" }}, to: \"{SERVERS_SUBJECT}\" }} ]\n    \
         users: [\n{users}    ]\n  }}\n  \
         SYS {{\n    exports: [ {{ service: \"{SERVER_STATE}\", response: stream, accounts: [FLEET] }} ]\n    \
         users: [ {{ nkey: {system} }} ]\n  }}\n}}\nsystem_account: SYS\n"
    );
    text
}

/// Formats rights: the subjects to publish to, and those to receive.
fn rights(publish: &[String], subscribe: &[String]) -> String {
    let list = |subjects: &[String]| {
        let quoted: Vec<_> = subjects.iter().map(|it| format!("\"{it}\"")).collect();
        quoted.join(", ")
    };
    format!(
        "{{ publish: [{}], subscribe: [{}] }}",
        list(publish),
        list(subscribe)
    )
}

/// What reading the directory and the log of sessions needs. Consumers have names, so that their subject has the
/// filter; nothing is read by its sequence alone.
fn reading() -> Vec<String> {
    let mut subjects = vec![
        format!("$JS.API.CONSUMER.CREATE.{LOG_STREAM}.*.bl.log.>"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{LOG_STREAM}.>"),
        format!("$JS.API.CONSUMER.INFO.{LOG_STREAM}.>"),
        format!("$JS.API.CONSUMER.DELETE.{LOG_STREAM}.>"),
        format!("$JS.API.STREAM.INFO.{LOG_STREAM}"),
        SERVERS_SUBJECT.to_owned(),
    ];
    for bucket in [Bucket::Runners, Bucket::Seen, Bucket::Sessions] {
        let name = bucket.name();
        subjects.extend([
            format!("$JS.API.CONSUMER.CREATE.KV_{name}.*.$KV.{name}.>"),
            format!("$JS.API.CONSUMER.MSG.NEXT.KV_{name}.>"),
            format!("$JS.API.CONSUMER.INFO.KV_{name}.>"),
            format!("$JS.API.CONSUMER.DELETE.KV_{name}.>"),
            format!("$JS.API.STREAM.MSG.GET.KV_{name}"),
            format!("$JS.API.STREAM.INFO.KV_{name}"),
        ]);
    }
    subjects
}

/// A host reads, and opens links.
fn host_rights(name: &str) -> String {
    let mut publish = reading();
    publish.extend(["bl.link.*".to_owned(), "_INBOX.>".to_owned()]);
    rights(&publish, &[format!("_INBOX.{name}.>")])
}

/// A runner also publishes what its sessions write and its own record, and accepts links.
fn runner_rights(name: &str) -> String {
    let mut publish = reading();
    publish.extend([
        "bl.link.*".to_owned(),
        "_INBOX.>".to_owned(),
        "bl.log.*.*".to_owned(),
        format!("$KV.{}.{name}", Bucket::Runners.name()),
        format!("$KV.{}.{name}", Bucket::Seen.name()),
        format!("$KV.{}.*", Bucket::Sessions.name()),
        format!("$KV.{}.>", Bucket::Claims.name()),
        format!("$JS.API.STREAM.MSG.GET.{LOG_STREAM}"),
        format!("$JS.API.STREAM.MSG.GET.KV_{}", Bucket::Claims.name()),
        format!("$JS.API.STREAM.INFO.KV_{}", Bucket::Claims.name()),
        format!("$JS.API.STREAM.CREATE.{LOG_STREAM}"),
        // The files of conversations: an object store of the servers' own form.
        format!("$O.{FILE_STORE}.>"),
        format!("$JS.API.STREAM.CREATE.OBJ_{FILE_STORE}"),
        format!("$JS.API.STREAM.INFO.OBJ_{FILE_STORE}"),
        format!("$JS.API.STREAM.PURGE.OBJ_{FILE_STORE}"),
        format!("$JS.API.DIRECT.GET.OBJ_{FILE_STORE}.$O.{FILE_STORE}.M.>"),
        format!("$JS.API.CONSUMER.CREATE.OBJ_{FILE_STORE}"),
        format!("$JS.API.CONSUMER.CREATE.OBJ_{FILE_STORE}.>"),
        format!("$JS.API.CONSUMER.INFO.OBJ_{FILE_STORE}.>"),
        format!("$JS.API.CONSUMER.DELETE.OBJ_{FILE_STORE}.>"),
        format!("$JS.FC.OBJ_{FILE_STORE}.>"),
        "$JS.API.INFO".to_owned(),
    ]);
    let buckets = Bucket::ALL
        .iter()
        .map(|it| format!("$JS.API.STREAM.CREATE.KV_{}", it.name()));
    publish.extend(buckets);
    rights(
        &publish,
        &[format!("bl.link.{name}"), format!("_INBOX.{name}.>")],
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
}
