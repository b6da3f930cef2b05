//! Writes the accounts of a fleet again: with the rights of this version, the keys that there are, and further machines.

use super::{
    ACCOUNTS, ACCOUNTS_END, FleetFile, FleetPlan, FleetUser, PlanError, accounts, new_users,
};

/// Names of the configurations, around their number.
const CONFIGURATION: (&str, &str) = ("fleet-", ".conf");

/// Returns the configurations of a fleet with the rights of this version. `present` are the files of its folder, whose
/// keys stay; what was changed outside the accounts stays, too. The runners and the hosts of `added` get credentials;
/// its servers are ignored.
///
/// # Errors
///
/// There is no configuration, its accounts were written by hand, or a name is used already or cannot be used.
pub fn renew(present: &[FleetFile], added: &FleetPlan) -> Result<Vec<FleetFile>, PlanError> {
    let (front, back) = CONFIGURATION;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_configuration = |it: &&FleetFile| {
        let number = it.name.strip_prefix(front);
        number
            .and_then(|it| it.strip_suffix(back))
            .is_some_and(is_number)
    };
    let configurations: Vec<_> = present.iter().filter(is_configuration).collect();
    let first = configurations.first().ok_or(PlanError::NoFleet)?;
    let foreign = |file: &FleetFile| PlanError::Foreign(file.name.clone());
    let text = split(&first.text).ok_or_else(|| foreign(first))?;
    let (mut users, system) = keys(text.1).ok_or_else(|| foreign(first))?;
    let plan = FleetPlan {
        nodes: configurations.iter().map(|it| it.name.clone()).collect(),
        ..added.clone()
    };
    let (new, mut files) = new_users(&plan, &users)?;
    users.extend(new);
    users.sort_by_key(|it| !it.is_runner);
    let accounts = accounts(&users, &system);
    for file in configurations {
        let (before, _, after) = split(&file.text).ok_or_else(|| foreign(file))?;
        files.push(FleetFile {
            text: format!("{before}{accounts}{after}"),
            ..file.clone()
        });
    }
    Ok(files)
}

/// Splits a configuration into what is before the accounts, these, and what is after them.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_at_checked(text.find(&format!("{ACCOUNTS} {{\n"))?)?;
    let end = rest.find(ACCOUNTS_END)? + ACCOUNTS_END.len();
    let (accounts, after) = rest.split_at_checked(end)?;
    Some((before, accounts, after.strip_prefix('\n').unwrap_or(after)))
}

/// Returns the users of accounts that [`accounts`] has formatted, and the key of the servers' own account.
fn keys(accounts: &str) -> Option<(Vec<FleetUser>, String)> {
    let (mut users, mut system) = (Vec::new(), None);
    for line in accounts.lines() {
        let Some((_, rest)) = line.split_once("{ nkey: ") else {
            continue;
        };
        let (key, rest) = rest.split_once([',', ' '])?;
        match rest.rsplit_once("}  # ") {
            Some((rights, name)) => users.push(FleetUser {
                name: name.trim().to_owned(),
                public_key: key.to_owned(),
                // Only a runner accepts links.
                is_runner: rights.contains(&format!("\"bl.link.{}\"", name.trim())),
            }),
            None => system = Some(key.to_owned()),
        }
    }
    Some((users, system?))
}

#[cfg(test)]
mod tests {
    use super::super::provision;
    use super::*;
    use crate::nats::LogLimits;

    fn plan(nodes: usize, runners: &[&str], hosts: &[&str]) -> FleetPlan {
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        FleetPlan {
            nodes: (0..nodes).map(|n| format!("n{n}")).collect(),
            runners: names(runners),
            hosts: names(hosts),
            log: LogLimits::default(),
        }
    }

    #[test]
    fn keys_stay_and_rights_are_those_of_this_version() {
        let first = provision(&plan(3, &["a", "b"], &["laptop"])).unwrap();
        let mut old = first.clone();
        for file in old.iter_mut().filter(|it| !it.is_secret) {
            // An earlier version, a certificate, and a setting of the operator.
            file.text = file.text.replace("\"$SRV.>\", ", "");
            file.text = file.text.replace("# tls {", "tls {") + "debug: true\n";
        }
        let renewed = renew(&old, &FleetPlan::default()).unwrap();
        assert_eq!(renewed.len(), 3);
        for (renewed, first) in renewed.iter().zip(&first[4..]) {
            let expected = first.text.replace("# tls {", "tls {") + "debug: true\n";
            assert_eq!(renewed.text, expected);
            assert_eq!(renewed.name, first.name);
        }
    }

    #[test]
    fn machines_are_added_to_a_fleet() {
        let first = provision(&plan(1, &["a"], &["laptop"])).unwrap();
        let renewed = renew(&first, &plan(0, &["b"], &[])).unwrap();
        let names: Vec<_> = renewed.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["b.creds", "fleet-1.conf"]);
        let users = keys(&renewed[1].text).unwrap().0;
        let users: Vec<_> = users.iter().map(|it| (&*it.name, it.is_runner)).collect();
        assert_eq!(users, [("a", true), ("b", true), ("laptop", false)]);
        let twice = renew(&first, &plan(0, &["laptop"], &[]));
        assert_eq!(twice, Err(PlanError::Twice("laptop".into())));
    }

    #[test]
    fn folders_of_others_are_refused() {
        assert_eq!(renew(&[], &FleetPlan::default()), Err(PlanError::NoFleet));
        let file = FleetFile {
            name: "fleet-1.conf".to_owned(),
            text: "accounts {\n  A { users: [ { nkey: U } ] }\n}\n".to_owned(),
            is_secret: false,
        };
        let foreign = PlanError::Foreign("fleet-1.conf".to_owned());
        assert_eq!(renew(&[file], &FleetPlan::default()), Err(foreign));
    }
}
