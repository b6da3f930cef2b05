//! Partial messages, and whole messages of sub-agents in between.

use super::SEED;
use super::agent::Agent;
use super::{messages, partial};

/// Share of streamed bytes in per cent, chosen for the mean line length of real mixed sessions.
const STREAMED: usize = 63;

pub(super) fn generate(size: usize) -> String {
    let mut agent = Agent::new(SEED ^ 3, size);
    let mut streamed = 0;
    while agent.wants_more(size) {
        let before = agent.out.len();
        if streamed * 100 <= before * STREAMED {
            partial::turn(&mut agent);
            streamed += agent.out.len() - before;
        } else if agent.rng.chance(500) {
            messages::turn(&mut agent);
        } else {
            sub_agent(&mut agent);
        }
    }
    agent.out
}

fn sub_agent(agent: &mut Agent) {
    let id = agent.rng.id("toolu_");
    agent.speak_for(Some(id));
    for _ in 0..agent.rng.range(3, 9) {
        messages::exchange(agent);
    }
    agent.speak_for(None);
}
