//! Checks options before the start, for what the agent would refuse.

use std::path::Path;

use serde_json::Value;
use uuid::Uuid;

use super::error::CommandError;
use super::options::AgentOptions;
use super::value::{AgentDocument, AgentMode, AgentText, PrintFormat, SkipPermissions};
use crate::conversations::Conversation;

type Checked = Result<(), CommandError>;

/// Checks what can be known without the agent. The rules are those of the agent itself, see
/// `crates/jsonl/PROTOCOL.md`.
pub(super) fn check(options: &AgentOptions, cwd: Option<&Path>) -> Checked {
    conversation(options)?;
    mode(options)?;
    permissions(options)?;
    lists(options)?;
    numbers(options)?;
    documents(options, cwd)?;
    paths(options, cwd)
}

fn conversation(options: &AgentOptions) -> Checked {
    let is_resumed = matches!(
        options.conversation,
        Conversation::Resume { .. } | Conversation::Continue
    );
    match &options.conversation {
        Conversation::NewAs(id) => uuid("--session-id", id)?,
        Conversation::Resume { id, .. } => filled("--resume", id)?,
        Conversation::New | Conversation::Continue => {}
    }
    if let Some(id) = &options.fork_as {
        needs("--fork-session", is_resumed, "a conversation to resume")?;
        uuid("--session-id", id)?;
    }
    if let Some(id) = &options.resume_at {
        let is_by_id = matches!(options.conversation, Conversation::Resume { .. });
        needs(
            "--resume-session-at",
            is_by_id,
            "a conversation to resume by its id",
        )?;
        uuid("--resume-session-at", id)?;
    }
    if let Some(id) = &options.drop_turn {
        let has_place = options.resume_at.is_some();
        needs("--resume-drops-turn", has_place, "--resume-session-at")?;
        uuid("--resume-drops-turn", id)?;
    }
    if options.without_persistence {
        let (flag, is_print) = (
            "--no-session-persistence",
            options.mode != AgentMode::Interactive,
        );
        needs(flag, is_print, "a mode other than interactive")?;
        apart(flag, is_resumed, "a conversation to resume")?;
        apart(flag, options.mirror, "--session-mirror")?;
    }
    Ok(())
}

fn mode(options: &AgentOptions) -> Checked {
    let mode = options.mode;
    let is_dialogue = mode == AgentMode::Dialogue;
    let is_stream = is_dialogue || mode == AgentMode::Print(PrintFormat::StreamJson);
    let is_print = mode != AgentMode::Interactive;
    let stream = "a mode whose output is stream-json";
    needs_if(
        "--include-partial-messages",
        options.partial_messages,
        is_stream,
        stream,
    )?;
    needs_if(
        "--forward-subagent-text",
        options.forward_subagent_text,
        is_stream,
        stream,
    )?;
    needs_if(
        "--include-hook-events",
        options.hook_events,
        is_stream,
        stream,
    )?;
    needs_if("--session-mirror", options.mirror, is_stream, stream)?;
    let dialogue = "the dialogue mode";
    needs_if(
        "--replay-user-messages",
        options.replay_user_messages,
        is_dialogue,
        dialogue,
    )?;
    needs_if(
        "--await-initialize",
        options.await_initialize,
        is_dialogue,
        dialogue,
    )?;
    let print = "a mode other than interactive";
    needs_if(
        "--json-schema",
        options.json_schema.is_some(),
        is_print,
        print,
    )?;
    needs_if(
        "--max-budget-usd",
        options.max_budget_usd.is_some(),
        is_print,
        print,
    )?;
    let has_tool = options.permission_prompt_tool.is_some();
    needs_if("--permission-prompt-tool", has_tool, is_print, print)?;
    let has_prompts = options.permission_prompts.is_some();
    needs_if("--permission-prompts", has_prompts, is_print, print)?;
    // The agent ignores it silently.
    apart(
        "a prompt as an argument",
        options.prompt.is_some() && is_dialogue,
        dialogue,
    )?;
    if options
        .prompt
        .as_ref()
        .is_some_and(|it| it.trim().is_empty())
    {
        return value("a prompt", "it is empty");
    }
    Ok(())
}

fn permissions(options: &AgentOptions) -> Checked {
    if let Some(tool) = &options.permission_prompt_tool {
        if tool == "stdio" {
            let is_dialogue = options.mode == AgentMode::Dialogue;
            needs(
                "--permission-prompt-tool=stdio",
                is_dialogue,
                "the dialogue mode",
            )?;
        } else if !tool.starts_with("mcp__") {
            return value(
                "--permission-prompt-tool",
                "pass `stdio` for the host, or an `mcp__SERVER__TOOL`",
            );
        }
    }
    if let Some(mode) = &options.permission_mode
        && (mode.is_empty() || !mode.bytes().all(|it| it.is_ascii_alphabetic()))
    {
        return value(
            "--permission-mode",
            "pass one word, such as acceptEdits or plan",
        );
    }
    let is_skipped = options.skip_permissions == SkipPermissions::Now;
    apart(
        "--dangerously-skip-permissions",
        is_skipped && options.restricted,
        "--restricted",
    )
}

