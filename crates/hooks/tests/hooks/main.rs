//! The hook server over real connections.
//!
//! | test | criterion |
//! |---|---|
//! | `server::one_server_serves_many_events_and_interactions` | any number of events of any number of interactions |
//! | `server::stop_answers_open_question_with_default`, `server::drop_answers_open_question_with_default`, `server::dropped_runtime_answers_open_question_with_default` | a refusing gate never lets an event pass |
//! | `backend::event_is_forwarded_with_its_context` | session, interaction, type, data and time reach the backend |
//! | `backend::unreachable_backend_does_not_fail_the_hook` | a backend that is down affects no agent |
//! | `backend::legacy_names_set_four_variables` | existing hook scripts find their variables |
//! | `server::secret_path_needs_no_token` | existing hook scripts post without a token |
//! | `forward::tests::failed_forward_ends_after_all_attempts` | a failed forward is counted, later events are sent |

mod backend;
mod payloads;
mod secrecy;
mod server;
mod support;
