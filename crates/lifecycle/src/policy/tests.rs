//! Rules against requests, most of them hostile.

use serde_json::{Value, json};

use super::*;

const PAGE: &str = include_str!("../../POLICY.md");

/// Decides on a request in `/srv/app`, where no symbolic link is.
fn verdict(policy: &Policy, tool: &str, input: &Value) -> PolicyVerdict {
    policy.decide(&resolved(tool, input, |it| Some(it.to_owned())))
}

fn resolved(tool: &str, input: &Value, find: impl Fn(&str) -> Option<String>) -> PolicyRequest {
    let mut request = PolicyRequest::new(tool, input, Some("/srv/app".to_owned()), None);
    let paths = request.paths_to_resolve();
    request.set_resolved(paths.iter().map(|it| find(it)).collect());
    request
}

fn parse(text: &str) -> Policy {
    Policy::parse(text, "p.toml").unwrap().with_home("/home/me")
}

fn decides(policy: &str, tool: &str, input: Value) -> RuleDecision {
    verdict(&parse(policy), tool, &input).decision
}

use RuleDecision::{Allow, Ask, Deny};

#[test]
fn examples_of_the_page_hold() {
    let text = PAGE.split("```toml\n").nth(1).unwrap();
    let policy = parse(text.split("```").next().unwrap());
    let rows = PAGE
        .lines()
        .filter(|it| it.starts_with("| `") && it.contains("| `{"));
    let mut count = 0;
    for row in rows {
        let row = row.replace("\\|", "\u{0}");
        let cells: Vec<_> = row
            .split('|')
            .map(|it| it.trim().trim_matches('`').replace('\u{0}', "|"))
            .collect();
        let [_, tool, input, expected, _] = &cells[..] else {
            panic!("{row}");
        };
        let verdict = verdict(&policy, tool, &serde_json::from_str(input).unwrap());
        let word = match verdict.decision {
            Allow => "allow",
            Ask => "ask",
            Deny => "deny",
        };
        let rule = verdict.rule.trim_end_matches(" in p.toml");
        let text = format!("{word} by {rule}");
        assert_eq!(text.trim_end_matches(" by "), expected, "{row}");
        count += 1;
    }
    assert!(count >= 15, "{count}");
}

#[test]
fn narrower_decision_beats_wider_in_any_order() {
    let rule = |decision: &str| format!("[[rule]]\ndecision = \"{decision}\"\ntool = \"*\"\n");
    let orders = [
        ["allow", "ask", "deny"],
        ["allow", "deny", "ask"],
        ["ask", "allow", "deny"],
        ["ask", "deny", "allow"],
        ["deny", "allow", "ask"],
        ["deny", "ask", "allow"],
    ];
    for order in orders {
        assert_eq!(decides(&order.map(rule).concat(), "X", json!({})), Deny);
    }
    for order in [["allow", "ask"], ["ask", "allow"]] {
        assert_eq!(decides(&order.map(rule).concat(), "X", json!({})), Ask);
    }
    let (allow, deny) = (parse(&rule("allow")), parse(&rule("deny")));
    for both in [allow.and(&deny), deny.and(&allow)] {
        assert_eq!(verdict(&both, "X", &json!({})).decision, Deny);
    }
}

#[test]
fn command_is_allowed_only_as_a_whole() {
    let policy = r#"
        [[rule]]
        decision = "allow"
        command = ["git *", "cat src/*"]
        [[rule]]
        decision = "allow"
        command = "wc *"
    "#;
    let bash = |command: &str| decides(policy, "Bash", json!({ "command": command }));
    for command in [
        "git status",
        "git log | wc -l",
        "git a && git b; wc x\ngit c",
        "cat src/a.rs",
    ] {
        assert_eq!(bash(command), Allow, "{command}");
    }
    for command in [
        "git status && rm -rf /",
        "git status; rm x",
        "git status | sh",
        "git status & rm x",
        "git status\nrm x",
        "git status || rm x",
        "git $(rm x)",
        "git `rm x`",
        "git \"$(rm x)\"",
        "git status > /etc/passwd",
        "git <(rm x)",
        "git $X",
        "GIT_PAGER=rm git log",
        "git\\\nstatus; rm",
        "(git status; rm x)",
        "{ git status; rm x; }",
        "if git status; then rm x; fi",
        "./git status",
        "/tmp/git status",
        "git() { rm x; }; git",
        "cat src/../../etc/passwd",
        "cat src/*",
        "",
        "git status #\nrm x",
        "git status\u{b}rm",
        "git 'a",
        "bash -c 'git status; rm x'",
        "bash git",
        "/tmp/bash -c 'git status'",
        "env git status",
        "sudo git status",
        "git status &&",
    ] {
        assert_eq!(bash(command), Ask, "{command:?}");
    }
    // Every command of a list, and nothing that is not a string.
    let commands = json!({"command": "git a", "commands": ["git b", "rm x"]});
    assert_eq!(decides(policy, "shell", commands), Ask);
    assert_eq!(
        decides(policy, "Bash", json!({ "command": ["git", "status"] })),
        Ask
    );
    assert_eq!(decides(policy, "Bash", json!({ "cmd": {"x": "git"} })), Ask);
}

