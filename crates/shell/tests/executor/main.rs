//! Runs agents in visible terminals.
//!
//! | test | criterion |
//! |---|---|
//! | `criteria::command_result_has_every_part` | output, exit code, duration and evidence are in the result |
//! | `criteria::running_command_is_listed` | a command is in the registry while it runs |
//! | `criteria::command_line_pipes_prompt_into_agent` | a host can type the command into a shell |
//! | `criteria::prompt_of_any_size_arrives` | the prompt is passed in a file, whatever its size |
//! | `criteria::prompt_file_is_gone_after_command` | no file of a prompt remains |
//! | `criteria::resume_is_added_when_a_conversation_exists` | the next command resumes the conversation |
//! | `criteria::session_start_updates_conversation` | the hook names the conversation |
//! | `criteria::flags_are_built_from_options` | options become arguments |
//! | `criteria::environment_has_callback_and_user_variables` | URL, token and variables are in the environment |
//! | `criteria::hooks_are_merged_into_host_settings` | the host's own hooks remain |
//! | `criteria::empty_command_succeeds_at_once` | an empty command is no error |
//! | `criteria::command_of_other_program_is_refused` | only the agent is run |
//! | `criteria::failed_command_has_exit_code` | a failure of the agent is a result |
//! | `criteria::terminal_error_is_returned` | a failure of the terminal is an error |
//! | `criteria::hook_server_failure_is_an_error` | no executor without a hook server |
//! | `criteria::options_without_hooks_or_prompt_are_refused` | commands whose end is not detectable are refused |
//! | `pty::exit_and_session_end_are_observed` | exit and hook are both awaited |
//! | `pty::killed_agent_ends_command_without_hook` | a missing hook does not block |
//! | `pty::agent_that_outlives_session_is_ended` | a missing exit does not block |
//! | `pty::dropped_output_is_counted_and_ends_at_a_line` | lost output is a value |
//! | `cleanup::cleanup_ends_terminal_server_and_file` | a cleanup leaves nothing |
//! | `crash::killed_host_leaves_no_prompt_or_agent` | nothing outlives a killed host |
//! | `secrecy::log_names_commands_without_secrets` | no secret is logged |

mod agent;
mod cleanup;
mod crash;
mod criteria;
mod fake;
mod pty;
mod secrecy;

use std::time::Duration;

/// Waits for `work`, but not for ever.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(60), work).await;
    done.unwrap_or_else(|_| panic!("no {what} in time"))
}
