//! What is refused before anything starts.

use std::process::Command;

use bowline_lifecycle::{
    AgentDocument, AgentMode, AgentOptions, AgentText, CommandError, Conversation, Environment,
    PrintFormat, SkipPermissions,
};

use super::{ID, built, list, refused, text};

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
            "--fork-session requires",
        ),
        (
            refused(|it| it.resume_at = text(ID)),
            "--resume-session-at requires",
        ),
        (
            refused(|it| it.drop_turn = text(ID)),
            "--resume-drops-turn requires",
        ),
        (
            refused(|it| {
                it.without_persistence = true;
                it.conversation = Conversation::Continue;
            }),
            "--no-session-persistence cannot be used with a conversation to resume",
        ),
    ];
    for (message, wanted) in cases {
        assert!(message.contains(wanted), "{message} lacks {wanted}");
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
            "--json-schema requires",
        ),
        (
            in_mode(print(PrintFormat::StreamJson), |it| {
                it.replay_user_messages = true
            }),
            "--replay-user-messages requires the dialogue mode",
        ),
        (
            in_mode(print(PrintFormat::Json), |it| it.hook_events = true),
            "--include-hook-events requires",
        ),
        (
            in_mode(print(PrintFormat::Text), |it| {
                it.permission_prompt_tool = text("stdio")
            }),
            "requires the dialogue mode",
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
            "--dangerously-skip-permissions cannot be used with --restricted",
        ),
        (
            refused(|it| it.prompt = text("hi")),
            "a prompt as an argument cannot be used with",
        ),
    ];
    for (message, wanted) in cases {
        assert!(message.contains(wanted), "{message} lacks {wanted}");
    }
}

#[test]
fn ambiguous_values_are_refused() {
    let cases = [
        (
            refused(|it| it.allowed_tools = list(&["Read,Write"])),
            "not a single rule",
        ),
        (
            refused(|it| it.allowed_tools = list(&["Bash(git"])),
            "not a single rule",
        ),
        (
            refused(|it| it.tools = Some(list(&["Read Write"]))),
            "not a single name",
        ),
        (refused(|it| it.max_turns = Some(0)), "the minimum is 1"),
        (
            refused(|it| it.max_budget_usd = Some(f64::NAN)),
            "must be positive",
        ),
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
    for (message, wanted) in cases {
        assert!(message.contains(wanted), "{message} lacks {wanted}");
    }
}

#[test]
fn missing_paths_are_named() {
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
    for (message, wanted) in cases {
        assert!(message.contains(wanted), "{message} lacks {wanted}");
    }
}

#[test]
fn too_long_argument_is_refused() {
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
