//! The web terminal: its protocol, and its behavior when something fails.
//!
//! Each test checks one criterion. In [`contract`], what the protocol promises:
//!
//! | test | criterion |
//! |---|---|
//! | `reconnect_reaches_same_process_and_screen` | a lost connection reconnects to the same process, with its screen |
//! | `output_continues_while_detached` | the child is not stopped while no web terminal is attached |
//! | `close_codes_1000_4001_4404_terminate` | these close codes end the session at once |
//! | `other_close_codes_keep_session` | all others keep it |
//! | `session_ends_after_detach_window` | a session is ended if its web terminal does not reconnect in time |
//! | `reconnect_cancels_detach_timer` | one that reconnects in time keeps its session |
//! | `session_without_id_ends_with_connection` | a session without an id ends with its connection |
//! | `start_sets_size_and_input_starts_session` | `start` has a window size; input starts a session as well |
//! | `missing_program_or_session_closes_with_4404` | a missing program or session is reported |
//! | `detach_timer_does_not_delay_shutdown` | waiting for a reconnect does not keep the runner running |
//! | `restart_cancels_detach_timer` | a restarted session does not wait for the old one's web terminal |
//! | `ping_and_resize` | pings are answered, window sizes arrive |
//!
//! In [`resilience`], the failures that an earlier design had:
//!
//! | test | failure |
//! |---|---|
//! | `session_outlives_tickets` | an expired lease ended the session at the next lost connection |
//! | `stale_close_does_not_affect_new_attach` | the late close of an old connection ended the new one |
//! | `superseded_terminal_is_notified_and_closed` | an old connection was never closed |
//! | `stubborn_process_receives_sigkill` | SIGKILL was never sent |
//! | `exit_while_detached_is_reported_on_reconnect` | an exit while detached was lost |
//! | `reconnect_after_window_reports_exit` | a late reconnect showed a terminal without a process |
//! | `silent_terminal_is_detected` | a half-open connection was never detected |
//! | `responding_terminal_stays_connected` | the counterpart of the above |
//! | `replay_restores_modes_and_alternate_screen` | a replay lost modes or began inside a sequence |
//! | `replay_leaves_alternate_screen` | a replay entered an alternate screen that the program had left |
//! | `reconnect_with_same_size_shows_screen` | without SIGWINCH, a full-screen program was not redrawn |
//! | `slow_terminal_is_bounded_and_blocks_nothing` | memory for a slow web terminal was unbounded |
//! | `failures_are_reported` | invalid messages were ignored, input while detached was lost |
//! | `shutdown_ends_only_sessions_without_id` | processes remained after the end of the runner |
//! | `ticket_is_consumed_by_upgrade` | a ticket could be used more than once |
//!
//! In [`scrollback`], the lines above the screen, and sessions that are only shown.

mod contract;
mod resilience;
mod scrollback;
