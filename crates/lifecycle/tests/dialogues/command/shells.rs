//! What a program and a shell receive besides the arguments.

use std::process::Command;
use std::time::Duration;

use bowline_lifecycle::{
    AgentEnvironment, AgentMode, AgentOptions, Conversation, Environment, Shell,
};
use proptest::prelude::*;
use secrecy::SecretString;

use super::list;

#[test]
fn the_environment_carries_secrets_and_shows_none() {
    let mut env = Environment::empty();
    let variables = AgentEnvironment {
        api_key: Some(SecretString::from("hunter2")),
        config_dir: Some("/config".into()),
        state_events: true,
        max_retries: Some(15),
        stream_idle: Some(Duration::from_secs(300)),
        ..AgentEnvironment::default()
    };
    variables.apply(&mut env).unwrap();
    let shown = format!("{env:?} {variables:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    for name in [
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS",
        "CLAUDE_CODE_MAX_RETRIES",
        "CLAUDE_STREAM_IDLE_TIMEOUT_MS",
    ] {
        assert!(shown.contains(name), "{shown} lacks {name}");
    }
    let too_many = AgentEnvironment {
        max_retries: Some(16),
        ..AgentEnvironment::default()
    };
    assert!(too_many.apply(&mut env).is_err());
    let too_short = AgentEnvironment {
        stream_idle: Some(Duration::from_secs(299)),
        ..AgentEnvironment::default()
    };
    assert!(too_short.apply(&mut env).is_err());
}

/// What a shell makes of a line that prints its words.
fn spoken(shell: &str, flag: &str, line: &str) -> Vec<u8> {
    let output = Command::new(shell).args([flag, line]).output();
    let output = output.expect("the shell runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell}: {stderr}");
    output.stdout
}

fn echoed(words: &[String]) -> Vec<u8> {
    let words = words.iter().map(|word| [word.as_bytes(), b"\0"].concat());
    words.collect::<Vec<_>>().concat()
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Words of any characters, and words that are full of those that shells care for.
const WORD: &str = "[^\0]{0,12}|['\"\\\\$`!#~=*? \n\t;&|<>(){}\\[\\]-]{0,12}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn real_shells_give_the_program_the_words_that_were_quoted(
        words in proptest::collection::vec(WORD, 1..6)
    ) {
        let args = || ["%s\\0"].into_iter().chain(words.iter().map(String::as_str));
        let line = Shell::Sh.line("printf", args());
        for shell in ["sh", "dash", "bash", "zsh", "ksh"] {
            if shell == "sh" || is_on_path(shell) {
                prop_assert_eq!(spoken(shell, "-c", &line), echoed(&words));
            }
        }
        if is_on_path("fish") {
            let line = Shell::Fish.line("printf", args());
            prop_assert_eq!(spoken("fish", "-c", &line), echoed(&words));
        }
    }
}

#[test]
fn power_shell_gives_the_program_the_words_that_were_quoted() {
    if !is_on_path("pwsh") {
        return;
    }
    let words = [
        "it's",
        "a \"b\"",
        "$HOME `x",
        "\u{2018}q\u{2019}",
        "",
        "--",
        "-a.b",
        "%",
    ];
    let args = ["%s\\0"].into_iter().chain(words);
    let line = Shell::PowerShell.line("/usr/bin/printf", args);
    assert_eq!(spoken("pwsh", "-Command", &line), echoed(&list(&words)));
}

#[test]
fn a_command_is_displayed_with_its_input() {
    let options = AgentOptions {
        mode: AgentMode::Interactive,
        conversation: Conversation::Resume {
            id: "it's".to_owned(),
            fork: false,
        },
        ..AgentOptions::default()
    };
    let command = options
        .command("claude", None, Environment::empty())
        .unwrap();
    let display = |shell| command.display(shell).unwrap();
    assert_eq!(display(Shell::Sh), r#"claude "--resume=it's""#);
    assert_eq!(display(Shell::PowerShell), "& 'claude' '--resume=it''s'");
    let piped = command.display_piped(Shell::Fish, "/a b".as_ref()).unwrap();
    assert_eq!(piped, r"cat '/a b' | claude '--resume=it\'s'");
}
