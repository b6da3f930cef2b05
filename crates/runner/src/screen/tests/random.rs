//! Random sessions, handed off anywhere.

use super::sessions::Session;

/// Default number of sessions; a campaign runs a hundred thousand.
const SESSIONS: u64 = 2_000;

/// Variable with the number of sessions.
const VARIABLE: &str = "BOWLINE_SCREEN_SESSIONS";

/// At least 999 of 1,000 sessions are exact. In the rest, the two terminals interpret the output
/// differently before the handoff.
#[test]
fn random_sessions_survive_a_handoff() {
    let sessions = std::env::var(VARIABLE).ok().and_then(|it| it.parse().ok());
    let sessions: u64 = sessions.unwrap_or(SESSIONS);
    let wrong: Vec<_> = (0..sessions)
        .filter(|seed| Session::of(*seed).run().is_err())
        .collect();
    let exact = sessions - wrong.len() as u64;
    println!("{exact} of {sessions} sessions are exact");
    for seed in wrong.iter().take(5) {
        let Session { size, steps, cut } = Session::of(*seed).shrunk();
        let difference = Session {
            size,
            steps: steps.clone(),
            cut,
        }
        .run();
        println!(
            "seed {seed}: {}x{} {steps:?} cut {cut:?}: {difference:?}",
            size.rows, size.cols
        );
    }
    assert!(
        wrong.len() as u64 * 1_000 <= sessions,
        "{exact} of {sessions} are exact"
    );
}
