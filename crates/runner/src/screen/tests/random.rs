//! Random sessions: whatever programs do to a terminal, in any order, handed over anywhere.

use super::sessions::Session;

/// Sessions, unless the environment says how many: a campaign runs this for a hundred thousand.
const SESSIONS: u64 = 2_000;

/// The variable with the number of sessions.
const VARIABLE: &str = "BOWLINE_SCREEN_SESSIONS";

/// At least 999 of 1,000 sessions are exact. The rest are those in which the two terminals read the
/// output differently, before anything is handed over.
#[test]
fn random_sessions_are_handed_over() {
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
