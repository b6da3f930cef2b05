//! Turns options into arguments.

use std::ffi::{OsStr, OsString};

use super::error::CommandError;
use super::options::AgentOptions;
use super::value::{
    AgentDocument, AgentMode, AgentText, PermissionPrompts, PrintFormat, SkipPermissions,
};
use crate::conversations::Conversation;

/// The longest argument on Linux, without its NUL: `MAX_ARG_STRLEN` of execve(2), 32 pages.
const MAX_ARG: usize = 128 * 1024 - 1;

/// Arguments so far, and the first error.
#[derive(Default)]
struct Args {
    args: Vec<OsString>,
    failed: Option<CommandError>,
}

/// Returns the arguments for the options.
pub(super) fn args(options: &AgentOptions) -> Result<Vec<OsString>, CommandError> {
    let mut args = Args {
        args: options.leading_args.clone(),
        failed: None,
    };
    args.mode(options);
    args.model(options);
    args.permissions(options);
    args.surroundings(options);
    args.prompts(options);
    args.limits(options);
    args.conversation(options);
    args.rest(options);
    args.args.extend(options.trailing_args.iter().cloned());
    if let Some(prompt) = &options.prompt {
        args.check("the prompt", prompt.as_ref());
        // After `--` nothing is parsed as a flag or as part of a list.
        args.args.extend(["--".into(), prompt.into()]);
    }
    args.failed.map_or(Ok(args.args), Err)
}

impl Args {
    fn mode(&mut self, options: &AgentOptions) {
        let words: &[&str] = match options.mode {
            // `--print` is the default on pipes, and required on a terminal.
            AgentMode::Dialogue => &[
                "--print",
                "--output-format=stream-json",
                "--verbose",
                "--input-format=stream-json",
            ],
            AgentMode::Print(PrintFormat::Text) => &["--print"],
            AgentMode::Print(PrintFormat::Json) => &["--print", "--output-format=json"],
            AgentMode::Print(PrintFormat::StreamJson) => {
                &["--print", "--output-format=stream-json", "--verbose"]
            }
            AgentMode::Interactive => &[],
        };
        self.args.extend(words.iter().map(OsString::from));
        self.switch("--replay-user-messages", options.replay_user_messages);
        self.switch("--forward-subagent-text", options.forward_subagent_text);
        self.switch("--include-partial-messages", options.partial_messages);
        self.switch("--include-hook-events", options.hook_events);
        self.switch("--await-initialize", options.await_initialize);
        let suggestions = options.prompt_suggestions.map(|on| on.to_string());
        self.value("--prompt-suggestions", suggestions);
    }

    fn model(&mut self, options: &AgentOptions) {
        self.value("--model", options.model.as_ref());
        self.list("--fallback-model", &options.fallback_models);
        self.value("--effort", options.effort.map(|it| it.word()));
        self.value("--thinking", options.thinking.map(|it| it.word()));
        let most = options.max_thinking_tokens.map(|it| it.to_string());
        self.value("--max-thinking-tokens", most);
        self.list("--betas", &options.betas);
    }

    fn permissions(&mut self, options: &AgentOptions) {
        self.value("--permission-mode", options.permission_mode.as_ref());
        let skip = options.skip_permissions;
        self.switch(
            "--allow-dangerously-skip-permissions",
            skip == SkipPermissions::Allowed,
        );
        self.switch(
            "--dangerously-skip-permissions",
            skip == SkipPermissions::Now,
        );
        self.list("--allowedTools", &options.allowed_tools);
        self.list("--disallowedTools", &options.disallowed_tools);
        self.value("--tools", options.tools.as_ref().map(|it| it.join(",")));
        let tool = options.permission_prompt_tool.as_ref();
        self.value("--permission-prompt-tool", tool);
        let prompts = options.permission_prompts.map(|it| match it {
            PermissionPrompts::Host => "host",
            PermissionPrompts::Disabled => "none",
        });
        self.value("--permission-prompts", prompts);
    }

    fn surroundings(&mut self, options: &AgentOptions) {
        self.settings(options.settings.as_ref());
        let sources = options.setting_sources.as_ref();
        let sources = sources.map(|it| it.iter().map(|it| it.word()).collect::<Vec<_>>().join(","));
        self.value("--setting-sources", sources);
        self.document("--managed-settings", options.managed_settings.as_ref());
        let root = options.project_config_root.as_ref();
        self.value("--project-config-root", root);
        for document in &options.mcp_configs {
            self.document("--mcp-config", Some(document));
        }
        self.switch("--strict-mcp-config", options.strict_mcp_config);
        self.values("--add-dir", &options.add_dirs);
        self.values("--plugin-dir", &options.plugin_dirs);
        self.values("--plugin-dir-no-mcp", &options.plugin_dirs_without_mcp);
        self.values("--plugin-url", &options.plugin_urls);
        self.switch("--bare", options.bare);
        self.switch("--safe-mode", options.safe_mode);
        self.switch("--restricted", options.restricted);
        let is_off = options.without_slash_commands;
        self.switch("--disable-slash-commands", is_off);
    }

