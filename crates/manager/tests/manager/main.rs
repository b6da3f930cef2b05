//! Session managers with shells and scripted agents.
//!
//! | test | criterion |
//! |---|---|
//! | `shells::create_returns_session_info` | `create` returns id, state, directory, label and time |
//! | `shells::get_and_list_return_session_info` | `get` and `list` return the current state |
//! | `shells::missing_directory_creates_no_session` | a missing directory is an error before the spawn |
//! | `shells::creation_over_session_limit_is_refused` | the limit is an error with the code `MAX_SESSIONS` |
//! | `shells::ten_sessions_are_created_concurrently` | sessions are created concurrently |
//! | `shells::prompt_reaches_the_shell` | a prompt is typed into the shell |
//! | `shells::kill_ends_process_and_removes_session` | `kill` ends the process and removes the session |
//! | `shells::crash_is_reported_with_exit_code` | a crash sets the state and reports the exit code |
//! | `shells::cleanup_kills_all_sessions`, `shells::signals_kill_all_sessions` | a shutdown ends every process |
//! | `time::tests::times_are_iso_8601` | times are ISO 8601 in UTC |

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

#[path = "../../../shell/tests/sessions/support.rs"]
#[expect(dead_code, reason = "shared with the tests of shells")]
mod support;

mod dialogues;
mod shells;
