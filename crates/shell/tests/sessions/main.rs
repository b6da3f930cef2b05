//! Shell sessions and their input.
//!
//! | test | criterion |
//! |---|---|
//! | `shells::login_shell_output_arrives_as_lines` | a login shell's output is lines |
//! | `shells::login_shell_is_that_of_the_user` | the user's own shell is run |
//! | `shells::host_environment_is_inherited` | variables of the host reach the shell |
//! | `shells::terminal_is_xterm_256color_of_80_by_24` | type, size and directory of the terminal |
//! | `shells::missing_working_directory_is_an_error` | no fallback to another directory |
//! | `shells::written_line_reaches_shell` | input is passed unchanged |
//! | `shells::line_written_in_pieces_is_limited` | no line is truncated by the terminal |
//! | `shells::dropped_write_counts_what_is_delivered` | a cancelled write is counted as far as it is delivered |
//! | `shells::exit_event_follows_last_line` | the end has its code and comes last |
//! | `shells::states_follow_creating_active_idle_terminated` | the state is derived from evidence |
//! | `shells::dropping_last_handle_kills_shell` | no process outlives its handles |
//! | `shells::unread_output_is_bounded_and_loss_reported` | a slow reader learns what it missed |
//! | `prompts::prompts_of_all_lengths_and_bytes_arrive_whole` | a prompt arrives byte for byte |
//! | `prompts::paste_marks_are_removed_and_counted` | a prompt cannot end its own paste |
//! | `prompts::concurrent_prompts_do_not_mix` | one prompt at a time |
//! | `prompts::line_too_long_for_cooked_terminal_is_refused` | a refusal instead of a truncated prompt |
//! | `prompts::program_without_paste_accepts_one_line` | several lines need bracketed paste |
//! | `prompts::unread_prompt_is_unverified` | no success without evidence |

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod prompts;
mod shells;
mod support;