#[test]
fn command_for_more_than_a_call_asks() {
    let policy = "[[rule]]\ndecision = \"allow\"\ntool = \"*\"";
    let bash = |input: Value| decides(policy, "Bash", input);
    assert_eq!(bash(json!({"command": "ls"})), Allow);
    assert_eq!(
        bash(json!({"command": "ls", "dangerouslyDisableSandbox": false})),
        Allow
    );
    assert_eq!(bash(json!({"command": "ls", "cwd": "/srv/app"})), Allow);
    for more in [
        json!({"command": "ls", "dangerouslyDisableSandbox": true}),
        json!({"command": "ls", "grantRoot": "/"}),
        json!({"command": "ls", "permissions": {"network": true}}),
        json!({"command": "ls", "cwd": "/"}),
        json!({"command": "ls", "workdir": "sub/../.."}),
        json!({"command": "ls $X"}),
    ] {
        assert_eq!(bash(more.clone()), Ask, "{more}");
    }
}

#[test]
fn denied_command_is_found_in_others() {
    let policy = "[[rule]]\ndecision = \"deny\"\ncommand = \"rm -rf *\"\n[[rule]]\ndecision = \"allow\"\ntool = \"*\"";
    for command in [
        "rm -rf /",
        "ls && rm -rf /",
        "/bin/rm -rf /",
        "sudo rm -rf /",
        "sh -c 'rm -rf /'",
        "ls $(rm -rf /)",
        "X=1 rm -rf /",
        "env X=1 rm -rf /",
        "find . | xargs rm -rf",
        "RM -rf /",
        "r\\m -rf /",
        "bash -lc \"ls; rm -rf /\"",
    ] {
        assert_eq!(
            decides(policy, "Bash", json!({ "command": command })),
            Deny,
            "{command}"
        );
    }
}

#[test]
fn path_is_allowed_where_the_system_finds_it() {
    let policy = parse("[[rule]]\ndecision = \"allow\"\npath = \"src/**\"");
    let read = |path: &str, find: fn(&str) -> Option<String>| {
        policy
            .decide(&resolved("Read", &json!({ "file_path": path }), find))
            .decision
    };
    assert_eq!(read("src/a", |it| Some(it.to_owned())), Allow);
    // The folder itself may be a link.
    assert_eq!(
        read("src/a", |it| Some(it.replace("/work", "/data"))),
        Allow
    );
    // A link out of the folder, and one that cannot be followed.
    let out = |it: &str| Some(if it == "/srv/app" { it } else { "/etc/passwd" }.to_owned());
    assert_eq!(read("src/link", out), Ask);
    assert_eq!(
        read("src/a", |it| (it == "/srv/app").then(|| it.to_owned())),
        Ask
    );
    assert_eq!(read("src/a", |_| None), Ask);
    for path in ["src/../a", "/etc/passwd", "~/src/a", "src/a\n", ""] {
        assert_eq!(read(path, |it| Some(it.to_owned())), Ask, "{path:?}");
    }
}

