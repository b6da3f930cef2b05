//! `bowline run --policy`.

use std::path::Path;

use crate::support::{ScriptedAgent, command, finish, json};

const ASKS: &str = r#"
[[turn]]
steps = [
  { tool = { name = "Bash", input = { command = "make test" }, ask = true, result = "ok" } },
  { tool = { name = "Read", input = { file_path = "src/a" }, ask = true, result = "a" } },
  { tool = { name = "Read", input = { file_path = "src/link" }, ask = true, result = "secret" } },
  { tool = { name = "Bash", input = { command = "make; rm x" }, ask = true, result = "gone" } },
]
"#;

const POLICY: &str = "
[[rule]]
name = \"make\"
decision = \"allow\"
command = \"make *\"
[[rule]]
decision = \"allow\"
path = \"src/**\"
";

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Without a user, what no rule allows is denied.
#[test]
fn rules_decide_before_the_user() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "src/a", "a");
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("src/link")).unwrap();
    let agent = ScriptedAgent::new(ASKS);
    let with = |arguments: &[&str], config: &str| {
        let line = agent.line(&[arguments, &["--output", "transcript", "go"]].concat());
        let line: Vec<_> = line.iter().map(String::as_str).collect();
        let mut command = command(&line);
        command
            .current_dir(folder.path())
            .env("XDG_CONFIG_HOME", config);
        let done = finish(command.spawn().unwrap());
        assert_eq!(done.code, Some(0), "{done:?}");
        json(&done.stdout)
    };
    let file = write(folder.path(), "p.toml", POLICY);
    write(folder.path(), "config/bowline/policy.toml", POLICY);
    let config = folder.path().join("config").display().to_string();
    for transcript in [
        with(&["--policy", &file], "/nonexistent"),
        with(&[], &config),
    ] {
        let requests = transcript["permissions"].as_array().unwrap().iter();
        let states: Vec<_> = requests.map(|it| it["state"].as_str().unwrap()).collect();
        assert_eq!(
            states,
            ["allowed", "allowed", "denied", "denied"],
            "{transcript:#}"
        );
        let decided = &transcript["permissions"][0]["decided_by"];
        assert_eq!(decided["who"], "policy");
        let how = decided["how"].as_str().unwrap();
        assert!(
            how.starts_with("rule \"make\" in /") && how.ends_with(".toml"),
            "{how}"
        );
        assert_ne!(transcript["permissions"][2]["decided_by"]["who"], "policy");
    }
    let without = with(&[], "/nonexistent");
    assert_eq!(without["permissions"][0]["state"], "denied");
}

#[test]
fn bad_policy_is_refused_before_the_agent_starts() {
    let folder = tempfile::tempdir().unwrap();
    let agent = ScriptedAgent::new(ASKS);
    let file = write(
        folder.path(),
        "p.toml",
        "[[rule]]\ndecision = \"allow\"\ncomand = \"x\"",
    );
    let failed = agent.run(&["--policy", &file, "go"]).failed(2);
    assert!(
        failed.ends_with("p.toml, line 3: `comand` is unknown; did you mean `command`?\n"),
        "{failed}"
    );
    let missing = agent
        .run(&["--policy", "/nonexistent/p.toml", "go"])
        .failed(2);
    assert!(
        missing.contains("cannot read the policy /nonexistent/p.toml; check its path"),
        "{missing}"
    );
}
