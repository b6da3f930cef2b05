//! Secrets on their way from a host to a runner, an agent and its hooks: each appears in its
//! intended places only.
//!
//! Runner, shim, host, guard, hooks and agent are separate processes that log at the most verbose
//! level. The intended places are: the environment of the agent, its hooks and its tools (the
//! agent's variables and the credentials of the hook server); the token file of the runner; and the
//! journal, which contains the agent's output, and with it prompts and tool calls.

#[path = "secrets/places.rs"]
mod places;
#[path = "secrets/rig.rs"]
mod rig;

use bowline_tests::secrets::Live;

use places::{Place, environments, files, lines};
use rig::Rig;

#[test]
fn secrets_appear_in_intended_places_only() {
    let mut rig = Rig::start();
    let live: Live = rig.host.read_json();
    let mut places = lines();
    places.extend(environments());
    places.extend(files(rig.folder.path()));
    rig.host.write_json(&());
    let messages: Vec<String> = rig.host.read_json();
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
        assert!(messages.iter().any(has), "{part}: {messages:#?}");
    }
    let (key, canaries) = (rig.key(), rig.canaries.clone());
    let (folder, outputs) = rig.finish();
    places.extend(
        messages
            .into_iter()
            .map(|text| Place::new("an answer or an error", text)),
    );
    let fell = outputs
        .iter()
        .any(|place| place.text.contains("the host falls with"));
    assert!(fell, "{outputs:#?}");
    places.extend(outputs);
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
        // The first of them always exists.
        let first = belongs.first();
        let is_there = |place: &&str| found.iter().any(|name| name.contains(place));
        assert!(first.is_none_or(is_there), "{what} is not in {belongs:?}");
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
