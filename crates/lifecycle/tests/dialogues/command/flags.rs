//! What options become.

use std::sync::Arc;

use bowline_lifecycle::{
    AgentDocument, AgentMode, AgentOptions, AgentText, Conversation, Effort, PermissionPrompts,
    PrintFormat, PrivateFile, SettingSource, SkipPermissions, Thinking,
};

use super::{ID, OTHER, args, list, text};

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
        permission_prompts: Some(PermissionPrompts::Disabled),
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
         --permission-prompt-tool=stdio|--permission-prompts=none|--settings|{{\"a\":1}}|\
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
