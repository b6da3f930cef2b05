//! Dialogue sessions with scripted agents, and the command lines that start agents.
//!
//! | test | criterion |
//! |---|---|
//! | `ownership::start_is_atomic` | a start is complete or leaves nothing; no byte is missed |
//! | `ownership::terminate_ends_process_and_stream` | terminate is idempotent and ends the stream |
//! | `ownership::unexpected_exit_is_in_transcript_before_stream_ends` | an exit with an open turn is recorded |
//! | `ownership::registry_lists_running_terminal_then_tombstone` | every terminal is listed with a tag |
//! | `ownership::terminate_leaves_no_task` | no task is left |
//! | `changes::stream_has_last_changes_that_cursor_loop_misses` | a stream loses nothing at the end |
//! | `history::transcript_begins_with_past_and_drops_its_duplicates` | a resumed session shows its past |
//! | `silence::dead_agent_is_announced_and_terminated` | a timeout is announced before the kill |
//! | `silence::last_activity_is_available_at_any_time` | the last activity can be queried |
//! | `observed::stderr_keeps_head_and_tail_without_blocking` | standard error is bounded |
//! | `steps::prompt_is_written_to_stdin` | a prompt is in no argument |
//! | `steps::wait_returns_at_exit_with_stderr` | the end has the exit status and standard error |
//! | `steps::terminate_ends_agent_that_ignores_signals` | stop is reliable |
//! | `steps::timeout_and_extra_arguments_are_configurable` | timeout and arguments are settings |

mod changes;
mod command;
mod history;

mod observed;
mod ownership;
mod pages;
mod permissions;
mod silence;
mod steps;
mod support;