    fn prompts(&mut self, options: &AgentOptions) {
        let text = options.system_prompt.as_ref();
        self.text("--system-prompt", "--system-prompt-file", text);
        let text = options.append_system_prompt.as_ref();
        self.text(
            "--append-system-prompt",
            "--append-system-prompt-file",
            text,
        );
        let text = options.append_subagent_system_prompt.as_ref();
        self.value("--append-subagent-system-prompt", text);
        let snapshot = options.system_prompt_snapshot;
        let snapshot = snapshot.map(|on| if on { "on" } else { "off" });
        self.value("--system-prompt-snapshot", snapshot);
        self.switch(
            "--exclude-dynamic-system-prompt-sections",
            options.without_dynamic_prompt,
        );
        self.value("--agent", options.agent.as_ref());
        self.document("--agents", options.agents.as_ref());
        self.value("--json-schema", options.json_schema.as_ref());
    }

    fn limits(&mut self, options: &AgentOptions) {
        let number = |it: Option<u64>| it.map(|it| it.to_string());
        self.value("--max-turns", number(options.max_turns.map(u64::from)));
        self.value("--task-budget", number(options.task_budget));
        let dollars = options.max_budget_usd.map(|it| it.to_string());
        self.value("--max-budget-usd", dollars);
    }

    fn conversation(&mut self, options: &AgentOptions) {
        let mut is_fork = options.fork_as.is_some();
        match &options.conversation {
            Conversation::New => {}
            Conversation::NewAs(id) => self.value("--session-id", Some(id)),
            Conversation::Resume { id, fork } => {
                is_fork |= fork;
                self.value("--resume", Some(id));
            }
            Conversation::Continue => self.switch("--continue", true),
        }
        self.switch("--fork-session", is_fork);
        self.value("--session-id", options.fork_as.as_ref());
        self.value("--resume-session-at", options.resume_at.as_ref());
        self.value("--resume-drops-turn", options.drop_turn.as_ref());
        let is_off = options.without_persistence;
        self.switch("--no-session-persistence", is_off);
        self.switch("--session-mirror", options.mirror);
    }

    fn rest(&mut self, options: &AgentOptions) {
        self.value("--name", options.name.as_ref());
        self.value("--worktree", options.worktree.as_ref());
        match options.debug.as_deref() {
            Some("") => self.switch("--debug", true),
            filter => self.value("--debug", filter),
        }
        self.value("--debug-file", options.debug_file.as_ref());
        self.values("--file", &options.files);
    }

    fn switch(&mut self, flag: &str, is_on: bool) {
        if is_on {
            self.args.push(flag.into());
        }
    }

    fn value(&mut self, flag: &'static str, value: Option<impl AsRef<OsStr>>) {
        let Some(value) = value else {
            return;
        };
        let mut arg = OsString::from(flag);
        arg.push("=");
        arg.push(value);
        self.check(flag, &arg);
        self.args.push(arg);
    }

    /// Adds a flag once for each value.
    fn values(&mut self, flag: &'static str, values: &[impl AsRef<OsStr>]) {
        for value in values {
            self.value(flag, Some(value));
        }
    }

    /// Adds a flag with comma-separated values.
    fn list(&mut self, flag: &'static str, values: &[String]) {
        if !values.is_empty() {
            self.value(flag, Some(values.join(",")));
        }
    }

    /// Adds the settings as two words: version 1.0 reads them before it parses the other options, and in
    /// this form only.
    fn settings(&mut self, document: Option<&AgentDocument>) {
        let before = self.args.len();
        self.document("--settings", document);
        let joined = self.args.get(before).and_then(|arg| arg.to_str());
        let value = joined.and_then(|arg| arg.strip_prefix("--settings="));
        // A value with a leading dash would be parsed as a flag.
        if let Some(value) = value.filter(|value| !value.starts_with('-')) {
            let value = value.into();
            self.args.splice(before.., ["--settings".into(), value]);
        }
    }

    fn document(&mut self, flag: &'static str, document: Option<&AgentDocument>) {
        match document {
            None => {}
            Some(AgentDocument::Json(json)) => self.value(flag, Some(json)),
            Some(AgentDocument::File(path)) => self.value(flag, Some(path)),
            Some(AgentDocument::Private(file)) => self.value(flag, Some(file.path())),
        }
    }

    fn text(&mut self, inline: &'static str, file: &'static str, text: Option<&AgentText>) {
        match text {
            None => {}
            Some(AgentText::Inline(text)) => self.value(inline, Some(text)),
            Some(AgentText::File(path)) => self.value(file, Some(path)),
        }
    }

    fn check(&mut self, flag: &'static str, arg: &OsStr) {
        let bytes = arg.as_encoded_bytes();
        let failed = if bytes.len() > MAX_ARG {
            Some(CommandError::TooLong {
                flag,
                bytes: bytes.len(),
                limit: MAX_ARG,
                instead: if flag == "the prompt" {
                    "send it over standard input"
                } else {
                    "put it in a file and give its path"
                },
            })
        } else if bytes.contains(&0) {
            let reason = "it contains a NUL byte; remove it".to_owned();
            Some(CommandError::Value { flag, reason })
        } else {
            None
        };
        self.failed = self.failed.take().or(failed);
    }
}
