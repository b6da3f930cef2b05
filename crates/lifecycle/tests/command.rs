//! The agent's command line: what options become, what is refused before anything starts, and how
//! a shell is told.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{
    AgentDocument, AgentEnvironment, AgentMode, AgentOptions, AgentText, CommandError,
    Conversation, Effort, Environment, PermissionPrompts, PrintFormat, PrivateFile, Secret,
    SettingSource, Shell, SkipPermissions, Thinking,
};
use proptest::prelude::*;

const ID: &str = "0b1b1b1b-1111-4111-8111-111111111111";
const OTHER: &str = "0b1b1b1b-1111-4111-8111-222222222222";

fn built(options: &AgentOptions) -> Result<Vec<String>, CommandError> {
    let command = options.command("claude", Some(Path::new("/")), Environment::empty())?;
    let text = |arg: OsString| arg.into_string().expect("text");
    Ok(command.args.into_iter().map(text).collect())
}

fn args(options: &AgentOptions) -> Vec<String> {
    built(options).expect("the options are sound")
}

fn refused(change: impl FnOnce(&mut AgentOptions)) -> String {
    let mut options = AgentOptions::default();
    change(&mut options);
    built(&options).expect_err("must be refused").to_string()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn a_dialogue_speaks_json_lines_both_ways() {
    let expected = "--print --output-format=stream-json --verbose --input-format=stream-json";
    assert_eq!(args(&AgentOptions::default()).join(" "), expected);
}

#[test]
fn one_prompt_brings_the_flags_of_its_format() {
    let of = |mode| {
        let options = AgentOptions {
            mode,
            ..AgentOptions::default()
        };
        args(&options).join(" ")
    };
    let print = |format| of(AgentMode::Print(format));
    assert_eq!(print(PrintFormat::Text), "--print");
    assert_eq!(print(PrintFormat::Json), "--print --output-format=json");
    let stream = print(PrintFormat::StreamJson);
    let why = "the agent refuses this format without --verbose";
    assert_eq!(
        stream, "--print --output-format=stream-json --verbose",
        "{why}"
    );
    assert_eq!(of(AgentMode::Interactive), "");
}

/// Options with everything set, and what they become.
fn everything() -> (AgentOptions, String) {
    let private = Arc::new(PrivateFile::new(b"{}").expect("a temporary file"));
    let path = private.path().display().to_string();
    let options = AgentOptions {
        conversation: Conversation::Resume {
            id: "-x".to_owned(),
            fork: true,
        },
        fork_as: text(ID),
        resume_at: text(OTHER),
        drop_turn: text(OTHER),
        mirror: true,
        model: text("-m"),
        fallback_models: list(&["a", "b"]),
        effort: Some(Effort::ExtraHigh),
        thinking: Some(Thinking::Adaptive),
        max_thinking_tokens: Some(9),
        permission_mode: text("plan"),
        skip_permissions: SkipPermissions::Allowed,
        permission_prompt_tool: text("stdio"),
        permission_prompts: Some(PermissionPrompts::Nobody),
        allowed_tools: list(&["Read", "Bash(git log:*, x)"]),
        disallowed_tools: list(&["Write"]),
        tools: Some(Vec::new()),
        mcp_configs: vec![
            AgentDocument::Json("{}".to_owned()),
            AgentDocument::Private(private),
        ],
        strict_mcp_config: true,
        settings: Some(AgentDocument::Json("{\"a\":1}".to_owned())),
        setting_sources: Some(vec![SettingSource::User, SettingSource::Local]),
        managed_settings: Some(AgentDocument::File("/etc/hostname".into())),
        project_config_root: Some("/etc".into()),
        system_prompt: Some(AgentText::Inline("-be brief".to_owned())),
        append_system_prompt: Some(AgentText::File("etc/hostname".into())),
        append_subagent_system_prompt: text("too"),
        system_prompt_snapshot: Some(false),
        without_dynamic_prompt: true,
        add_dirs: vec!["/etc".into(), "/bin".into()],
        max_turns: Some(3),
        task_budget: Some(4),
        max_budget_usd: Some(0.5),
        json_schema: text("{\"type\":\"object\"}"),
        agent: text("reviewer"),
        agents: Some(AgentDocument::Json("{}".to_owned())),
        plugin_dirs: vec!["/etc".into()],
        plugin_dirs_without_mcp: vec!["/bin".into()],
        plugin_urls: list(&["https://plugins.invalid/a.zip"]),
        bare: true,
        safe_mode: true,
        restricted: true,
        debug: text("hooks"),
        debug_file: Some("/dev/null".into()),
        name: text("a name"),
        worktree: text("tree"),
        without_slash_commands: true,
        betas: list(&["b1"]),
        files: list(&["f:doc.txt"]),
        partial_messages: true,
        replay_user_messages: true,
        forward_subagent_text: true,
        hook_events: true,
        prompt_suggestions: Some(true),
        await_initialize: true,
        leading_args: vec!["first".into()],
        trailing_args: vec!["last".into()],
        ..AgentOptions::default()
    };
    (options, path)
}

#[test]
fn every_option_has_its_flag() {
    let (options, path) = everything();
    let expected = format!(
        "first|--print|--output-format=stream-json|--verbose|--input-format=stream-json|\
         --replay-user-messages|--forward-subagent-text|--include-partial-messages|\
         --include-hook-events|--await-initialize|--prompt-suggestions=true|--model=-m|\
         --fallback-model=a,b|--effort=xhigh|--thinking=adaptive|--max-thinking-tokens=9|\
         --betas=b1|--permission-mode=plan|--allow-dangerously-skip-permissions|\
         --allowedTools=Read,Bash(git log:*, x)|--disallowedTools=Write|--tools=|\
         --permission-prompt-tool=stdio|--permission-prompts=none|--settings={{\"a\":1}}|\
         --setting-sources=user,local|--managed-settings=/etc/hostname|\
         --project-config-root=/etc|--mcp-config={{}}|--mcp-config={path}|--strict-mcp-config|\
         --add-dir=/etc|--add-dir=/bin|--plugin-dir=/etc|--plugin-dir-no-mcp=/bin|\
         --plugin-url=https://plugins.invalid/a.zip|--bare|--safe-mode|--restricted|\
         --disable-slash-commands|--system-prompt=-be brief|\
         --append-system-prompt-file=etc/hostname|--append-subagent-system-prompt=too|\
         --system-prompt-snapshot=off|--exclude-dynamic-system-prompt-sections|\
         --agent=reviewer|--agents={{}}|--json-schema={{\"type\":\"object\"}}|--max-turns=3|\
         --task-budget=4|--max-budget-usd=0.5|--resume=-x|--fork-session|--session-id={ID}|\
         --resume-session-at={OTHER}|--resume-drops-turn={OTHER}|--session-mirror|\
         --name=a name|--worktree=tree|--debug=hooks|--debug-file=/dev/null|--file=f:doc.txt|last"
    );
    assert_eq!(args(&options).join("|"), expected);
}

#[test]
fn conversations_become_their_flags() {
    let of = |conversation, fork_as| {
        let options = AgentOptions {
            mode: AgentMode::Interactive,
            conversation,
            fork_as,
            ..AgentOptions::default()
        };
        args(&options).join(" ")
    };
    let resume = |fork| Conversation::Resume {
        id: ID.to_owned(),
        fork,
    };
    let new = of(Conversation::NewAs(ID.to_owned()), None);
    assert_eq!(of(Conversation::New, None), "");
    assert_eq!(new, format!("--session-id={ID}"));
    assert_eq!(of(resume(false), None), format!("--resume={ID}"));
    assert_eq!(
        of(resume(true), None),
        format!("--resume={ID} --fork-session")
    );
    assert_eq!(of(Conversation::Continue, None), "--continue");
    let copy = of(Conversation::Continue, text(OTHER));
    assert_eq!(
        copy,
        format!("--continue --fork-session --session-id={OTHER}")
    );
}

#[test]
fn contradictions_of_conversations_are_refused() {
    let resume = |id: &str| Conversation::Resume {
        id: id.to_owned(),
        fork: false,
    };
    let cases = [
        (
            refused(|it| it.conversation = Conversation::NewAs("abc".to_owned())),
            "not a UUID",
        ),
        (
            refused(|it| it.conversation = resume(" ")),
            "--resume: it is empty",
        ),
        (
            refused(|it| it.fork_as = text(ID)),
            "--fork-session by itself",
        ),
        (
            refused(|it| it.resume_at = text(ID)),
            "--resume-session-at by itself",
        ),
        (
            refused(|it| it.drop_turn = text(ID)),
            "--resume-drops-turn by itself",
        ),
        (
            refused(|it| {
                it.without_persistence = true;
                it.conversation = Conversation::Continue;
            }),
            "--no-session-persistence together with a conversation to resume",
        ),
    ];
    for (said, wanted) in cases {
        assert!(said.contains(wanted), "{said} lacks {wanted}");
    }
}

#[test]
fn contradictions_of_modes_are_refused() {
    let in_mode = |mode, change: fn(&mut AgentOptions)| {
        refused(|it| {
            it.mode = mode;
            change(it);
        })
    };
    let print = AgentMode::Print;
    let cases = [
        (
            in_mode(AgentMode::Interactive, |it| it.partial_messages = true),
            "--include-partial",
        ),
        (
            in_mode(AgentMode::Interactive, |it| it.json_schema = text("{}")),
            "--json-schema by",
        ),
        (
            in_mode(print(PrintFormat::StreamJson), |it| {
                it.replay_user_messages = true
            }),
            "--replay-user-messages by itself: it needs the dialogue mode",
        ),
        (
            in_mode(print(PrintFormat::Json), |it| it.hook_events = true),
            "--include-hook-events by",
        ),
        (
            in_mode(print(PrintFormat::Text), |it| {
                it.permission_prompt_tool = text("stdio")
            }),
            "needs the dialogue mode",
        ),
        (
            refused(|it| it.permission_prompt_tool = text("ask")),
            "`stdio` for the host",
        ),
        (
            refused(|it| {
                it.skip_permissions = SkipPermissions::Now;
                it.restricted = true;
            }),
            "--dangerously-skip-permissions together with --restricted",
        ),
        (
            refused(|it| it.prompt = text("hi")),
            "a prompt as an argument together with",
        ),
    ];
    for (said, wanted) in cases {
        assert!(said.contains(wanted), "{said} lacks {wanted}");
    }
}

#[test]
fn values_that_the_agent_would_misread_are_refused() {
    let cases = [
        (
            refused(|it| it.allowed_tools = list(&["Read,Write"])),
            "not one rule",
        ),
        (
            refused(|it| it.allowed_tools = list(&["Bash(git"])),
            "not one rule",
        ),
        (
            refused(|it| it.tools = Some(list(&["Read Write"]))),
            "not one name",
        ),
        (refused(|it| it.max_turns = Some(0)), "from 1 on"),
        (refused(|it| it.max_budget_usd = Some(f64::NAN)), "above 0"),
        (
            refused(|it| it.permission_mode = text("accept edits")),
            "one word",
        ),
        (
            refused(|it| it.settings = Some(AgentDocument::Json("{\"k".to_owned()))),
            "not JSON",
        ),
        (
            refused(|it| it.agents = Some(AgentDocument::Json("[]".to_owned()))),
            "not an object",
        ),
        (refused(|it| it.json_schema = text("true")), "not an object"),
        (refused(|it| it.model = text("a\0b")), "NUL"),
    ];
    for (said, wanted) in cases {
        assert!(said.contains(wanted), "{said} lacks {wanted}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let path = || "/no/such/place".into();
    let cases = [
        (
            refused(|it| it.settings = Some(AgentDocument::File(path()))),
            "--settings",
        ),
        (
            refused(|it| it.mcp_configs = vec![AgentDocument::File(path())]),
            "--mcp-config",
        ),
        (
            refused(|it| it.system_prompt = Some(AgentText::File(path()))),
            "--system-prompt-file",
        ),
        (refused(|it| it.add_dirs = vec![path()]), "--add-dir"),
        (
            refused(|it| it.add_dirs = vec!["/etc/hostname".into()]),
            "is not a folder",
        ),
        (refused(|it| it.plugin_dirs = vec![path()]), "--plugin-dir"),
        (
            refused(|it| it.debug_file = Some("/no/such/file".into())),
            "--debug-file: /no/such",
        ),
        (
            refused(|it| it.project_config_root = Some(path())),
            "--project-config-root",
        ),
    ];
    for (said, wanted) in cases {
        assert!(said.contains(wanted), "{said} lacks {wanted}");
    }
}

#[test]
fn a_prompt_too_long_for_an_argument_is_sent_elsewhere() {
    let of = |bytes: usize| AgentOptions {
        mode: AgentMode::Print(PrintFormat::Text),
        prompt: Some("x".repeat(bytes)),
        ..AgentOptions::default()
    };
    // The longest that is accepted really runs.
    let longest = of(128 * 1024 - 1);
    let command = longest.command("true", None, Environment::empty()).unwrap();
    assert_eq!(command.args[1], "--");
    let status = Command::new("true").args(&command.args).status();
    assert!(status.unwrap().success());
    let error = built(&of(128 * 1024)).unwrap_err();
    assert!(
        matches!(error, CommandError::TooLong { bytes: 131_072, .. }),
        "{error}"
    );
    assert!(error.to_string().ends_with("send it over standard input"));
    let long = refused(|it| it.system_prompt = Some(AgentText::Inline("x".repeat(1 << 17))));
    assert!(long.contains("put it in a file"), "{long}");
}

#[test]
fn the_environment_carries_secrets_and_shows_none() {
    let mut env = Environment::empty();
    let variables = AgentEnvironment {
        api_key: Some(Secret::new("hunter2".to_owned())),
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
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell}: {said}");
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
    assert_eq!(display(Shell::Sh), r"claude '--resume=it'\''s'");
    assert_eq!(display(Shell::PowerShell), "& 'claude' '--resume=it''s'");
    let piped = command.display_piped(Shell::Fish, "/a b".as_ref()).unwrap();
    assert_eq!(piped, r"cat '/a b' | claude '--resume=it\'s'");
}