/// Checks lists. The agent separates rules by commas or spaces outside of parentheses.
fn lists(options: &AgentOptions) -> Checked {
    for (flag, list) in [
        ("--allowedTools", &options.allowed_tools),
        ("--disallowedTools", &options.disallowed_tools),
    ] {
        for rule in list {
            if !is_one_rule(rule) {
                return value(flag, &format!("{rule:?} is not a single rule; pass a list"));
            }
        }
    }
    let names = options.tools.iter().flatten().map(|it| ("--tools", it));
    let models = options.fallback_models.iter();
    let models = models.map(|it| ("--fallback-model", it));
    let betas = options.betas.iter().map(|it| ("--betas", it));
    for (flag, name) in names.chain(models).chain(betas) {
        if name.is_empty() || name.contains([',', ' ']) {
            return value(flag, &format!("{name:?} is not a single name; pass a list"));
        }
    }
    for (flag, text) in [
        ("--model", &options.model),
        ("--agent", &options.agent),
        ("--name", &options.name),
        ("--worktree", &options.worktree),
    ] {
        text.as_ref().map_or(Ok(()), |text| filled(flag, text))?;
    }
    Ok(())
}

fn is_one_rule(rule: &str) -> bool {
    let mut depth = 0_u32;
    for c in rule.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => return false,
            _ => {}
        }
    }
    depth == 0 && !rule.is_empty()
}

fn numbers(options: &AgentOptions) -> Checked {
    if options.max_turns == Some(0) {
        return value("--max-turns", "the minimum is 1");
    }
    if options.task_budget == Some(0) {
        return value("--task-budget", "the minimum is 1");
    }
    let is_amount = |it: f64| it.is_finite() && it > 0.0;
    if options.max_budget_usd.is_some_and(|it| !is_amount(it)) {
        return value("--max-budget-usd", "it must be positive");
    }
    Ok(())
}

fn documents(options: &AgentOptions, cwd: Option<&Path>) -> Checked {
    let one = [
        ("--settings", options.settings.as_ref()),
        ("--managed-settings", options.managed_settings.as_ref()),
        ("--agents", options.agents.as_ref()),
    ];
    let many = options.mcp_configs.iter();
    let many = many.map(|it| ("--mcp-config", Some(it)));
    for (flag, document) in one.into_iter().chain(many) {
        match document {
            Some(AgentDocument::Json(json)) => object(flag, json)?,
            Some(AgentDocument::File(path)) => file(flag, cwd, path)?,
            Some(AgentDocument::Private(_)) | None => {}
        }
    }
    match &options.json_schema {
        Some(schema) => object("--json-schema", schema),
        None => Ok(()),
    }
}

fn paths(options: &AgentOptions, cwd: Option<&Path>) -> Checked {
    for (flag, text) in [
        ("--system-prompt-file", &options.system_prompt),
        ("--append-system-prompt-file", &options.append_system_prompt),
    ] {
        if let Some(AgentText::File(path)) = text {
            file(flag, cwd, path)?;
        }
    }
    for path in &options.add_dirs {
        folder("--add-dir", cwd, path)?;
    }
    if let Some(path) = &options.project_config_root {
        folder("--project-config-root", cwd, path)?;
    }
    for path in options
        .plugin_dirs
        .iter()
        .chain(&options.plugin_dirs_without_mcp)
    {
        if !from(cwd, path).exists() {
            return missing("--plugin-dir", path, "folder or archive");
        }
    }
    match options.debug_file.as_deref().and_then(Path::parent) {
        Some(parent) if !from(cwd, parent).is_dir() => missing("--debug-file", parent, "folder"),
        _ => Ok(()),
    }
}

fn file(flag: &'static str, cwd: Option<&Path>, path: &Path) -> Checked {
    if from(cwd, path).is_file() {
        Ok(())
    } else {
        missing(flag, path, "file")
    }
}

fn folder(flag: &'static str, cwd: Option<&Path>, path: &Path) -> Checked {
    if from(cwd, path).is_dir() {
        Ok(())
    } else {
        missing(flag, path, "folder")
    }
}

fn from(cwd: Option<&Path>, path: &Path) -> std::path::PathBuf {
    cwd.unwrap_or_else(|| Path::new("")).join(path)
}

fn missing(flag: &'static str, path: &Path, wanted: &'static str) -> Checked {
    let path = path.to_path_buf();
    Err(CommandError::Missing { flag, path, wanted })
}

/// Checks a JSON object. The error does not quote the value, which may hold secrets.
fn object(flag: &'static str, json: &str) -> Checked {
    match serde_json::from_str(json) {
        Ok(Value::Object(_)) => Ok(()),
        Ok(_) => value(flag, "it is JSON but not an object"),
        Err(error) => value(
            flag,
            &format!("it is not JSON ({error}); pass a JSON object"),
        ),
    }
}

fn uuid(flag: &'static str, id: &str) -> Checked {
    match Uuid::try_parse(id) {
        Ok(_) => Ok(()),
        Err(_) => value(flag, &format!("{id:?} is not a UUID")),
    }
}

fn filled(flag: &'static str, text: &str) -> Checked {
    if text.trim().is_empty() {
        return value(flag, "it is empty; omit it, or pass a value");
    }
    Ok(())
}

fn value(flag: &'static str, reason: &str) -> Checked {
    let reason = reason.to_owned();
    Err(CommandError::Value { flag, reason })
}

fn needs(flag: &'static str, has: bool, needs: &'static str) -> Checked {
    if has {
        Ok(())
    } else {
        Err(CommandError::Needs { flag, needs })
    }
}

fn needs_if(flag: &'static str, is_on: bool, has: bool, what: &'static str) -> Checked {
    needs(flag, !is_on || has, what)
}

fn apart(flag: &'static str, is_both: bool, other: &'static str) -> Checked {
    if is_both {
        Err(CommandError::Conflict { flag, other })
    } else {
        Ok(())
    }
}
