//! Secrets on their whole way, from a host to a runner, an agent and its hooks: each is where it
//! belongs, and in no other place.
//!
//! Runner, shim, host, guard, hooks and agent are processes of their own that log all they can. What
//! belongs where is by design: the agent has its variables and what opens the hooks' server in its
//! environment, and so have its hooks and tools; the runner's token is in its file; the journal has
//! what the agent has said, which is what prompts and tools are about.

#[path = "secrets/places.rs"]
mod places;
#[path = "secrets/rig.rs"]
mod rig;

use bowline_tests::secrets::Live;

use places::{Place, environments, files, lines};
use rig::Rig;

#[test]
fn a_secret_is_where_it_belongs_and_nowhere_else() {
    let mut rig = Rig::start();
    let live: Live = rig.host.hear();
    let mut places = lines();
    places.extend(environments());
    places.extend(files(rig.folder.path()));
    rig.host.say(&());
    let told: Vec<String> = rig.host.hear();
    for part in [
        "a ticket: 201",
        "certificate",
        "/no/such/agent",
        "/api/sessions 200",
        "/metrics 200",
        " 401 ",
        " 400 ",
    ] {
        let has = |line: &String| line.to_lowercase().contains(&part.to_lowercase());
        assert!(told.iter().any(has), "{part}: {told:#?}");
    }
    let (key, canaries) = (rig.key(), rig.canaries.clone());
    let (folder, said) = rig.finish();
    places.extend(
        told.into_iter()
            .map(|text| Place::new("an answer or an error", text)),
    );
    let fell = said
        .iter()
        .any(|place| place.text.contains("the host falls with"));
    assert!(fell, "{said:#?}");
    places.extend(said);
    places.extend(files(folder.path()));
    places::are_watched(&places);
    let secrets: [(&str, &String, &[&str]); 10] = [
        ("the token", &canaries.token, &["token"]),
        ("a wrong token", &canaries.guess, &[]),
        ("the client's key", &key, &["client.key"]),
        (
            "a variable",
            &canaries.variable,
            &["environ of agent", "environ of hook"],
        ),
        ("a prompt", &canaries.prompt, &["journal"]),
        ("a hook's payload", &canaries.payload, &["journal"]),
        ("the backend's token", &canaries.backend, &[]),
        ("junk for hooks", &canaries.junk, &[]),
        ("a ticket", &live.ticket, &[]),
        (
            "the hooks' token",
            &live.hook_token,
            &["environ of agent", "environ of hook"],
        ),
    ];
    let mut wrong = Vec::new();
    for (what, secret, belongs) in secrets {
        assert!(secret.len() > 12, "{what}: {secret:?}");
        let found = places.iter().filter(|place| place.has(secret));
        let found: Vec<_> = found.map(|place| place.name.as_str()).collect();
        for name in &found {
            if !belongs.iter().any(|place| name.contains(place)) {
                wrong.push(format!("{what} is in {name}"));
            }
        }
        // The first of them is always there to be looked at.
        let first = belongs.first();
        let is_there = |place: &&str| found.iter().any(|name| name.contains(place));
        assert!(first.is_none_or(is_there), "{what} is not in {belongs:?}");
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