#[test]
fn every_path_of_a_request_must_be_allowed() {
    let policy = "[[rule]]\ndecision = \"allow\"\npath = \"src/**\"";
    // A tool reads one of the members; which one is the agent's.
    for input in [
        json!({"file_path": "src/a", "notebook_path": "/etc/x"}),
        json!({"path": "src/a", "paths": ["src/b", "/etc/x"]}),
        json!({"filePath": "/etc/x", "path": "src/a"}),
        json!({"command": "create", "path": "src/a"}),
        json!({"path": "src", "pattern": "/etc/**"}),
    ] {
        assert_eq!(decides(policy, "Glob", input.clone()), Ask, "{input}");
    }
    assert_eq!(
        decides(
            policy,
            "Glob",
            json!({"path": "src", "pattern": "src/**/*.rs"})
        ),
        Allow
    );
    assert_eq!(decides(policy, "mcp__x", json!({"query": 1})), Ask);
}

#[test]
fn denied_path_is_found_by_text_and_by_link() {
    let policy = parse(
        "[[rule]]\ndecision = \"deny\"\npath = \"**/.env\"\n[[rule]]\ndecision = \"allow\"\ntool = \"*\"",
    );
    let read = |path: &str, find: fn(&str) -> Option<String>| {
        policy
            .decide(&resolved("Read", &json!({ "file_path": path }), find))
            .decision
    };
    for path in [".env", "a/../.env", "/srv/app/.ENV", "./a//.env"] {
        assert_eq!(read(path, |_| None), Deny, "{path}");
    }
    let link = |it: &str| {
        Some(
            if it == "/srv/app" {
                it
            } else {
                "/srv/app/x/.env"
            }
            .to_owned(),
        )
    };
    assert_eq!(read("harmless", link), Deny);
    assert_eq!(read("harmless", |it| Some(it.to_owned())), Allow);
}

#[test]
fn host_is_allowed_only_if_it_is_certain() {
    let policy = "[[rule]]\ndecision = \"allow\"\nhost = [\"docs.rs\", \"*.docs.rs\"]";
    let fetch = |url: &str| decides(policy, "WebFetch", json!({ "url": url }));
    for url in [
        "https://docs.rs/x",
        "HTTPS://A.DOCS.RS",
        "http://docs.rs:80",
    ] {
        assert_eq!(fetch(url), Allow, "{url}");
    }
    for url in [
        "https://docs.rs.evil.com",
        "https://evildocs.rs",
        "https://docs.rs@evil.com",
        "https://docs.rs\\@evil.com",
        "https://docs.rs%40evil.com",
        "ftp://docs.rs",
        "docs.rs",
        "",
        "https://evil.com/docs.rs",
        "https://evil.com?docs.rs",
        "https://evil.com#.docs.rs",
    ] {
        assert_eq!(fetch(url), Ask, "{url}");
    }
    let both = json!({"url": "https://docs.rs", "urls": ["https://evil.com"]});
    assert_eq!(decides(policy, "WebFetch", both), Ask);
    assert_eq!(
        decides(policy, "Bash", json!({"command": "curl https://docs.rs"})),
        Ask
    );
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let policy = "[[rule]]\ndecision = \"allow\"\ntool = \"edit\"\npath = \"src/**\"";
    assert_eq!(
        decides(policy, "Edit", json!({"file_path": "src/a"})),
        Allow
    );
    assert_eq!(decides(policy, "Read", json!({"file_path": "src/a"})), Ask);
    assert_eq!(decides(policy, "Edit", json!({"file_path": "a"})), Ask);
    let both = "[[rule]]\ndecision = \"allow\"\npath = \"src/**\"\nhost = \"docs.rs\"";
    assert_eq!(
        decides(
            both,
            "X",
            json!({"path": "src/a", "url": "https://docs.rs"})
        ),
        Allow
    );
    assert_eq!(
        decides(both, "X", json!({"path": "a", "url": "https://docs.rs"})),
        Ask
    );
    assert_eq!(decides(both, "X", json!({"url": "https://docs.rs"})), Ask);
}

#[test]
fn reading_mode_is_not_widened() {
    let policy = parse("[[rule]]\ndecision = \"allow\"\ntool = \"*\"");
    let decide = |tool: &str, mode: &str| {
        let request = PolicyRequest::new(tool, &json!({}), None, None);
        policy.decide(&request.in_mode(Some(mode))).decision
    };
    for mode in [
        "plan",
        "Plan",
        "read-only",
        "readonly",
        "https://agentclientprotocol.com/protocol/session-modes#plan",
    ] {
        assert_eq!(decide("Write", mode), Ask, "{mode}");
        assert_eq!(decide("Bash", mode), Ask, "{mode}");
        assert_eq!(decide("mcp__x", mode), Ask, "{mode}");
        assert_eq!(decide("Grep", mode), Allow, "{mode}");
    }
    for mode in ["default", "acceptEdits", "auto", "on-request"] {
        assert_eq!(decide("Write", mode), Allow, "{mode}");
    }
}

#[test]
fn default_denies_what_no_rule_is_about() {
    let policy = "default = \"deny\"\n[[rule]]\ndecision = \"ask\"\ntool = \"edit\"";
    assert_eq!(decides(policy, "Bash", json!({"command": "x $y"})), Deny);
    assert_eq!(decides(policy, "Edit", json!({"file_path": "x"})), Ask);
    assert_eq!(
        verdict(&parse(policy), "X", &json!({})).rule,
        "default in p.toml"
    );
}

#[test]
fn error_names_line_key_and_nearest_key() {
    let is = |text: &str, expected: &str| {
        let error = Policy::parse(text, "p.toml").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("p.toml, line {expected}"),
            "{text}"
        );
    };
    is("[[rules]]", "1: `rules` is unknown; did you mean `rule`?");
    is(
        "\n[[rule]]\ndecision = \"allow\"\ncomand = \"x\"",
        "4: `comand` is unknown; did you mean `command`?",
    );
    is(
        "[[rule]]\nxyzzy = 1",
        "2: `xyzzy` is unknown; there are decision, name, tool, path, command, host, message",
    );
    is(
        "[[rule]]\ndecision = \"alow\"\ntool = \"x\"",
        "2: `decision` is alow; did you mean `allow`?",
    );
    is(
        "[[rule]]\ndecision = \"always\"",
        "2: `decision` is always; write allow, ask or deny",
    );
    is(
        "[[rule]]\ndecision = \"deny\"\ntool = 1",
        "3: `tool` is no string; put it in quotes",
    );
    is(
        "[[rule]]\ndecision = \"deny\"\ntool = [\"a\",\n2]",
        "4: `tool` is no string; put it in quotes",
    );
    is(
        "[[rule]]\ndecision = \"allow\"\ntool = []",
        "3: `tool` is an empty list, which matches nothing; leave it out",
    );
    is(
        "[[rule]]\ntool = \"x\"",
        "1: rule 1 in p.toml has no `decision`; write allow, ask or deny",
    );
    is(
        "default = \"allow\"",
        "1: `default` cannot be allow; write a rule with `tool = \"*\"`",
    );
    is(
        "[[rule]]\ndecision = \"allow\"\npath = \"../x\"",
        "3: `path` has a part `..`; write the path without it",
    );
    is(
        "[[rule]]\ndecision = \"deny\"\nhost = \"https://x\"",
        "3: `host` is no host; write it without scheme, port and path",
    );
    is(
        "[rule]\ndecision = \"deny\"",
        "1: `rule` is no list; write `[[rule]]`",
    );
    let condition = Policy::parse("[[rule]]\ndecision = \"allow\"", "p").unwrap_err();
    assert!(
        condition.reason.starts_with("rule 1 in p has no condition"),
        "{condition}"
    );
    let toml = Policy::parse("a = \n", "p").unwrap_err();
    assert_eq!((toml.line, toml.key), (1, None));
    let command =
        Policy::parse("[[rule]]\ndecision = \"allow\"\ncommand = \"a && b\"", "p").unwrap_err();
    assert!(
        command.reason.contains("operator of the shell"),
        "{command}"
    );
}

proptest::proptest! {
    /// No text makes the parsers panic, and what is appended to an allowed command never widens it.
    #[test]
    fn appended_text_is_not_allowed(text in "[ -~\\n\\t]{0,30}", operator in "[;&|\\n]") {
        let policy = parse("[[rule]]\ndecision = \"allow\"\ncommand = \"git status\"");
        let command = format!("git status{operator}{text}x");
        let verdict = verdict(&policy, "Bash", &json!({ "command": command }));
        proptest::prop_assert_eq!(verdict.decision, Ask);
    }
}
